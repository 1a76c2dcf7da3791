/* Opening a model directory: configuration first, then the files, then every tensor against the
 * configuration, then the tokenizer. */
#include "engine/handles.h"

#include "base/file.h"
#include "base/memory.h"
#include "model/processor_config.h"

static char *copy_string(const char *string) {
    size_t length = strlen(string);
    char *copy = clef_allocate(length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, string, length);
    }
    return copy;
}

static clef_status load_tokenizer(clef_model *model, clef_error *error) {
    char *path = clef_path_join(model->directory, "tokenizer.json");
    if (path == NULL) {
        return clef_fail_memory(error, 0, "a path");
    }
    clef_status status = clef_tokenizer_load(path, &model->tokenizer, error);
    clef_release(path);
    return status;
}

/* Opens the weight files that are there; absent ones stay NULL. */
static clef_status open_stores(clef_model *model, clef_error *error) {
    bool is_absent = false;
    clef_status status =
        clef_weight_store_open(model->directory, &model->backbone_store, &is_absent, error);
    if (status != CLEF_OK && !is_absent) {
        return status;
    }
    char *path = clef_path_join(model->directory, "joint_head.safetensors");
    if (path == NULL) {
        return clef_fail_memory(error, 0, "a path");
    }
    status = clef_weight_store_open_file(path, &model->head_store, &is_absent, error);
    clef_release(path);
    return status != CLEF_OK && !is_absent ? status : CLEF_OK;
}

static clef_status load_head_config(clef_model *model, const clef_config *config,
                                    clef_head_config *head, bool *has_head, clef_error *error) {
    bool is_absent = false;
    clef_status status =
        clef_head_config_load(model->directory, config->hidden_size, head, &is_absent, error);
    *has_head = status == CLEF_OK;
    /* A base model has neither the head's configuration nor its weights. */
    if (is_absent && model->head_store == NULL) {
        return CLEF_OK;
    }
    return status;
}

/* Tensors that binding widens, vectors and scalars, are below; matrices worth mapping above. */
#define VECTOR_BYTES ((size_t)256 << 10)

static void prefetch_vectors(const clef_model *model) {
    if (model->backbone_store != NULL) {
        clef_weight_store_prefetch(model->backbone_store, VECTOR_BYTES);
    }
    if (model->head_store != NULL) {
        clef_weight_store_prefetch(model->head_store, VECTOR_BYTES);
    }
}

clef_status clef_model_bind(clef_model *model, clef_config *config, const clef_head_config *head,
                            clef_error *error) {
    clef_arena arena = {0};
    clef_tensor_demands demands;
    clef_status status = clef_tensor_demands_list(config, head, &arena, &demands, error);
    if (status == CLEF_OK) {
        status = clef_tensor_demands_check(&demands, model->directory, model->backbone_store,
                                           model->head_store, error);
    }
    clef_arithmetic arithmetic =
        model->precision == CLEF_PRECISION_BF16 ? CLEF_ARITHMETIC_BF16 : CLEF_ARITHMETIC_F32;
    if (status == CLEF_OK) {
        model->backbone_parameters = clef_tensor_demands_parameters(&demands, false);
        model->head_parameters = clef_tensor_demands_parameters(&demands, true);
        prefetch_vectors(model);
        status = clef_network_bind(config, head, model->backbone_store, model->head_store,
                                   arithmetic, &model->network, error);
    }
    clef_arena_release(&arena);
    return status;
}

static clef_status load_network(clef_model *model, clef_error *error) {
    clef_config config = {0};
    clef_head_config head;
    bool has_head = false;
    clef_status status = clef_config_load(model->directory, &config, error);
    if (status == CLEF_OK) {
        status = open_stores(model, error);
    }
    if (status == CLEF_OK) {
        status = load_head_config(model, &config, &head, &has_head, error);
    }
    if (status == CLEF_OK) {
        status = clef_model_bind(model, &config, has_head ? &head : NULL, error);
    }
    clef_config_release(&config);
    return status;
}

/* Read without weights too: the tokens of a request follow it. */
static clef_status load_processor(clef_model *model, clef_error *error) {
    clef_processor_config config;
    clef_status status = clef_processor_config_load(model->directory, &config, error);
    model->media_usual = (clef_media_arguments){
        .image_pixels = {config.image_pixels_least, config.image_pixels_most},
        .video = {.pixels = {config.video_pixels_least, config.video_pixels_most},
                  .usual_rate = config.video_rate,
                  .frames_least = config.video_frames_least,
                  .frames_most = config.video_frames_most},
    };
    return status;
}

static clef_status note_warning(clef_model *model, clef_error *error) {
    const char *warning =
        model->backbone_store == NULL ? NULL : clef_weight_store_warning(model->backbone_store);
    if (warning != NULL) {
        model->warning = copy_string(warning);
        if (model->warning == NULL) {
            return clef_fail_memory(error, strlen(warning), "a warning");
        }
    }
    return CLEF_OK;
}

clef_status clef_model_begin(clef_runtime *runtime, const char *directory, clef_precision precision,
                             clef_model **out, clef_error *error) {
    clef_model *model = clef_allocate(1, sizeof *model);
    *out = model;
    if (model == NULL) {
        return clef_fail_memory(error, sizeof *model, "the model");
    }
    atomic_init(&model->references, 1);
    model->runtime = clef_runtime_share(runtime);
    model->precision = precision;
    model->directory = copy_string(directory);
    clef_status status = model->directory == NULL
                             ? clef_fail_memory(error, strlen(directory), "a path")
                             : clef_memory_budget_create(&model->media_memory, error);
    if (status != CLEF_OK) {
        clef_model_close(model);
        *out = NULL;
    }
    return status;
}

clef_status clef_model_open(clef_runtime *runtime, const char *directory,
                            const clef_model_options *options, clef_model **out,
                            clef_error *error) {
    *out = NULL;
    clef_model_options chosen = options == NULL ? (clef_model_options){0} : *options;
    if (chosen.precision != CLEF_PRECISION_AUTO && chosen.precision != CLEF_PRECISION_F32 &&
        chosen.precision != CLEF_PRECISION_BF16) {
        return clef_fail(error, CLEF_USAGE, "unknown precision %d", (int)chosen.precision);
    }
    clef_model *model;
    clef_status status = clef_model_begin(runtime, directory, chosen.precision, &model, error);
    if (status != CLEF_OK) {
        return status;
    }
    model->is_tokenizer_only = chosen.tokenizer_only;
    if (!chosen.tokenizer_only) {
        status = load_network(model, error);
    }
    if (status == CLEF_OK) {
        status = load_tokenizer(model, error);
    }
    if (status == CLEF_OK) {
        status = clef_model_check_tokenizer(model, error);
    }
    if (status == CLEF_OK) {
        status = load_processor(model, error);
    }
    if (status == CLEF_OK) {
        status = note_warning(model, error);
    }
    if (status != CLEF_OK) {
        clef_model_close(model);
        return status;
    }
    *out = model;
    return CLEF_OK;
}

clef_model *clef_model_share(clef_model *model) {
    atomic_fetch_add(&model->references, 1);
    return model;
}

void clef_model_close(clef_model *model) {
    if (model == NULL || atomic_fetch_sub(&model->references, 1) != 1) {
        return;
    }
    clef_network_release(&model->network);
    clef_weight_store_close(model->backbone_store);
    clef_weight_store_close(model->head_store);
    clef_made_weights_release(&model->made);
    clef_tokenizer_close(model->tokenizer);
    clef_memory_budget_close(model->media_memory);
    clef_release(model->warning);
    clef_release(model->directory);
    clef_runtime_close(model->runtime);
    clef_release(model);
}

uint64_t clef_model_mapped_bytes(const clef_model *model) {
    uint64_t bytes = 0;
    bytes += model->backbone_store == NULL ? 0 : clef_weight_store_bytes(model->backbone_store);
    bytes += model->head_store == NULL ? 0 : clef_weight_store_bytes(model->head_store);
    return bytes;
}

/* What the layers' matrices are stored as decides, where they are quantised. */
static const char *precision_name(const clef_model *model) {
    bool has_int8 = false, has_int4 = false;
    const clef_network *network = &model->network;
    for (uint32_t i = 0; i < network->config.layer_count; i++) {
        clef_weight down = network->layers[i].down;
        has_int8 |= down.scales != NULL && down.dtype == CLEF_DTYPE_I8;
        has_int4 |= down.scales != NULL && down.dtype == CLEF_DTYPE_U8;
    }
    if (has_int8 || has_int4) {
        return has_int8 && has_int4 ? "mixed" : has_int8 ? "int8" : "int4";
    }
    return model->precision == CLEF_PRECISION_BF16 ? "bf16" : "f32";
}

void clef_model_describe(const clef_model *model, clef_model_facts *facts) {
    const clef_config *c = &model->network.config;
    const clef_head_config *h = &model->network.head_config;
    *facts = (clef_model_facts){
        .directory = model->directory,
        .precision = precision_name(model),
        .warning = model->warning,
        .hidden_size = c->hidden_size,
        .layer_count = c->layer_count,
        .full_attention_layer_count = c->full_attention_layer_count,
        .intermediate_size = c->intermediate_size,
        .attention_head_count = c->attention_head_count,
        .key_value_head_count = c->key_value_head_count,
        .head_size = c->head_size,
        .delta_key_head_count = c->delta_key_head_count,
        .delta_value_head_count = c->delta_value_head_count,
        .delta_key_size = c->delta_key_size,
        .delta_value_size = c->delta_value_size,
        .vocabulary_size = c->vocabulary_size,
        .token_count = model->tokenizer == NULL ? 0 : clef_tokenizer_count(model->tokenizer),
        .context_length = c->context_length,
        .head_width = h->width,
        .head_evidence_layer_count = h->evidence_layer_count,
        .head_decoder_layer_count = h->decoder_layer_count,
        .has_head = model->network.has_head,
        .has_vision = c->has_vision,
        .vision_block_count = c->vision.depth,
        .has_tied_embeddings = c->has_tied_embeddings,
        .backbone_parameter_count = model->backbone_parameters,
        .head_parameter_count = model->head_parameters,
        .mapped_bytes = clef_model_mapped_bytes(model),
        .media_bytes = clef_memory_budget_used(model->media_memory),
    };
}
