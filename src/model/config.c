/* Reading of config.json in the order of the struct: identity, sizes, the ways sizes must fit,
 * rotary parameters, layers, tokens, vision. A value the model code has no path for is refused
 * here. */
#include "model/config.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/config_fields.h"
#include "model/rotary_config.h"
#include "model/token_config.h"
#include "model/vision_config.h"

#include <stdio.h>

#define FILE_NAME       "config.json"
#define FILE_BYTE_LIMIT ((size_t)4 << 20)

static const clef_size_field size_fields[] = {
    {"hidden_size", offsetof(clef_config, hidden_size), CLEF_CONFIG_SIZE_LIMIT},
    {"num_hidden_layers", offsetof(clef_config, layer_count), CLEF_CONFIG_LAYER_LIMIT},
    {"intermediate_size", offsetof(clef_config, intermediate_size), CLEF_CONFIG_SIZE_LIMIT},
    {"vocab_size", offsetof(clef_config, vocabulary_size), CLEF_CONFIG_SIZE_LIMIT},
    {"num_attention_heads", offsetof(clef_config, attention_head_count), CLEF_HEAD_GROUP_LIMIT},
    {"num_key_value_heads", offsetof(clef_config, key_value_head_count), CLEF_CONFIG_SIZE_LIMIT},
    {"head_dim", offsetof(clef_config, head_size), CLEF_HEAD_SIZE_LIMIT},
    {"linear_num_key_heads", offsetof(clef_config, delta_key_head_count), CLEF_CONFIG_SIZE_LIMIT},
    {"linear_num_value_heads", offsetof(clef_config, delta_value_head_count),
     CLEF_CONFIG_SIZE_LIMIT},
    {"linear_key_head_dim", offsetof(clef_config, delta_key_size), CLEF_HEAD_SIZE_LIMIT},
    {"linear_value_head_dim", offsetof(clef_config, delta_value_size), CLEF_HEAD_SIZE_LIMIT},
    {"max_position_embeddings", offsetof(clef_config, context_length), CLEF_CONFIG_CONTEXT_LIMIT},
};

/* The three objects of the file that are read together. */
typedef struct config_reader {
    clef_config_fields top;
    clef_config_fields text;   /* text_config */
    clef_config_fields rope;   /* text_config.rope_parameters */
    clef_config_fields vision; /* vision_config; its object is NULL when absent */
    clef_config *config;
} config_reader;

/* Quantised weights are another format under the same names; refused before anything else. */
static clef_status refuse_quantisation(const clef_config_fields *fields) {
    return clef_config_fields_find(fields, "quantization_config") == NULL
               ? CLEF_OK
               : clef_config_fields_refuse(fields, "quantization_config",
                                           "no such member: quantised weights are not supported");
}

/* ---- identity ---- */

/* Finds the objects of the file that must be there, and vision_config if it is. */
static clef_status enter_objects(config_reader *reader) {
    const clef_config_fields *top = &reader->top;
    clef_status status =
        clef_config_fields_enter(top, "text_config", "text_config.", &reader->text);
    if (status == CLEF_OK && reader->text.object == NULL) {
        status = clef_config_fields_refuse(top, "text_config", "an object");
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_enter(&reader->text, "rope_parameters",
                                          "text_config.rope_parameters.", &reader->rope);
    }
    if (status == CLEF_OK && reader->rope.object == NULL) {
        status = clef_config_fields_refuse(&reader->text, "rope_parameters", "an object");
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_enter(top, "vision_config", "vision_config.", &reader->vision);
    }
    return status;
}

/* Other architectures share member names with this one, so the type is asked first: a file of
 * theirs shall be refused for what it is, not for some size. */
static clef_status check_identity(const config_reader *reader) {
    static const char *const model_types[] = {"qwen3_5", NULL};
    static const char *const text_types[] = {"qwen3_5_text", NULL};
    clef_status status = CLEF_OK;
    if (clef_config_fields_find(&reader->top, "model_type") == NULL) {
        status = clef_config_fields_refuse(&reader->top, "model_type", "\"qwen3_5\"");
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_word(&reader->top, "model_type", model_types);
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_flag(&reader->top, "language_model_only", false);
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_word(&reader->text, "model_type", text_types);
    }
    if (status == CLEF_OK) {
        status = refuse_quantisation(&reader->top);
    }
    return status == CLEF_OK ? refuse_quantisation(&reader->text) : status;
}

/* Switches of the architecture: only one setting of each is implemented. */
static clef_status check_switches(const clef_config_fields *text) {
    static const char *const activations[] = {"silu", NULL};
    static const char *const gates[] = {"swish", "silu", NULL};
    clef_status status = clef_config_fields_expect_word(text, "hidden_act", activations);
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_word(text, "output_gate_type", gates);
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_flag(text, "attention_bias", false);
    }
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_flag(text, "attn_output_gate", true);
    }
    return status == CLEF_OK ? clef_config_fields_expect_empty(text, "mlp_only_layers") : status;
}

/* ---- sizes ---- */

/* `name`, a count, must be a multiple of another member. */
static clef_status check_multiple(const clef_config_fields *text, const char *name, uint32_t value,
                                  const char *divisor_name, uint32_t divisor) {
    if (value % divisor == 0) {
        return CLEF_OK;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "a multiple of %s, which is %u", divisor_name, divisor);
    return clef_config_fields_refuse(text, name, expected);
}

/* The rows of a matrix, a product of members of which `name` is one. */
static clef_status check_product(const clef_config_fields *text, const char *name,
                                 const char *formula, uint64_t product) {
    if (product <= CLEF_CONFIG_PRODUCT_LIMIT) {
        return CLEF_OK;
    }
    char expected[160];
    snprintf(expected, sizeof expected, "%s of at most %u, not %llu", formula,
             CLEF_CONFIG_PRODUCT_LIMIT, (unsigned long long)product);
    return clef_config_fields_refuse(text, name, expected);
}

/* How the sizes must fit each other, and the derived ones. */
static clef_status check_sizes(const clef_config_fields *text, clef_config *config) {
    clef_status status = check_multiple(text, "num_attention_heads", config->attention_head_count,
                                        "num_key_value_heads", config->key_value_head_count);
    if (status == CLEF_OK) {
        status = check_multiple(text, "linear_num_value_heads", config->delta_value_head_count,
                                "linear_num_key_heads", config->delta_key_head_count);
    }
    /* Each factor is at most 2^20, so no product of two overflows 64 bits. */
    uint64_t query = (uint64_t)config->attention_head_count * config->head_size * 2;
    uint64_t key = (uint64_t)config->delta_key_head_count * config->delta_key_size;
    uint64_t value = (uint64_t)config->delta_value_head_count * config->delta_value_size;
    if (status == CLEF_OK) {
        status = check_product(text, "head_dim", "2 * num_attention_heads * head_dim", query);
    }
    if (status == CLEF_OK) {
        status = check_product(text, "linear_key_head_dim",
                               "2 * linear_num_key_heads * linear_key_head_dim", 2 * key);
    }
    if (status == CLEF_OK) {
        status = check_product(text, "linear_value_head_dim",
                               "the sum of all linear key, query and value heads", 2 * key + value);
    }
    if (status == CLEF_OK) {
        /* The state of one head is a square of this kind, and there is one per value head. */
        status = check_product(text, "linear_value_head_dim",
                               "linear_key_head_dim * linear_value_head_dim",
                               (uint64_t)config->delta_key_size * config->delta_value_size);
    }
    config->delta_channel_count = status == CLEF_OK ? (uint32_t)(2 * key + value) : 0;
    return status;
}

static clef_status read_sizes(const config_reader *reader) {
    const clef_config_fields *text = &reader->text;
    clef_config *config = reader->config;
    clef_status status = clef_config_fields_sizes(text, size_fields,
                                                  sizeof size_fields / sizeof *size_fields, config);
    if (status == CLEF_OK) {
        status = clef_config_fields_size(text, "linear_conv_kernel_dim", 2, CLEF_CONFIG_TAP_LIMIT,
                                         &config->convolution_taps);
    }
    double epsilon = 0;
    if (status == CLEF_OK) {
        status = clef_config_fields_number(text, "rms_norm_eps", 0, 1, &epsilon);
    }
    /* A tiny number becomes 0 in fp32, and a zero row would then divide by zero. */
    config->rms_epsilon = (float)epsilon;
    if (status == CLEF_OK && !(config->rms_epsilon > 0)) {
        status = clef_config_fields_refuse(text, "rms_norm_eps", "a number that fp32 can hold");
    }
    return status == CLEF_OK ? check_sizes(text, config) : status;
}

/* ---- layers ---- */

/* layer_types is absent: every full_attention_interval-th layer is a full one. */
static clef_status derive_layers(const config_reader *reader) {
    clef_config *config = reader->config;
    uint32_t interval;
    if (clef_config_fields_find(&reader->text, "full_attention_interval") == NULL) {
        return clef_config_fields_refuse(
            &reader->text, "layer_types",
            "a list with one entry a layer, or a full_attention_interval");
    }
    clef_status status = clef_config_fields_size(&reader->text, "full_attention_interval", 1,
                                                 CLEF_CONFIG_LAYER_LIMIT, &interval);
    for (uint32_t i = 0; i < config->layer_count && status == CLEF_OK; i++) {
        config->is_full_attention[i] = (i + 1) % interval == 0;
    }
    return status;
}

/* The list wins over full_attention_interval, as in the reference, which reads the list alone. */
static clef_status read_layer_types(const config_reader *reader, const clef_json *types) {
    clef_config *config = reader->config;
    if (types->type != CLEF_JSON_ARRAY || types->count != config->layer_count) {
        char expected[96];
        snprintf(expected, sizeof expected, "a list of %u, one entry a layer (num_hidden_layers)",
                 config->layer_count);
        return clef_config_fields_fail(&reader->text, "layer_types", types, expected);
    }
    uint32_t i = 0;
    for (const clef_json *item = types->first; item != NULL; item = item->next, i++) {
        bool is_string = item->type == CLEF_JSON_STRING;
        bool is_full = is_string && clef_text_equals(item->text, CLEF_TEXT("full_attention"));
        if (!is_full &&
            !(is_string && clef_text_equals(item->text, CLEF_TEXT("linear_attention")))) {
            char name[32];
            snprintf(name, sizeof name, "layer_types[%u]", i);
            return clef_config_fields_fail(&reader->text, name, item,
                                           "\"linear_attention\" or \"full_attention\"");
        }
        config->is_full_attention[i] = is_full;
    }
    return CLEF_OK;
}

/* Fills is_full_attention, from the list or from the interval. */
static clef_status read_layers(const config_reader *reader) {
    clef_config *config = reader->config;
    config->is_full_attention = clef_allocate(config->layer_count, sizeof(bool));
    if (config->is_full_attention == NULL) {
        return clef_fail_memory(reader->text.error, config->layer_count, "the kinds of layers");
    }
    const clef_json *types = clef_config_fields_find(&reader->text, "layer_types");
    clef_status status = types == NULL ? derive_layers(reader) : read_layer_types(reader, types);
    for (uint32_t i = 0; i < config->layer_count && status == CLEF_OK; i++) {
        config->full_attention_layer_count += config->is_full_attention[i];
    }
    return status;
}

/* ---- output matrix ---- */

/* The flag stands outside, in text_config, or in both with one value. */
static clef_status read_tied_embeddings(const config_reader *reader) {
    static const char *const name = "tie_word_embeddings";
    const clef_config_fields *both[2] = {&reader->top, &reader->text};
    const clef_json *values[2];
    for (int i = 0; i < 2; i++) {
        values[i] = clef_config_fields_find(both[i], name);
        if (values[i] != NULL && values[i]->type != CLEF_JSON_TRUE &&
            values[i]->type != CLEF_JSON_FALSE) {
            return clef_config_fields_fail(both[i], name, values[i], "true or false");
        }
    }
    if (values[0] == NULL && values[1] == NULL) {
        return clef_config_fields_refuse(&reader->top, name, "true or false");
    }
    if (values[0] != NULL && values[1] != NULL && values[0]->type != values[1]->type) {
        return clef_config_fields_fail(&reader->text, name, values[1],
                                       values[0]->type == CLEF_JSON_TRUE
                                           ? "true, as the outer tie_word_embeddings"
                                           : "false, as the outer tie_word_embeddings");
    }
    const clef_json *value = values[0] != NULL ? values[0] : values[1];
    reader->config->has_tied_embeddings = value->type == CLEF_JSON_TRUE;
    return CLEF_OK;
}

/* ---- the whole file ---- */

static clef_status read_config(config_reader *reader) {
    clef_config *config = reader->config;
    clef_status status = enter_objects(reader);
    if (status == CLEF_OK) {
        status = check_identity(reader);
    }
    if (status == CLEF_OK) {
        status = check_switches(&reader->text);
    }
    if (status == CLEF_OK) {
        status = read_sizes(reader);
    }
    if (status == CLEF_OK) {
        status = clef_rotary_config_read(&reader->text, &reader->rope, config);
    }
    if (status == CLEF_OK) {
        status = read_layers(reader);
    }
    if (status == CLEF_OK) {
        status = read_tied_embeddings(reader);
    }
    /* The media tokens are needed exactly when there is a vision tower. */
    config->has_vision = reader->vision.object != NULL;
    if (status == CLEF_OK) {
        status = clef_token_config_read(&reader->top, &reader->text, config);
    }
    if (status == CLEF_OK && config->has_vision) {
        status = clef_vision_config_read(&reader->vision, config->hidden_size, &config->vision);
    }
    return status;
}

clef_status clef_config_parse(const char *name, clef_text text, clef_config *config,
                              clef_error *error) {
    *config = (clef_config){0};
    clef_arena arena = {0};
    config_reader reader = {.config = config};
    clef_status status = clef_config_fields_parse(name, text, &arena, &reader.top, error);
    if (status == CLEF_OK) {
        status = read_config(&reader);
    }
    if (status != CLEF_OK) {
        clef_config_release(config);
    }
    clef_arena_release(&arena);
    return status;
}

clef_status clef_config_load(const char *directory, clef_config *config, clef_error *error) {
    *config = (clef_config){0};
    char *path = clef_path_join(directory, FILE_NAME);
    if (path == NULL) {
        return clef_fail_memory(error, strlen(directory), "a path");
    }
    clef_file file;
    clef_status status = clef_file_read(path, FILE_BYTE_LIMIT, &file, error);
    if (status == CLEF_OK) {
        status = clef_config_parse(path, (clef_text){file.bytes, file.length}, config, error);
        clef_file_close(&file);
    }
    clef_release(path);
    return status;
}

void clef_config_release(clef_config *config) {
    clef_release(config->is_full_attention);
    *config = (clef_config){0};
}
