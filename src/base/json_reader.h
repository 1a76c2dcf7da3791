/* Strict JSON (RFC 8259) as a stream of events over bytes in memory: no allocation but one arena
 * for strings with escapes, no recursion, bounded depth. Files with hundreds of thousands of values
 * (tokenizer.json, safetensors headers) are read from events; requests become a tree (json.h).
 *
 * Refused, with the byte offset: anything that is not JSON, NaN and Infinity, invalid UTF-8, raw
 * control characters in strings, lone surrogate escapes, nesting over 256, a number of more than
 * 4,300 digits, text after the value. A UTF-8 byte order mark at the start is skipped. */
#ifndef CLEF_BASE_JSON_READER_H
#define CLEF_BASE_JSON_READER_H

#include "base/arena.h"
#include "base/error.h"

#define CLEF_JSON_DEPTH_LIMIT 256
#define CLEF_JSON_DIGIT_LIMIT 4300

typedef enum clef_json_event {
    CLEF_JSON_EVENT_NULL,
    CLEF_JSON_EVENT_FALSE,
    CLEF_JSON_EVENT_TRUE,
    CLEF_JSON_EVENT_NUMBER, /* text: the spelling */
    CLEF_JSON_EVENT_STRING, /* text: decoded, may hold U+0000 */
    CLEF_JSON_EVENT_KEY,    /* text: decoded key; its value's events follow */
    CLEF_JSON_EVENT_ARRAY_BEGIN,
    CLEF_JSON_EVENT_ARRAY_END,
    CLEF_JSON_EVENT_OBJECT_BEGIN,
    CLEF_JSON_EVENT_OBJECT_END,
    CLEF_JSON_EVENT_END, /* the one value is complete and nothing but white space follows */
} clef_json_event;

typedef struct clef_json_reader {
    clef_text input;      /* borrowed for the life of the reader */
    size_t offset;        /* next byte to read */
    clef_text text;       /* of the last event; into the input, or into strings */
    clef_arena *strings;  /* borrowed; decoded strings that are not slices of the input go here */
    unsigned depth;       /* open arrays and objects */
    unsigned char expect; /* what may come next; private */
    unsigned char
        nesting[CLEF_JSON_DEPTH_LIMIT / 8]; /* one bit a level: object or array; private */
} clef_json_reader;

/* Begins. `strings` must outlive every text that is kept. */
void clef_json_reader_init(clef_json_reader *reader, clef_text input, clef_arena *strings);

/* Reads the next event. CLEF_BAD_TEXT for invalid UTF-8, CLEF_BAD_REQUEST for anything else that
 * is not JSON (kind "json_invalid" with the offset), CLEF_OUT_OF_MEMORY. After an error or
 * CLEF_JSON_EVENT_END it must not be called again. */
clef_status clef_json_read(clef_json_reader *reader, clef_json_event *event, clef_error *error);

/* Skips the value that comes next (after a KEY event, or inside an array). */
clef_status clef_json_skip(clef_json_reader *reader, clef_error *error);

#endif
