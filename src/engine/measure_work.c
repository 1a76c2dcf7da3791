/* The formulas of clef_measured, and the one table from operations to parts. */
#include "engine/measure_work.h"

typedef struct matrix_sum {
    double weights; /* elements */
    double bytes;
} matrix_sum;

static void add_matrix(matrix_sum *sum, clef_weight weight) {
    sum->weights += (double)weight.rows * (double)weight.columns;
    sum->bytes += (double)weight.rows * (double)(clef_weight_row_bytes(weight) +
                                                 clef_weight_groups(weight) * sizeof(float));
}

static void add_layer(matrix_sum *sum, const clef_layer_weights *layer) {
    add_matrix(sum, layer->gate);
    add_matrix(sum, layer->up);
    add_matrix(sum, layer->down);
    if (layer->is_full_attention) {
        add_matrix(sum, layer->attention.query);
        add_matrix(sum, layer->attention.key);
        add_matrix(sum, layer->attention.value);
        add_matrix(sum, layer->attention.out);
    } else {
        add_matrix(sum, layer->delta.qkv);
        add_matrix(sum, layer->delta.z);
        add_matrix(sum, layer->delta.b);
        add_matrix(sum, layer->delta.a);
        add_matrix(sum, layer->delta.out);
    }
}

clef_measured clef_measured_work(const clef_network *network, size_t sequences, size_t tokens) {
    const clef_config *c = &network->config;
    double rows = (double)sequences * (double)tokens;
    double pairs = (double)sequences * (double)tokens * ((double)tokens + 1) / 2;
    double full_layers = 0;
    matrix_sum sum = {0};
    for (uint32_t i = 0; i < c->layer_count; i++) {
        add_layer(&sum, &network->layers[i]);
        full_layers += network->layers[i].is_full_attention ? 1 : 0;
    }
    double delta_layers = c->layer_count - full_layers;
    return (clef_measured){
        .token_count = (uint64_t)sequences * tokens,
        .matrix_operations = 2 * sum.weights * rows,
        .delta_operations = 7.0 * c->delta_key_size * c->delta_value_size *
                            c->delta_value_head_count * delta_layers * rows,
        .attention_operations = 4.0 * c->head_size * c->attention_head_count * full_layers * pairs,
        .weight_bytes = sum.bytes,
    };
}

clef_measured clef_measured_vision_work(const clef_network *network, size_t patches) {
    const clef_vision_config *c = &network->config.vision;
    const clef_vision_weights *vision = &network->vision;
    size_t cell = (size_t)c->spatial_merge_size * c->spatial_merge_size;
    matrix_sum patch = {0}, merger = {0};
    add_matrix(&patch, vision->patch.weight);
    for (uint32_t i = 0; i < c->depth; i++) {
        add_matrix(&patch, vision->blocks[i].qkv.weight);
        add_matrix(&patch, vision->blocks[i].out.weight);
        add_matrix(&patch, vision->blocks[i].expand.weight);
        add_matrix(&patch, vision->blocks[i].contract.weight);
    }
    add_matrix(&merger, vision->merger_expand.weight);
    add_matrix(&merger, vision->merger_contract.weight);
    return (clef_measured){
        .token_count = patches / cell,
        .matrix_operations =
            2 * (patch.weights * (double)patches + merger.weights * (double)(patches / cell)),
        .attention_operations = 4.0 * c->hidden_size * c->depth * (double)patches * (double)patches,
        .weight_bytes = patch.bytes + merger.bytes,
    };
}

void clef_measured_split(clef_measured *measured, const clef_profile *profile) {
    static const struct {
        clef_profile_operation operation;
        clef_part part;
    } parts[] = {
        {CLEF_PROFILE_linear, CLEF_PART_MATRIX_PRODUCTS},
        {CLEF_PROFILE_short_convolution, CLEF_PART_DELTA_RULE},
        {CLEF_PROFILE_l2_norm, CLEF_PART_DELTA_RULE},
        {CLEF_PROFILE_delta_gates, CLEF_PART_DELTA_RULE},
        {CLEF_PROFILE_delta_rule, CLEF_PART_DELTA_RULE},
        {CLEF_PROFILE_gated_norm, CLEF_PART_DELTA_RULE},
        {CLEF_PROFILE_norm_rotate, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_store_rows, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_attention, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_sigmoid_gate, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_rotate, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_copy, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_attend_frames, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_round_frames, CLEF_PART_ATTENTION},
        {CLEF_PROFILE_attend_rounded_frames, CLEF_PART_ATTENTION},
    };
    uint64_t named = measured->part_ns[CLEF_PART_HEAD];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t nanoseconds = profile->nanoseconds[parts[i].operation];
        measured->part_ns[parts[i].part] += nanoseconds;
        named += nanoseconds;
    }
    measured->part_ns[CLEF_PART_REST] = measured->total_ns - named;
}
