/* Binding: every tensor by name, matrices as views, vectors widened. Names and shapes were checked
 * before; a tensor that is missing here is a fault of ours and reported as such. */
#include "model/network.h"

#include "model/rotary_positions.h"

#include "base/memory.h"

#include <stdio.h>

#define VISION_ROTARY_THETA 10000.0 /* in no file */

typedef struct binder {
    const clef_weight_store *store;
    clef_network *network;
    clef_tensor_part part;
    int32_t layer;
    clef_arithmetic arithmetic; /* of the matrices bound next */
    clef_status status;         /* sticks at the first failure */
    clef_error *error;
} binder;

static const clef_stored_tensor *find(binder *bind, const char *local) {
    if (bind->status != CLEF_OK) {
        return NULL;
    }
    char name[256];
    clef_text text = clef_tensor_name(bind->part, bind->layer, local, name, sizeof name);
    const clef_stored_tensor *tensor = clef_weight_store_find(bind->store, text);
    if (tensor == NULL) {
        bind->status =
            clef_fail(bind->error, CLEF_INTERNAL, "tensor %s was checked but is not there", name);
    }
    return tensor;
}

/* The scales of a quantised matrix, and how many columns share one. */
static void bind_scales(binder *bind, const char *local, clef_weight *weight) {
    char name[128];
    snprintf(name, sizeof name, "%s" CLEF_SCALE_SUFFIX, local);
    const clef_stored_tensor *scales = find(bind, name);
    if (scales != NULL) {
        weight->arithmetic = CLEF_ARITHMETIC_INT8;
        weight->scales = scales->data;
        weight->group = clef_quantised_group(weight->columns, (size_t)scales->shape[1]);
    }
}

/* A view of a matrix as stored; further dimensions count as columns. 4-bit rows pack two columns
 * into a byte. */
static clef_weight matrix(binder *bind, const char *local) {
    const clef_stored_tensor *tensor = find(bind, local);
    if (tensor == NULL) {
        return (clef_weight){0};
    }
    size_t columns = 1;
    for (unsigned i = 1; i < tensor->rank; i++) {
        columns *= (size_t)tensor->shape[i];
    }
    clef_weight weight = {.data = tensor->data,
                          .dtype = tensor->dtype,
                          .rows = (size_t)tensor->shape[0],
                          .columns = tensor->dtype == CLEF_DTYPE_U8 ? 2 * columns : columns,
                          .arithmetic = bind->arithmetic};
    if (tensor->dtype == CLEF_DTYPE_I8 || tensor->dtype == CLEF_DTYPE_U8) {
        bind_scales(bind, local, &weight);
    }
    return weight;
}

/* All elements of a tensor, widened into the network's arena. */
static float *vector(binder *bind, const char *local) {
    const clef_stored_tensor *tensor = find(bind, local);
    if (tensor == NULL) {
        return NULL;
    }
    size_t count = tensor->bytes / clef_dtype_bytes(tensor->dtype);
    float *values = clef_arena_allocate(&bind->network->arena, count, sizeof *values);
    if (values == NULL) {
        bind->status = clef_fail_memory(bind->error, count * sizeof *values, "a weight vector");
        return NULL;
    }
    clef_widen(tensor->dtype, tensor->data, count, values);
    return values;
}

static float scalar(binder *bind, const char *local) {
    const float *value = vector(bind, local);
    return value == NULL ? 0 : *value;
}

static void *allocate(binder *bind, size_t count, size_t size) {
    void *block = clef_arena_allocate(&bind->network->arena, count, size);
    if (block == NULL && bind->status == CLEF_OK) {
        bind->status = clef_fail_memory(bind->error, count * size, "the layers of a model");
    }
    return block;
}

static void bind_attention(binder *bind, clef_attention_weights *weights) {
    weights->query = matrix(bind, "self_attn.q_proj.weight");
    weights->key = matrix(bind, "self_attn.k_proj.weight");
    weights->value = matrix(bind, "self_attn.v_proj.weight");
    weights->out = matrix(bind, "self_attn.o_proj.weight");
    weights->query_norm = vector(bind, "self_attn.q_norm.weight");
    weights->key_norm = vector(bind, "self_attn.k_norm.weight");
}

static void bind_delta(binder *bind, clef_delta_weights *weights) {
    weights->qkv = matrix(bind, "linear_attn.in_proj_qkv.weight");
    weights->z = matrix(bind, "linear_attn.in_proj_z.weight");
    weights->b = matrix(bind, "linear_attn.in_proj_b.weight");
    weights->a = matrix(bind, "linear_attn.in_proj_a.weight");
    weights->out = matrix(bind, "linear_attn.out_proj.weight");
    weights->convolution = vector(bind, "linear_attn.conv1d.weight");
    weights->a_log = vector(bind, "linear_attn.A_log");
    weights->dt_bias = vector(bind, "linear_attn.dt_bias");
    weights->norm = vector(bind, "linear_attn.norm.weight");
}

static void bind_layer(binder *bind, clef_layer_weights *layer) {
    layer->input_norm = vector(bind, "input_layernorm.weight");
    layer->post_attention_norm = vector(bind, "post_attention_layernorm.weight");
    layer->gate = matrix(bind, "mlp.gate_proj.weight");
    layer->up = matrix(bind, "mlp.up_proj.weight");
    layer->down = matrix(bind, "mlp.down_proj.weight");
    if (layer->is_full_attention) {
        bind_attention(bind, &layer->attention);
    } else {
        bind_delta(bind, &layer->delta);
    }
}

static void bind_backbone(binder *bind, clef_arithmetic arithmetic) {
    clef_network *network = bind->network;
    bind->arithmetic = arithmetic;
    bind->part = CLEF_TENSOR_PART_TEXT;
    bind->layer = -1;
    network->embedding = matrix(bind, "embed_tokens.weight");
    network->norm = vector(bind, "norm.weight");
    network->output =
        network->config.has_tied_embeddings ? network->embedding : matrix(bind, "lm_head.weight");
    network->layers = allocate(bind, network->config.layer_count, sizeof *network->layers);
    bind->part = CLEF_TENSOR_PART_LAYER;
    for (uint32_t i = 0; bind->status == CLEF_OK && i < network->config.layer_count; i++) {
        bind->layer = (int32_t)i;
        network->layers[i].is_full_attention = network->config.is_full_attention[i];
        bind_layer(bind, &network->layers[i]);
    }
}

/* "PREFIX.weight" and "PREFIX.bias" of what `prefix` names. */
static clef_layer_norm_weights layer_norm(binder *bind, const char *weight, const char *bias) {
    return (clef_layer_norm_weights){vector(bind, weight), vector(bind, bias)};
}

static clef_affine affine(binder *bind, const char *weight, const char *bias) {
    return (clef_affine){matrix(bind, weight), vector(bind, bias)};
}

#define NORM(prefix)   layer_norm(bind, prefix ".weight", prefix ".bias")
#define AFFINE(prefix) affine(bind, prefix ".weight", prefix ".bias")

/* ---- vision tower ---- */

static void bind_vision_block(binder *bind, clef_vision_block_weights *block) {
    block->norm1 = NORM("norm1");
    block->norm2 = NORM("norm2");
    block->qkv = AFFINE("attn.qkv");
    block->out = AFFINE("attn.proj");
    block->expand = AFFINE("mlp.linear_fc1");
    block->contract = AFFINE("mlp.linear_fc2");
}

static void bind_vision(binder *bind, clef_arithmetic arithmetic) {
    const clef_vision_config *config = &bind->network->config.vision;
    clef_vision_weights *vision = &bind->network->vision;
    size_t quarter = config->hidden_size / config->head_count / 4;
    bind->arithmetic = arithmetic;
    bind->part = CLEF_TENSOR_PART_VISION;
    bind->layer = -1;
    vision->patch = AFFINE("patch_embed.proj");
    vision->positions = matrix(bind, "pos_embed.weight");
    vision->merger_norm = NORM("merger.norm");
    vision->merger_expand = AFFINE("merger.linear_fc1");
    vision->merger_contract = AFFINE("merger.linear_fc2");
    vision->blocks = allocate(bind, config->depth, sizeof *vision->blocks);
    vision->rotary_frequencies = allocate(bind, quarter, sizeof(float));
    if (vision->rotary_frequencies != NULL) {
        clef_rotary_frequencies(VISION_ROTARY_THETA, quarter, vision->rotary_frequencies);
    }
    bind->part = CLEF_TENSOR_PART_VISION_BLOCK;
    for (uint32_t i = 0; bind->status == CLEF_OK && i < config->depth; i++) {
        bind->layer = (int32_t)i;
        bind_vision_block(bind, &vision->blocks[i]);
    }
}

/* ---- joint head ---- */

#define ATTENTION(prefix)                                                                          \
    (clef_head_attention_weights) {                                                                \
        affine(bind, prefix ".in_proj_weight", prefix ".in_proj_bias"), AFFINE(prefix ".out_proj") \
    }

static void bind_evidence_layer(binder *bind, clef_evidence_layer_weights *layer) {
    layer->query_norm = NORM("query_norm");
    layer->memory_norm = NORM("memory_norm");
    layer->feedforward_norm = NORM("feedforward_norm");
    layer->attention = ATTENTION("attention");
    layer->expand = AFFINE("feedforward.0");
    layer->contract = AFFINE("feedforward.3");
}

static void bind_decoder_layer(binder *bind, clef_decoder_layer_weights *layer) {
    layer->norm1 = NORM("norm1");
    layer->norm2 = NORM("norm2");
    layer->norm3 = NORM("norm3");
    layer->self_attention = ATTENTION("self_attn");
    layer->memory_attention = ATTENTION("multihead_attn");
    layer->expand = AFFINE("linear1");
    layer->contract = AFFINE("linear2");
}

static void bind_head_layers(binder *bind, clef_head_weights *head) {
    const clef_head_config *config = &bind->network->head_config;
    head->evidence = allocate(bind, config->evidence_layer_count, sizeof *head->evidence);
    head->decoder = allocate(bind, config->decoder_layer_count, sizeof *head->decoder);
    bind->part = CLEF_TENSOR_PART_HEAD_EVIDENCE;
    for (uint32_t i = 0; bind->status == CLEF_OK && i < config->evidence_layer_count; i++) {
        bind->layer = (int32_t)i;
        bind_evidence_layer(bind, &head->evidence[i]);
    }
    bind->part = CLEF_TENSOR_PART_HEAD_DECODER;
    for (uint32_t i = 0; bind->status == CLEF_OK && i < config->decoder_layer_count; i++) {
        bind->layer = (int32_t)i;
        bind_decoder_layer(bind, &head->decoder[i]);
    }
}

static void bind_head(binder *bind) {
    clef_head_weights *head = &bind->network->head;
    bind->arithmetic = CLEF_ARITHMETIC_F32; /* the head always computes in fp32 */
    bind->part = CLEF_TENSOR_PART_HEAD;
    bind->layer = -1;
    head->hidden_norm = NORM("hidden_norm");
    head->memory = matrix(bind, "memory_projection.weight");
    head->question = matrix(bind, "question_projection.weight");
    head->option_question = matrix(bind, "option_question_projection.weight");
    head->global = matrix(bind, "global_projection.weight");
    head->option_context = matrix(bind, "option_context_projection.weight");
    head->option_lexical = matrix(bind, "option_lexical_projection.weight");
    head->type_embedding = vector(bind, "type_embedding.weight");
    head->option_summary_norm = NORM("option_summary_norm");
    head->field_norm = NORM("field_norm");
    head->option_norm = NORM("option_norm");
    head->scorer_expand = AFFINE("residual_scorer.0");
    head->scorer_contract = AFFINE("residual_scorer.3");
    head->prior_logit_scale = scalar(bind, "prior_logit_scale");
    head->joint_logit_scale = scalar(bind, "joint_logit_scale");
    head->residual_gate = scalar(bind, "residual_gate");
    bind_head_layers(bind, head);
}

static clef_status make_layout(clef_network *network, clef_error *error) {
    const clef_config *config = &network->config;
    clef_state_sizes sizes = {
        .layer_count = config->layer_count,
        .is_full_attention = config->is_full_attention,
        .delta = {config->delta_key_head_count, config->delta_value_head_count,
                  config->delta_key_size, config->delta_value_size},
        .convolution_rows = config->convolution_taps - 1,
        .convolution_channels = config->delta_channel_count,
        .key_value_columns = (size_t)config->key_value_head_count * config->head_size,
        .memory_width = network->has_head ? network->head_config.width : 0,
    };
    return clef_state_layout_create(&sizes, &network->layout, error);
}

clef_status clef_network_bind(clef_config *config, const clef_head_config *head,
                              const clef_weight_store *backbone,
                              const clef_weight_store *head_store, clef_arithmetic arithmetic,
                              clef_network *network, clef_error *error) {
    *network = (clef_network){.config = *config, .has_head = head != NULL};
    *config = (clef_config){0};
    if (head != NULL) {
        network->head_config = *head;
    }
    binder bind = {.store = backbone, .network = network, .error = error};
    bind_backbone(&bind, arithmetic);
    if (network->config.has_vision) {
        bind_vision(&bind, arithmetic);
    }
    if (head != NULL) {
        bind.store = head_store;
        bind_head(&bind);
    }
    size_t half = network->config.rotary_size / 2;
    network->rotary_frequencies = allocate(&bind, half, sizeof(float));
    if (bind.status == CLEF_OK) {
        clef_rotary_frequencies(network->config.rope_theta, half, network->rotary_frequencies);
        bind.status = make_layout(network, error);
    }
    if (bind.status != CLEF_OK) {
        clef_network_release(network);
    }
    return bind.status;
}

size_t clef_network_widest_input(const clef_network *network) {
    const clef_config *c = &network->config;
    const clef_vision_weights *vision = &network->vision; /* zero without one */
    size_t widths[] = {c->hidden_size,
                       c->intermediate_size,
                       (size_t)c->attention_head_count * c->head_size,
                       (size_t)c->delta_value_head_count * c->delta_value_size,
                       c->vision.intermediate_size,
                       vision->patch.weight.columns,
                       vision->merger_expand.weight.columns};
    size_t widest = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        widest = widths[i] > widest ? widths[i] : widest;
    }
    return widest;
}

void clef_network_release(clef_network *network) {
    clef_config_release(&network->config);
    clef_state_layout_release(&network->layout);
    clef_arena_release(&network->arena);
    *network = (clef_network){0};
}
