/* Reading of token ids. Only ids that rows of the embedding matrix exist for are accepted. */
#include "model/token_config.h"

#include <stdio.h>

/* One id, a list, or nothing: a model without an end token is stopped by its token limit. */
static clef_status read_eos_tokens(const clef_config_fields *text, clef_config *config) {
    const clef_json *value = clef_config_fields_find(text, "eos_token_id");
    if (value == NULL) {
        return CLEF_OK;
    }
    bool is_list = value->type == CLEF_JSON_ARRAY;
    char expected[128];
    snprintf(expected, sizeof expected, "a token id below vocab_size %u, or a list of at most %d",
             config->vocabulary_size, CLEF_CONFIG_EOS_LIMIT);
    if (is_list && value->count > CLEF_CONFIG_EOS_LIMIT) {
        return clef_config_fields_fail(text, "eos_token_id", value, expected);
    }
    const clef_json *item = is_list ? value->first : value;
    while (item != NULL) {
        uint64_t token;
        if (!clef_json_unsigned(item, &token) || token >= config->vocabulary_size) {
            return clef_config_fields_fail(text, "eos_token_id", item, expected);
        }
        config->eos_token_ids[config->eos_token_count++] = (uint32_t)token;
        item = is_list ? item->next : NULL;
    }
    return CLEF_OK;
}

clef_status clef_token_config_read(const clef_config_fields *top, const clef_config_fields *text,
                                   clef_config *config) {
    const struct {
        const char *name;
        uint32_t *token;
    } media[] = {{"image_token_id", &config->image_token_id},
                 {"video_token_id", &config->video_token_id},
                 {"vision_start_token_id", &config->vision_start_token_id},
                 {"vision_end_token_id", &config->vision_end_token_id}};
    clef_status status = clef_config_fields_token(text, "bos_token_id", config->vocabulary_size,
                                                  CLEF_TOKEN_NONE, &config->bos_token_id);
    if (status == CLEF_OK) {
        status = read_eos_tokens(text, config);
    }
    for (size_t i = 0; i < sizeof media / sizeof *media && status == CLEF_OK; i++) {
        status = clef_config_fields_token(top, media[i].name, config->vocabulary_size,
                                          CLEF_TOKEN_NONE, media[i].token);
        /* Without these ids no picture could be placed in a prompt. */
        if (status == CLEF_OK && config->has_vision && *media[i].token == CLEF_TOKEN_NONE) {
            status = clef_config_fields_refuse(top, media[i].name,
                                               "a token id, as there is a "
                                               "vision_config");
        }
    }
    return status;
}
