/* Reading of rope_parameters: how wide the rotation is, how its angles fall, and how the three
 * position axes share them. */
#include "model/rotary_config.h"

#include "weights/bad_file.h"

#include <stdio.h>

/* partial_rotary_factor stands in rope_parameters, in text_config, or in both with one value. */
static clef_status read_rotary_size(const clef_config_fields *text, const clef_config_fields *rope,
                                    clef_config *config) {
    static const char *const name = "partial_rotary_factor";
    bool is_inner = clef_config_fields_find(rope, name) != NULL;
    bool is_outer = clef_config_fields_find(text, name) != NULL;
    double inner = 0;
    double outer = 0;
    clef_status status = CLEF_OK;
    if (is_inner || !is_outer) {
        status = clef_config_fields_number(rope, name, 0, 1, &inner);
    }
    if (status == CLEF_OK && is_outer) {
        status = clef_config_fields_number(text, name, 0, 1, &outer);
    }
    if (status != CLEF_OK) {
        return status;
    }
    /* Both come from decimal texts; equal texts give equal doubles. */
    if (is_inner && is_outer && inner != outer) {
        return clef_config_fields_refuse(text, name,
                                         "the value of rope_parameters.partial_rotary_factor");
    }
    /* Published factors are powers of two, so the product is exact; one that is not whole would be
     * rounded by each implementation in its own way. */
    const clef_config_fields *fields = is_inner ? rope : text;
    double size = config->head_size * (is_inner ? inner : outer);
    uint32_t whole = (uint32_t)size;
    if (size != whole || whole % 2 != 0 || whole == 0) {
        char expected[96];
        snprintf(expected, sizeof expected, "a part of head_dim %u that is an even whole number",
                 config->head_size);
        return clef_config_fields_refuse(fields, name, expected);
    }
    config->rotary_size = whole;
    return CLEF_OK;
}

/* The three axes share the frequencies of the rotated half; together they must use each once. */
static clef_status read_sections(const clef_config_fields *rope, clef_config *config) {
    const clef_json *sections = clef_config_fields_find(rope, "mrope_section");
    char expected[128];
    snprintf(expected, sizeof expected, "three whole numbers whose sum is half the rotary size, %u",
             config->rotary_size / 2);
    if (sections == NULL || sections->type != CLEF_JSON_ARRAY || sections->count != 3) {
        return clef_config_fields_refuse(rope, "mrope_section", expected);
    }
    uint64_t sum = 0;
    int i = 0;
    for (const clef_json *item = sections->first; item != NULL; item = item->next, i++) {
        uint64_t section;
        if (!clef_json_unsigned(item, &section) || section > config->rotary_size / 2) {
            char name[32];
            snprintf(name, sizeof name, "mrope_section[%d]", i);
            return clef_config_fields_fail(rope, name, item, expected);
        }
        config->mrope_section[i] = (uint32_t)section;
        sum += section;
    }
    if (sum != config->rotary_size / 2) {
        return clef_bad_file_fail(rope->error, rope->path,
                                  "%smrope_section is [%u, %u, %u], sum %u; expected %s",
                                  rope->scope, config->mrope_section[0], config->mrope_section[1],
                                  config->mrope_section[2], (uint32_t)sum, expected);
    }
    return CLEF_OK;
}

/* Scaled or otherwise changed rotations are other models: every trace of one is refused. */
clef_status clef_rotary_config_read(const clef_config_fields *text, const clef_config_fields *rope,
                                    clef_config *config) {
    static const char *const rope_types[] = {"default", NULL};
    clef_status status = clef_config_fields_expect_word(rope, "rope_type", rope_types);
    if (status == CLEF_OK && clef_config_fields_find(text, "rope_scaling") != NULL) {
        status =
            clef_config_fields_refuse(text, "rope_scaling", "no such member: it is not supported");
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_flag(rope, "mrope_interleaved", true);
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_number(rope, "rope_theta", 1, 1e15, &config->rope_theta);
    }
    if (status == CLEF_OK) {
        status = read_rotary_size(text, rope, config);
    }
    return status == CLEF_OK ? read_sections(rope, config) : status;
}
