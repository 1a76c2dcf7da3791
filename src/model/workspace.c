/* The sum of the widest block and the matrices that live through a step. The columns counted here
 * are those the blocks take (attention_block.c, delta_block.c, feed_forward.c, joint_head.c). */
#include "model/workspace.h"

#include "base/memory.h"
#include "base/size.h"

static size_t attention_columns(const clef_config *c) {
    size_t query = (size_t)c->attention_head_count * c->head_size;
    size_t key = (size_t)c->key_value_head_count * c->head_size;
    return 2 * query + 2 * key + 2 * query; /* query with gate; key, value; rotated query, output */
}

static size_t delta_columns(const clef_config *c) {
    size_t value = (size_t)c->delta_value_head_count * c->delta_value_size;
    return 2 * (size_t)c->delta_channel_count + 2 * value + 2 * (size_t)c->delta_value_head_count;
}

static size_t block_columns(const clef_network *network) {
    const clef_config *c = &network->config;
    size_t columns = clef_size_larger(attention_columns(c), delta_columns(c));
    columns = clef_size_larger(columns, 2 * (size_t)c->intermediate_size);
    size_t observed = network->has_head ? c->hidden_size + network->head_config.width : 0;
    return clef_size_larger(columns, observed) +
           8 * 32; /* what clef_padded_stride adds to every matrix */
}

static size_t step_columns(const clef_config *c) {
    return 3 * ((size_t)c->hidden_size + 32) + (size_t)c->rotary_size + 2 * 32;
}

size_t clef_workspace_floats(const clef_network *network, size_t row_limit) {
    return row_limit * (step_columns(&network->config) + block_columns(network));
}

static clef_matrix place(float **next, size_t rows, size_t columns) {
    size_t stride = clef_padded_stride(columns);
    clef_matrix matrix = {*next, rows, columns, stride};
    *next += rows * stride;
    return matrix;
}

clef_status clef_workspace_create(const clef_network *network, size_t row_limit,
                                  clef_workspace *workspace, clef_error *error) {
    size_t hidden = network->config.hidden_size;
    size_t half = network->config.rotary_size / 2;
    *workspace = (clef_workspace){.row_limit = row_limit,
                                  .float_count = clef_workspace_floats(network, row_limit)};
    workspace->floats = clef_allocate_aligned(workspace->float_count, sizeof(float));
    if (workspace->floats == NULL) {
        return clef_fail_memory(error, workspace->float_count * sizeof(float),
                                "the activations of a step");
    }
    float *next = workspace->floats;
    workspace->hidden = place(&next, row_limit, hidden);
    workspace->normed = place(&next, row_limit, hidden);
    workspace->mixed = place(&next, row_limit, hidden);
    workspace->cosine = place(&next, row_limit, half);
    workspace->sine = place(&next, row_limit, half);
    workspace->block = next;
    return CLEF_OK;
}

void clef_workspace_release(clef_workspace *workspace) {
    clef_release(workspace->floats);
    *workspace = (clef_workspace){0};
}

void clef_workspace_begin_block(clef_workspace *workspace) {
    workspace->block_used = 0;
}

clef_matrix clef_workspace_take(clef_workspace *workspace, size_t rows, size_t columns) {
    float *next = workspace->block + workspace->block_used;
    clef_matrix matrix = place(&next, rows, columns);
    workspace->block_used = (size_t)(next - workspace->block);
    return matrix;
}
