/* Typed access to members, and the one form of their errors. A file that says "5120.0" or "5120"
 * where a count belongs was written by a program that means something else, so it is refused rather
 * than understood. */
#include "model/config_fields.h"

#include "weights/bad_file.h"
#include "weights/tensor_text.h"

#include <math.h>
#include <stdio.h>

/* Writes a value as a message shows it. */
static const char *describe_value(const clef_json *value, char out[CLEF_NAME_TEXT_BYTES]) {
    switch (value->type) {
    case CLEF_JSON_NULL:
        return "null";
    case CLEF_JSON_FALSE:
        return "false";
    case CLEF_JSON_TRUE:
        return "true";
    case CLEF_JSON_NUMBER: {
        bool is_long = value->text.length > 40;
        snprintf(out, CLEF_NAME_TEXT_BYTES, "%.*s%s", is_long ? 40 : (int)value->text.length,
                 value->text.bytes, is_long ? "..." : "");
        return out;
    }
    case CLEF_JSON_STRING:
        return clef_name_text(value->text, out, CLEF_NAME_TEXT_BYTES);
    case CLEF_JSON_ARRAY:
        snprintf(out, CLEF_NAME_TEXT_BYTES, "a list of %zu", value->count);
        return out;
    case CLEF_JSON_OBJECT:
        return "an object";
    }
    return "unknown";
}

clef_status clef_config_fields_parse(const char *path, clef_text text, clef_arena *arena,
                                     clef_config_fields *fields, clef_error *error) {
    clef_json *root;
    clef_status status = clef_json_parse(text, arena, &root, error);
    if (status != CLEF_OK) {
        return clef_bad_file_from_json(error, status, path, "it");
    }
    if (root->type != CLEF_JSON_OBJECT) {
        return clef_bad_file_fail(error, path, "it is not a JSON object");
    }
    *fields = (clef_config_fields){root, "", path, error};
    return CLEF_OK;
}

clef_status clef_config_fields_fail(const clef_config_fields *fields, const char *name,
                                    const clef_json *value, const char *expected) {
    if (value == NULL) {
        return clef_bad_file_fail(fields->error, fields->path, "%s%s is missing; expected %s",
                                  fields->scope, name, expected);
    }
    char found[CLEF_NAME_TEXT_BYTES];
    return clef_bad_file_fail(fields->error, fields->path, "%s%s is %s; expected %s", fields->scope,
                              name, describe_value(value, found), expected);
}

clef_status clef_config_fields_refuse(const clef_config_fields *fields, const char *name,
                                      const char *expected) {
    return clef_config_fields_fail(fields, name, clef_json_member(fields->object, name), expected);
}

const clef_json *clef_config_fields_find(const clef_config_fields *fields, const char *name) {
    const clef_json *value = clef_json_member(fields->object, name);
    return value == NULL || value->type == CLEF_JSON_NULL ? NULL : value;
}

clef_status clef_config_fields_enter(const clef_config_fields *fields, const char *name,
                                     const char *scope, clef_config_fields *inner) {
    const clef_json *value = clef_config_fields_find(fields, name);
    if (value != NULL && value->type != CLEF_JSON_OBJECT) {
        return clef_config_fields_fail(fields, name, value, "an object");
    }
    *inner = (clef_config_fields){value, scope, fields->path, fields->error};
    return CLEF_OK;
}

clef_status clef_config_fields_size(const clef_config_fields *fields, const char *name,
                                    uint32_t low, uint32_t high, uint32_t *result) {
    const clef_json *value = clef_json_member(fields->object, name);
    uint64_t number;
    if (value == NULL || !clef_json_unsigned(value, &number) || number < low || number > high) {
        char expected[96];
        snprintf(expected, sizeof expected, "a whole number from %u to %u", low, high);
        return clef_config_fields_fail(fields, name, value, expected);
    }
    *result = (uint32_t)number;
    return CLEF_OK;
}

clef_status clef_config_fields_sizes(const clef_config_fields *fields, const clef_size_field *rows,
                                     size_t row_count, void *target) {
    for (size_t i = 0; i < row_count; i++) {
        uint32_t value = 0;
        clef_status status =
            clef_config_fields_size(fields, rows[i].name, 1, rows[i].limit, &value);
        if (status != CLEF_OK) {
            return status;
        }
        /* The offset comes from offsetof in the table; the target's type is known only there. */
        memcpy((char *)target + rows[i].offset, &value, sizeof value);
    }
    return CLEF_OK;
}

clef_status clef_config_fields_number(const clef_config_fields *fields, const char *name,
                                      double low, double high, double *result) {
    const clef_json *value = clef_json_member(fields->object, name);
    double number =
        value != NULL && value->type == CLEF_JSON_NUMBER ? clef_json_double(value->text) : NAN;
    /* Written so that a NaN, which compares false, is refused. */
    if (!(number > low && number <= high)) {
        char expected[96];
        /* Whole bounds are printed without a decimal point, which some locales write otherwise. */
        snprintf(expected, sizeof expected, "a number above %.0f and at most %.0f", low, high);
        return clef_config_fields_fail(fields, name, value, expected);
    }
    *result = number;
    return CLEF_OK;
}

clef_status clef_config_fields_token(const clef_config_fields *fields, const char *name,
                                     uint32_t vocabulary_size, uint32_t absent, uint32_t *result) {
    const clef_json *value = clef_config_fields_find(fields, name);
    /* Rows of the embedding matrix are looked up by these ids, so an id beyond it is no id. */
    uint64_t number = absent;
    if (value != NULL && (!clef_json_unsigned(value, &number) || number >= vocabulary_size)) {
        char expected[96];
        snprintf(expected, sizeof expected, "a token id from 0 to %u (vocab_size - 1)",
                 vocabulary_size - 1);
        return clef_config_fields_fail(fields, name, value, expected);
    }
    *result = (uint32_t)number;
    return CLEF_OK;
}

clef_status clef_config_fields_expect_flag(const clef_config_fields *fields, const char *name,
                                           bool expected) {
    const clef_json *value = clef_config_fields_find(fields, name);
    /* Absent means the setting of the architecture, which is the expected one. */
    if (value == NULL || value->type == (expected ? CLEF_JSON_TRUE : CLEF_JSON_FALSE)) {
        return CLEF_OK;
    }
    return clef_config_fields_fail(fields, name, value,
                                   expected ? "true, the only value supported"
                                            : "false, the only value supported");
}

clef_status clef_config_fields_expect_word(const clef_config_fields *fields, const char *name,
                                           const char *const *allowed) {
    const clef_json *value = clef_config_fields_find(fields, name);
    if (value == NULL) {
        return CLEF_OK;
    }
    /* The list of allowed words is built on the way, for the message. */
    char expected[192] = "";
    size_t length = 0;
    for (size_t i = 0; allowed[i] != NULL; i++) {
        if (value->type == CLEF_JSON_STRING &&
            clef_text_equals(value->text, clef_text_of(allowed[i]))) {
            return CLEF_OK;
        }
        if (length < sizeof expected) {
            length += (size_t)snprintf(expected + length, sizeof expected - length, "%s\"%s\"",
                                       i == 0 ? "" : " or ", allowed[i]);
        }
    }
    return clef_config_fields_fail(fields, name, value, expected);
}

clef_status clef_config_fields_expect_empty(const clef_config_fields *fields, const char *name) {
    const clef_json *value = clef_config_fields_find(fields, name);
    if (value == NULL || (value->type == CLEF_JSON_ARRAY && value->count == 0)) {
        return CLEF_OK;
    }
    return clef_config_fields_fail(fields, name, value, "an empty list, the only value supported");
}
