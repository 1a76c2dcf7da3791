/* Reading of joint_head_config.json. The file is small and flat; only two of its numbers must fit
 * others: the width of the backbone's rows, and the number of heads. */
#include "model/head_config.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/config_fields.h"

#include <stdio.h>

#define FILE_NAME       "joint_head_config.json"
#define FILE_BYTE_LIMIT ((size_t)1 << 20)

static const clef_size_field size_fields[] = {
    {"hidden_size", offsetof(clef_head_config, hidden_size), CLEF_CONFIG_SIZE_LIMIT},
    {"width", offsetof(clef_head_config, width), CLEF_CONFIG_SIZE_LIMIT},
    {"routing_layers", offsetof(clef_head_config, evidence_layer_count), CLEF_CONFIG_LAYER_LIMIT},
    {"layers", offsetof(clef_head_config, decoder_layer_count), CLEF_CONFIG_LAYER_LIMIT},
    {"heads", offsetof(clef_head_config, head_count), CLEF_CONFIG_SIZE_LIMIT},
    {"feedforward", offsetof(clef_head_config, feedforward_size), CLEF_CONFIG_SIZE_LIMIT},
};

static clef_status read_head(const clef_config_fields *fields, uint32_t hidden_size,
                             clef_head_config *head) {
    clef_status status = clef_config_fields_sizes(fields, size_fields,
                                                  sizeof size_fields / sizeof *size_fields, head);
    if (status != CLEF_OK) {
        return status;
    }
    char expected[96];
    /* A head trained on another backbone would otherwise fail only at its first tensor. */
    if (head->hidden_size != hidden_size) {
        snprintf(expected, sizeof expected, "the backbone's hidden_size, which is %u", hidden_size);
        return clef_config_fields_refuse(fields, "hidden_size", expected);
    }
    if (head->width % head->head_count != 0) {
        snprintf(expected, sizeof expected, "a number that divides width %u", head->width);
        return clef_config_fields_refuse(fields, "heads", expected);
    }
    if (head->width / head->head_count > CLEF_HEAD_SIZE_LIMIT) {
        snprintf(expected, sizeof expected, "enough heads that width %u / heads is at most %d",
                 head->width, CLEF_HEAD_SIZE_LIMIT);
        return clef_config_fields_refuse(fields, "heads", expected);
    }
    return CLEF_OK;
}

clef_status clef_head_config_parse(const char *name, clef_text text, uint32_t hidden_size,
                                   clef_head_config *head, clef_error *error) {
    *head = (clef_head_config){0};
    clef_arena arena = {0};
    clef_config_fields fields;
    clef_status status = clef_config_fields_parse(name, text, &arena, &fields, error);
    if (status == CLEF_OK) {
        status = read_head(&fields, hidden_size, head);
    }
    if (status != CLEF_OK) {
        *head = (clef_head_config){0};
    }
    clef_arena_release(&arena);
    return status;
}

clef_status clef_head_config_load(const char *directory, uint32_t hidden_size,
                                  clef_head_config *head, bool *is_absent, clef_error *error) {
    *head = (clef_head_config){0};
    char *path = clef_path_join(directory, FILE_NAME);
    if (path == NULL) {
        return clef_fail_memory(error, strlen(directory), "a path");
    }
    if (is_absent != NULL) {
        /* A dangling link is there, and gets its own message. */
        *is_absent = !clef_path_is_taken(path);
    }
    clef_file file;
    clef_status status = clef_file_read(path, FILE_BYTE_LIMIT, &file, error);
    if (status == CLEF_OK) {
        status = clef_head_config_parse(path, (clef_text){file.bytes, file.length}, hidden_size,
                                        head, error);
        clef_file_close(&file);
    }
    clef_release(path);
    return status;
}
