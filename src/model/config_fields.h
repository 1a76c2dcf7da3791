/* Reading of typed members from a configuration's JSON object. Every failure names the member with
 * its path, the value found and the values allowed. Knows no particular member. */
#ifndef CLEF_MODEL_CONFIG_FIELDS_H
#define CLEF_MODEL_CONFIG_FIELDS_H

#include "base/error.h"
#include "base/json.h"

typedef struct clef_config_fields {
    const clef_json *object; /* borrowed; an object */
    const char *scope;       /* what stands before a member's name: "", "text_config." */
    const char *path;        /* of the file; borrowed */
    clef_error *error;       /* borrowed, may be NULL */
} clef_config_fields;

/* One row of a table of sizes: a whole number from 1 to `limit` goes to `offset` of a struct. */
typedef struct clef_size_field {
    const char *name;
    size_t offset; /* of a uint32_t */
    uint32_t limit;
} clef_size_field;

/* Parses the text of a file called `path`, an object, into *arena, which the caller releases also
 * behind an error. CLEF_BAD_FILE naming the file, CLEF_OUT_OF_MEMORY. */
clef_status clef_config_fields_parse(const char *path, clef_text text, clef_arena *arena,
                                     clef_config_fields *fields, clef_error *error);

/* CLEF_BAD_FILE about a member: "<file>: <scope><name> is <value>; expected <expected>". */
clef_status clef_config_fields_fail(const clef_config_fields *fields, const char *name,
                                    const clef_json *value, const char *expected);

/* The same about the member of that name, absent or not. */
clef_status clef_config_fields_refuse(const clef_config_fields *fields, const char *name,
                                      const char *expected);

/* The member, or NULL when it is absent or null. */
const clef_json *clef_config_fields_find(const clef_config_fields *fields, const char *name);

/* Object member `name` as fields of its own, with `scope` before their names; NULL in object when
 * absent or null. */
clef_status clef_config_fields_enter(const clef_config_fields *fields, const char *name,
                                     const char *scope, clef_config_fields *inner);

/* A required whole number from `low` to `high`. */
clef_status clef_config_fields_size(const clef_config_fields *fields, const char *name,
                                    uint32_t low, uint32_t high, uint32_t *result);

/* All rows of a table, into the struct at `target`. */
clef_status clef_config_fields_sizes(const clef_config_fields *fields, const clef_size_field *rows,
                                     size_t row_count, void *target);

/* A required number, finite, low < value <= high. */
clef_status clef_config_fields_number(const clef_config_fields *fields, const char *name,
                                      double low, double high, double *result);

/* A token id below `vocabulary_size`; `absent` when the member is absent or null. */
clef_status clef_config_fields_token(const clef_config_fields *fields, const char *name,
                                     uint32_t vocabulary_size, uint32_t absent, uint32_t *result);

/* Refuses a truth value other than `expected`; absent and null are fine. */
clef_status clef_config_fields_expect_flag(const clef_config_fields *fields, const char *name,
                                           bool expected);

/* Refuses a string that is none of `allowed` (ends in NULL); absent and null are fine. */
clef_status clef_config_fields_expect_word(const clef_config_fields *fields, const char *name,
                                           const char *const *allowed);

/* Refuses anything but an empty list; absent and null are fine. */
clef_status clef_config_fields_expect_empty(const clef_config_fields *fields, const char *name);

#endif
