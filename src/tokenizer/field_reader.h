/* Reading the objects of a JSON file by rules: which fields there are, which values are supported,
 * and who reads the larger ones. Keeps the path of the field at work, so that every refusal names
 * it with the value found. Knows no tokenizer. */
#ifndef CLEF_TOKENIZER_FIELD_READER_H
#define CLEF_TOKENIZER_FIELD_READER_H

#include "base/json_reader.h"

#define CLEF_FIELD_PATH_BYTES 256

typedef struct clef_field_reader {
    clef_json_reader json;
    clef_arena strings; /* texts of the latest events */
    char path[CLEF_FIELD_PATH_BYTES];
    size_t path_length;
    size_t element; /* number that belongs behind the path; private */
    clef_error *error;
} clef_field_reader;

/* Values that a rule accepts without reading further. */
typedef enum clef_field_values {
    CLEF_FIELD_NULL = 1,
    CLEF_FIELD_FALSE = 2,
    CLEF_FIELD_TRUE = 4,
    CLEF_FIELD_EMPTY = 8, /* "" */
    CLEF_FIELD_BOOLEAN = CLEF_FIELD_FALSE | CLEF_FIELD_TRUE,
} clef_field_values;

typedef struct clef_field_rule {
    const char *name;
    bool is_required;
    unsigned accepts;                     /* clef_field_values */
    const char *string;                   /* the one string accepted besides, or NULL */
    const struct clef_field_rule *fields; /* an object with these fields, or NULL */
    size_t field_count;
    /* Reads any other value, whose first event is given; NULL: other values are refused. */
    clef_status (*read)(void *context, clef_json_event event);
} clef_field_rule;

/* In a rule: an object, by its own table of rules. */
#define CLEF_FIELD_OBJECT(table) .fields = (table), .field_count = sizeof(table) / sizeof *(table)

void clef_field_reader_init(clef_field_reader *reader, clef_text json, clef_error *error);
void clef_field_reader_release(clef_field_reader *reader);

/* The next event. What is not JSON is CLEF_BAD_FILE here. */
clef_status clef_field_read_event(clef_field_reader *reader, clef_json_event *event);

/* Frees the texts of past events once they are many. */
void clef_field_forget_texts(clef_field_reader *reader);

/* Reads an object whose OBJECT_BEGIN has been read: unknown, repeated and missing fields and values
 * outside their rule are CLEF_BAD_FILE. At most 32 rules. */
clef_status clef_fields_read(clef_field_reader *reader, const clef_field_rule *rules, size_t count,
                             void *context);

/* Refuses the value of the current path unless its first event is `wanted`. */
clef_status clef_field_expect(clef_field_reader *reader, clef_json_event event,
                              clef_json_event wanted);
/* CLEF_BAD_FILE "<path> is <value>; supported: <supported>". */
clef_status clef_field_refuse(clef_field_reader *reader, clef_json_event event,
                              const char *supported);
/* CLEF_BAD_FILE "<path> <complaint>", printf style. */
clef_status clef_field_fail(clef_field_reader *reader, const char *format, ...) CLEF_PRINTF(2, 3);
/* Puts the path before the message of an error that does not know it. Returns status. */
clef_status clef_field_explain(clef_field_reader *reader, clef_status status);

/* Names what follows, where it is not reached through its fields. */
void clef_field_set_path(clef_field_reader *reader, const char *path);
/* Goes to an element of the array of the current path, and back to where `length` was the length of
 * the path. */
void clef_field_enter_element(clef_field_reader *reader, size_t number);
void clef_field_leave(clef_field_reader *reader, size_t length);

#endif
