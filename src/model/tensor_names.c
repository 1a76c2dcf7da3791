/* The list of tensors: one table a part, each row a name and the dimensions of its shape. A table
 * is written out once, or once for each layer of its kind. */
#include "model/tensor_names.h"

#include <stdio.h>

/* Longest whole name there is, with its NUL. */
#define NAME_BYTES 128

/* Dimensions by name; `sizes` below gives their values. */
typedef enum dimension {
    HIDDEN, /* H */
    MIDDLE, /* I */
    VOCABULARY,
    QUERY_GATE,  /* NH · 2D: queries and gates, a pair a head */
    QUERY,       /* NH · D */
    KEY_VALUE,   /* NKV · D */
    HEAD_SIZE,   /* D */
    CHANNELS,    /* 2 · NK · DK + NV · DV */
    DELTA_VALUE, /* NV · DV */
    DELTA_HEADS, /* NV */
    DELTA_SIZE,  /* DV */
    TAPS,
    VISION,        /* V */
    VISION_3,      /* 3V: queries, keys, values */
    VISION_MERGED, /* spatial_merge_size² · V */
    VISION_MIDDLE,
    POSITIONS,
    COLOURS,
    FRAMES,
    PATCH,
    WIDTH,   /* W */
    WIDTH_3, /* 3W: queries, keys, values */
    WIDTH_4, /* 4W: the four features of the scorer */
    FORWARD, /* F */
    TYPES,   /* 3: noul, choice, score */
    ONE,
    DIMENSION_COUNT
} dimension;

typedef struct table_row {
    const char *local;
    unsigned rank;
    dimension shape[CLEF_DEMAND_RANK_LIMIT];
} table_row;

#define ROW_COUNT(table) (sizeof(table) / sizeof *(table))

/* clang-format off */
static const table_row text_rows[] = {
    {"embed_tokens.weight", 2, {VOCABULARY, HIDDEN}},
    {"norm.weight", 1, {HIDDEN}},
};

static const table_row output_rows[] = {
    {"lm_head.weight", 2, {VOCABULARY, HIDDEN}},
};

static const table_row layer_rows[] = {
    {"input_layernorm.weight", 1, {HIDDEN}},
    {"post_attention_layernorm.weight", 1, {HIDDEN}},
    {"mlp.gate_proj.weight", 2, {MIDDLE, HIDDEN}},
    {"mlp.up_proj.weight", 2, {MIDDLE, HIDDEN}},
    {"mlp.down_proj.weight", 2, {HIDDEN, MIDDLE}},
};

static const table_row delta_rows[] = {
    {"linear_attn.in_proj_qkv.weight", 2, {CHANNELS, HIDDEN}},
    {"linear_attn.in_proj_z.weight", 2, {DELTA_VALUE, HIDDEN}},
    {"linear_attn.in_proj_b.weight", 2, {DELTA_HEADS, HIDDEN}},
    {"linear_attn.in_proj_a.weight", 2, {DELTA_HEADS, HIDDEN}},
    {"linear_attn.conv1d.weight", 3, {CHANNELS, ONE, TAPS}},
    {"linear_attn.A_log", 1, {DELTA_HEADS}},
    {"linear_attn.dt_bias", 1, {DELTA_HEADS}},
    {"linear_attn.norm.weight", 1, {DELTA_SIZE}},
    {"linear_attn.out_proj.weight", 2, {HIDDEN, DELTA_VALUE}},
};

static const table_row attention_rows[] = {
    {"self_attn.q_proj.weight", 2, {QUERY_GATE, HIDDEN}},
    {"self_attn.k_proj.weight", 2, {KEY_VALUE, HIDDEN}},
    {"self_attn.v_proj.weight", 2, {KEY_VALUE, HIDDEN}},
    {"self_attn.o_proj.weight", 2, {HIDDEN, QUERY}},
    {"self_attn.q_norm.weight", 1, {HEAD_SIZE}},
    {"self_attn.k_norm.weight", 1, {HEAD_SIZE}},
};

static const table_row vision_rows[] = {
    {"patch_embed.proj.weight", 5, {VISION, COLOURS, FRAMES, PATCH, PATCH}},
    {"patch_embed.proj.bias", 1, {VISION}},
    {"pos_embed.weight", 2, {POSITIONS, VISION}},
    {"merger.norm.weight", 1, {VISION}},
    {"merger.norm.bias", 1, {VISION}},
    {"merger.linear_fc1.weight", 2, {VISION_MERGED, VISION_MERGED}},
    {"merger.linear_fc1.bias", 1, {VISION_MERGED}},
    {"merger.linear_fc2.weight", 2, {HIDDEN, VISION_MERGED}},
    {"merger.linear_fc2.bias", 1, {HIDDEN}},
};

static const table_row vision_block_rows[] = {
    {"norm1.weight", 1, {VISION}},
    {"norm1.bias", 1, {VISION}},
    {"norm2.weight", 1, {VISION}},
    {"norm2.bias", 1, {VISION}},
    {"attn.qkv.weight", 2, {VISION_3, VISION}},
    {"attn.qkv.bias", 1, {VISION_3}},
    {"attn.proj.weight", 2, {VISION, VISION}},
    {"attn.proj.bias", 1, {VISION}},
    {"mlp.linear_fc1.weight", 2, {VISION_MIDDLE, VISION}},
    {"mlp.linear_fc1.bias", 1, {VISION_MIDDLE}},
    {"mlp.linear_fc2.weight", 2, {VISION, VISION_MIDDLE}},
    {"mlp.linear_fc2.bias", 1, {VISION}},
};

static const table_row head_rows[] = {
    {"hidden_norm.weight", 1, {HIDDEN}},
    {"hidden_norm.bias", 1, {HIDDEN}},
    {"memory_projection.weight", 2, {WIDTH, HIDDEN}},
    {"question_projection.weight", 2, {WIDTH, HIDDEN}},
    {"option_question_projection.weight", 2, {WIDTH, HIDDEN}},
    {"global_projection.weight", 2, {WIDTH, HIDDEN}},
    {"option_context_projection.weight", 2, {WIDTH, HIDDEN}},
    {"option_lexical_projection.weight", 2, {WIDTH, HIDDEN}},
    {"type_embedding.weight", 2, {TYPES, WIDTH}},
    {"option_summary_norm.weight", 1, {WIDTH}},
    {"option_summary_norm.bias", 1, {WIDTH}},
    {"field_norm.weight", 1, {WIDTH}},
    {"field_norm.bias", 1, {WIDTH}},
    {"option_norm.weight", 1, {WIDTH}},
    {"option_norm.bias", 1, {WIDTH}},
    {"residual_scorer.0.weight", 2, {WIDTH, WIDTH_4}},
    {"residual_scorer.0.bias", 1, {WIDTH}},
    {"residual_scorer.3.weight", 2, {ONE, WIDTH}},
    {"residual_scorer.3.bias", 1, {ONE}},
    {"prior_logit_scale", 0, {ONE}},
    {"joint_logit_scale", 0, {ONE}},
    {"residual_gate", 0, {ONE}},
};

#define ATTENTION_ROWS(prefix)                       \
    {prefix ".in_proj_weight", 2, {WIDTH_3, WIDTH}}, \
    {prefix ".in_proj_bias", 1, {WIDTH_3}},          \
    {prefix ".out_proj.weight", 2, {WIDTH, WIDTH}},  \
    {prefix ".out_proj.bias", 1, {WIDTH}}

static const table_row evidence_rows[] = {
    {"query_norm.weight", 1, {WIDTH}},
    {"query_norm.bias", 1, {WIDTH}},
    {"memory_norm.weight", 1, {WIDTH}},
    {"memory_norm.bias", 1, {WIDTH}},
    {"feedforward_norm.weight", 1, {WIDTH}},
    {"feedforward_norm.bias", 1, {WIDTH}},
    ATTENTION_ROWS("attention"),
    {"feedforward.0.weight", 2, {FORWARD, WIDTH}},
    {"feedforward.0.bias", 1, {FORWARD}},
    {"feedforward.3.weight", 2, {WIDTH, FORWARD}},
    {"feedforward.3.bias", 1, {WIDTH}},
};

static const table_row decoder_rows[] = {
    ATTENTION_ROWS("self_attn"),
    ATTENTION_ROWS("multihead_attn"),
    {"linear1.weight", 2, {FORWARD, WIDTH}},
    {"linear1.bias", 1, {FORWARD}},
    {"linear2.weight", 2, {WIDTH, FORWARD}},
    {"linear2.bias", 1, {WIDTH}},
    {"norm1.weight", 1, {WIDTH}},
    {"norm1.bias", 1, {WIDTH}},
    {"norm2.weight", 1, {WIDTH}},
    {"norm2.bias", 1, {WIDTH}},
    {"norm3.weight", 1, {WIDTH}},
    {"norm3.bias", 1, {WIDTH}},
};
/* clang-format on */

/* What stands before the local name of a part, around the layer's number where it has one. */
static const struct {
    const char *prefix;
    bool has_number;
} parts[] = {
    [CLEF_TENSOR_PART_TEXT] = {"model.language_model.", false},
    [CLEF_TENSOR_PART_LAYER] = {"model.language_model.layers.", true},
    [CLEF_TENSOR_PART_VISION] = {"model.visual.", false},
    [CLEF_TENSOR_PART_VISION_BLOCK] = {"model.visual.blocks.", true},
    [CLEF_TENSOR_PART_HEAD] = {"", false},
    [CLEF_TENSOR_PART_HEAD_EVIDENCE] = {"evidence_layers.", true},
    [CLEF_TENSOR_PART_HEAD_DECODER] = {"layers.", true},
};

clef_text clef_tensor_name(clef_tensor_part part, int32_t layer, const char *local, char *out,
                           size_t size) {
    const char *prefix = parts[part].prefix;
    const char *output = output_rows[0].local;
    if (part == CLEF_TENSOR_PART_TEXT && strncmp(local, output, strlen(output)) == 0) {
        prefix = ""; /* the output matrix (and its scales) belongs to the whole model */
    }
    int length = parts[part].has_number ? snprintf(out, size, "%s%d.%s", prefix, layer, local)
                                        : snprintf(out, size, "%s%s", prefix, local);
    return (clef_text){out, length < 0 || size == 0 ? 0
                            : (size_t)length < size ? (size_t)length
                                                    : size - 1};
}

/* ---- listing ---- */

typedef struct demand_list {
    const uint64_t *sizes; /* [DIMENSION_COUNT] */
    clef_arena *arena;
    clef_tensor_demand *items; /* NULL while only counting */
    size_t count;
    bool has_failed;
} demand_list;

static void add_rows(demand_list *list, clef_tensor_part part, int32_t layer, const table_row *rows,
                     size_t row_count) {
    for (size_t i = 0; i < row_count && list->items != NULL; i++) {
        char text[NAME_BYTES];
        clef_text name = clef_tensor_name(part, layer, rows[i].local, text, sizeof text);
        clef_tensor_demand *demand = &list->items[list->count + i];
        demand->name = clef_arena_copy(list->arena, name);
        list->has_failed = list->has_failed || demand->name.bytes == NULL;
        demand->local = clef_text_of(rows[i].local);
        demand->part = part;
        demand->layer = layer;
        demand->rank = rows[i].rank;
        for (unsigned j = 0; j < rows[i].rank; j++) {
            demand->shape[j] = list->sizes[rows[i].shape[j]];
        }
    }
    list->count += row_count;
}

#define ADD(list, part, layer, rows) add_rows(list, part, layer, rows, ROW_COUNT(rows))

/* The order of the binder and of messages: what is not of a layer first. */
static void add_backbone(demand_list *list, const clef_config *config) {
    ADD(list, CLEF_TENSOR_PART_TEXT, -1, text_rows);
    if (!config->has_tied_embeddings) {
        ADD(list, CLEF_TENSOR_PART_TEXT, -1, output_rows);
    }
    for (uint32_t i = 0; i < config->layer_count; i++) {
        ADD(list, CLEF_TENSOR_PART_LAYER, (int32_t)i, layer_rows);
        if (config->is_full_attention[i]) {
            ADD(list, CLEF_TENSOR_PART_LAYER, (int32_t)i, attention_rows);
        } else {
            ADD(list, CLEF_TENSOR_PART_LAYER, (int32_t)i, delta_rows);
        }
    }
    if (config->has_vision) {
        ADD(list, CLEF_TENSOR_PART_VISION, -1, vision_rows);
        for (uint32_t i = 0; i < config->vision.depth; i++) {
            ADD(list, CLEF_TENSOR_PART_VISION_BLOCK, (int32_t)i, vision_block_rows);
        }
    }
}

static void add_head(demand_list *list, const clef_head_config *head) {
    ADD(list, CLEF_TENSOR_PART_HEAD, -1, head_rows);
    for (uint32_t i = 0; i < head->evidence_layer_count; i++) {
        ADD(list, CLEF_TENSOR_PART_HEAD_EVIDENCE, (int32_t)i, evidence_rows);
    }
    for (uint32_t i = 0; i < head->decoder_layer_count; i++) {
        ADD(list, CLEF_TENSOR_PART_HEAD_DECODER, (int32_t)i, decoder_rows);
    }
}

/* Values of the dimensions. No product overflows: the configuration bounds each. */
static void measure_dimensions(const clef_config *config, const clef_head_config *head,
                               uint64_t sizes[DIMENSION_COUNT]) {
    const clef_vision_config *vision = &config->vision;
    sizes[HIDDEN] = config->hidden_size;
    sizes[MIDDLE] = config->intermediate_size;
    sizes[VOCABULARY] = config->vocabulary_size;
    sizes[QUERY] = (uint64_t)config->attention_head_count * config->head_size;
    sizes[QUERY_GATE] = 2 * sizes[QUERY];
    sizes[KEY_VALUE] = (uint64_t)config->key_value_head_count * config->head_size;
    sizes[HEAD_SIZE] = config->head_size;
    sizes[CHANNELS] = config->delta_channel_count;
    sizes[DELTA_VALUE] = (uint64_t)config->delta_value_head_count * config->delta_value_size;
    sizes[DELTA_HEADS] = config->delta_value_head_count;
    sizes[DELTA_SIZE] = config->delta_value_size;
    sizes[TAPS] = config->convolution_taps;
    sizes[VISION] = vision->hidden_size;
    sizes[VISION_3] = 3 * (uint64_t)vision->hidden_size;
    sizes[VISION_MERGED] =
        (uint64_t)vision->spatial_merge_size * vision->spatial_merge_size * vision->hidden_size;
    sizes[VISION_MIDDLE] = vision->intermediate_size;
    sizes[POSITIONS] = vision->position_count;
    sizes[COLOURS] = vision->in_channels;
    sizes[FRAMES] = vision->temporal_patch_size;
    sizes[PATCH] = vision->patch_size;
    sizes[WIDTH] = head == NULL ? 0 : head->width;
    sizes[WIDTH_3] = 3 * sizes[WIDTH];
    sizes[WIDTH_4] = 4 * sizes[WIDTH];
    sizes[FORWARD] = head == NULL ? 0 : head->feedforward_size;
    sizes[TYPES] = 3;
    sizes[ONE] = 1;
}

clef_status clef_tensor_demands_list(const clef_config *config, const clef_head_config *head,
                                     clef_arena *arena, clef_tensor_demands *demands,
                                     clef_error *error) {
    *demands = (clef_tensor_demands){0};
    uint64_t sizes[DIMENSION_COUNT];
    measure_dimensions(config, head, sizes);
    demand_list list = {.sizes = sizes, .arena = arena};
    /* The first pass counts, the second fills. */
    for (int pass = 0; pass < 2; pass++) {
        size_t wanted = list.count;
        list.count = 0;
        if (pass == 1) {
            list.items = clef_arena_allocate(arena, wanted, sizeof *list.items);
            list.has_failed = list.items == NULL;
        }
        add_backbone(&list, config);
        if (head != NULL) {
            add_head(&list, head);
        }
    }
    if (list.has_failed) {
        return clef_fail_memory(error, list.count * sizeof *list.items, "the list of tensors");
    }
    demands->items = list.items;
    demands->count = list.count;
    return CLEF_OK;
}

uint64_t clef_tensor_demands_parameters(const clef_tensor_demands *demands, bool of_head) {
    uint64_t total = 0;
    for (size_t i = 0; i < demands->count; i++) {
        const clef_tensor_demand *demand = &demands->items[i];
        if (clef_tensor_demand_is_of_head(demand) != of_head) {
            continue;
        }
        uint64_t elements = 1;
        for (unsigned j = 0; j < demand->rank; j++) {
            elements *= demand->shape[j];
        }
        total += elements;
    }
    return total;
}

size_t clef_quantised_group(size_t columns, size_t groups) {
    const size_t candidates[] = {32, 64, columns};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if ((columns + candidates[i] - 1) / candidates[i] == groups) {
            return candidates[i];
        }
    }
    return 0;
}
