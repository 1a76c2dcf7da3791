/* A tokenizer that does not belong to its model gives answers that look right and are not. This
 * check asks what both sides say about the same tokens: the control tokens of prompts, and the ids
 * that the configuration names. */
#include "engine/handles.h"

static clef_status refuse(const clef_model *model, clef_error *error) {
    clef_error_set_place(error, "%s/tokenizer.json", model->directory);
    return CLEF_BAD_FILE;
}

/* Tokens that every prompt holds. */
static clef_status check_prompt_tokens(const clef_model *model, clef_error *error) {
    static const char *const needed[] = {"<|im_start|>", "<|im_end|>", "<think>", "</think>"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        uint32_t id;
        if (!clef_tokenizer_find_added(model->tokenizer, clef_text_of(needed[i]), &id)) {
            clef_fail(error, CLEF_BAD_FILE,
                      "tokenizer.json has no added token %s, which every prompt needs", needed[i]);
            return refuse(model, error);
        }
    }
    return CLEF_OK;
}

/* Ids that config.json gives for tokens of these texts. */
static clef_status check_named_tokens(const clef_model *model, clef_error *error) {
    const clef_config *config = &model->network.config;
    const struct {
        const char *field, *text;
        uint32_t id;
    } named[] = {
        {"image_token_id", "<|image_pad|>", config->image_token_id},
        {"video_token_id", "<|video_pad|>", config->video_token_id},
        {"vision_start_token_id", "<|vision_start|>", config->vision_start_token_id},
        {"vision_end_token_id", "<|vision_end|>", config->vision_end_token_id},
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        uint32_t id;
        bool is_known =
            clef_tokenizer_find_added(model->tokenizer, clef_text_of(named[i].text), &id);
        if (named[i].id != CLEF_TOKEN_NONE && config->has_vision && is_known && id != named[i].id) {
            clef_fail(
                error, CLEF_BAD_FILE,
                "tokenizer.json gives %s the id %u, but %s in config.json is %u; the two files "
                "belong to different models",
                named[i].text, id, named[i].field, named[i].id);
            return refuse(model, error);
        }
    }
    return CLEF_OK;
}

static clef_status check_size(const clef_model *model, clef_error *error) {
    uint32_t tokens = clef_tokenizer_count(model->tokenizer);
    uint32_t rows = model->network.config.vocabulary_size;
    if (tokens <= rows) {
        return CLEF_OK;
    }
    clef_fail(error, CLEF_BAD_FILE,
              "tokenizer.json has %u tokens, but vocab_size in config.json is %u", tokens, rows);
    return refuse(model, error);
}

clef_status clef_model_check_tokenizer(const clef_model *model, clef_error *error) {
    clef_status status = check_prompt_tokens(model, error);
    if (status == CLEF_OK && !model->is_tokenizer_only) {
        status = check_named_tokens(model, error);
    }
    if (status == CLEF_OK && !model->is_tokenizer_only) {
        status = check_size(model, error);
    }
    return status;
}
