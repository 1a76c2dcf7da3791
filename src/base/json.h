/* A JSON value as a tree, and the writing of JSON. Numbers keep the spelling of the text they came
 * from (prompts need it), objects keep the order of their keys, a repeated key keeps its first
 * place and takes its last value, as Python's json.loads does. */
#ifndef CLEF_BASE_JSON_H
#define CLEF_BASE_JSON_H

#include "base/buffer.h"
#include "base/json_reader.h"

typedef enum clef_json_type {
    CLEF_JSON_NULL,
    CLEF_JSON_FALSE,
    CLEF_JSON_TRUE,
    CLEF_JSON_NUMBER,
    CLEF_JSON_STRING,
    CLEF_JSON_ARRAY,
    CLEF_JSON_OBJECT,
} clef_json_type;

typedef struct clef_json {
    clef_text key;           /* in an object: the member's key */
    clef_text text;          /* string: decoded; number: the spelling */
    struct clef_json *first; /* array, object: first child, in order */
    struct clef_json *next;  /* sibling */
    size_t count;            /* array, object: number of children */
    clef_json_type type;
} clef_json;

/* Parses one value. Nodes live in `arena`, texts in the arena or in `input`, which must outlive the
 * tree. Errors as clef_json_read. */
clef_status clef_json_parse(clef_text input, clef_arena *arena, clef_json **value,
                            clef_error *error);

/* Member of an object, or NULL (also when object is NULL or not an object). Linear. */
const clef_json *clef_json_member(const clef_json *object, const char *key);
const clef_json *clef_json_member_text(const clef_json *object, clef_text key);

/* Reads a number as an integer: true when it is one in [0, 2^63) written without '.', 'e' or
 * sign. */
bool clef_json_unsigned(const clef_json *value, uint64_t *result);
/* Nearest double of a number's spelling, whatever the locale; overflow gives an infinity. */
double clef_json_double(clef_text spelling);

/* Appends text as a JSON string with quotes: `"` and `\` escaped, \b \t \n \f \r, other controls
 * below U+0020 as \u00xx in lower case, everything else raw. */
void clef_json_write_string(clef_buffer *out, clef_text text);

/* Appends the shortest decimal that reads back as the same double, as Python's repr: positional
 * for exponents -4 to 15 with ".0" when integral, else d[.ddd]e±XX; infinities as Infinity. */
void clef_json_write_double(clef_buffer *out, double value);

/* Appends a number by its request spelling: an integer of any size keeps its digits (-0 becomes 0),
 * anything with '.', 'e' or 'E' is written by clef_json_write_double. */
void clef_json_write_number(clef_buffer *out, clef_text spelling);

/* Appends a float with nine significant digits (%.9g), as JSON whatever the locale; the value must
 * be finite. */
void clef_json_write_float9(clef_buffer *out, float value);

/* Appends a whole value, compact. `sort_keys`: members of every object sorted by the bytes of their
 * keys (Python's sort_keys), else in their own order. Iterates, does not recurse on text depth
 * beyond CLEF_JSON_DEPTH_LIMIT. Sorting needs scratch memory from `scratch`; failure sticks in out.
 */
void clef_json_write(clef_buffer *out, const clef_json *value, bool sort_keys, clef_arena *scratch);

#endif
