/* Attention of the joint head. Keys come in blocks of the grid with a running softmax, so no matrix
 * of options by tokens is ever stored and a block boundary is always at the same token. */
#include "model/head_attention.h"

#include <math.h>

clef_matrix clef_head_matrix(clef_head_run *run, size_t rows, size_t columns) {
    size_t stride = (columns + 15) / 16 * 16;
    float *data = NULL;
    if (run->status == CLEF_OK) {
        data = clef_arena_allocate(&run->arena, rows * stride, sizeof *data);
        if (data == NULL) {
            run->status = clef_fail_memory(run->error, rows * stride * sizeof *data,
                                           "the joint head's activations");
        }
    }
    return (clef_matrix){data, rows, columns, stride};
}

void clef_head_prepare(clef_head_run *run, size_t rows) {
    const clef_head_config *config = &run->network->head_config;
    size_t width = config->width;
    size_t tile = run->token_count < CLEF_HEAD_TILE ? run->token_count : CLEF_HEAD_TILE;
    size_t expanded = config->feedforward_size > width ? config->feedforward_size : width;
    run->memory = clef_head_matrix(run, tile, width);
    run->keys = clef_head_matrix(run, tile, 2 * width);
    run->projected = clef_head_matrix(run, rows, 3 * width);
    run->total = clef_head_matrix(run, rows, width);
    run->expanded = clef_head_matrix(run, rows, expanded);
    run->maximum = clef_head_matrix(run, rows, config->head_count).data;
    run->sum = clef_head_matrix(run, rows, config->head_count).data;
}

/* Rows [first, first + rows) of a stacked projection with their bias: thirds are query, key, value.
 */
static void project(clef_head_run *run, const clef_affine *in, size_t third, size_t thirds,
                    clef_matrix x, clef_matrix out) {
    size_t width = run->network->head_config.width;
    clef_linear(run->backend, x, clef_weight_rows(in->weight, third * width, thirds * width),
                in->bias + third * width, out);
}

static clef_attention_state begin_attention(clef_head_run *run, size_t rows) {
    clef_attention_state state = {
        .maximum = run->maximum,
        .sum = run->sum,
        .total = clef_matrix_heads(clef_matrix_rows(run->total, 0, rows),
                                   run->network->head_config.head_count),
    };
    run->backend->operations->attend_begin(run->backend, state);
    return state;
}

/* Keys and values [rows, W] in blocks of the grid. */
static void attend_rows(clef_head_run *run, clef_matrix query, clef_matrix key, clef_matrix value,
                        clef_attention_state state) {
    size_t heads = run->network->head_config.head_count;
    float scale = 1.0f / sqrtf((float)(query.columns / heads));
    for (size_t first = 0; first < key.rows; first += CLEF_GRID) {
        size_t left = key.rows - first;
        size_t rows = left < CLEF_GRID ? left : CLEF_GRID;
        run->backend->operations->attend_block(
            run->backend, clef_matrix_heads(query, heads),
            clef_matrix_heads(clef_matrix_rows(key, first, rows), heads),
            clef_matrix_heads(clef_matrix_rows(value, first, rows), heads), scale, state);
    }
}

static void end_attention(clef_head_run *run, const clef_affine *out_weights,
                          clef_attention_state state, clef_matrix out) {
    size_t heads = run->network->head_config.head_count;
    clef_matrix total = clef_matrix_rows(run->total, 0, out.rows);
    run->backend->operations->attend_end(run->backend, state, clef_matrix_heads(total, heads));
    clef_linear(run->backend, total, out_weights->weight, out_weights->bias, out);
}

void clef_head_attend_memory(clef_head_run *run, const clef_head_attention_weights *weights,
                             clef_matrix queries, const clef_layer_norm_weights *norm,
                             clef_matrix out) {
    const clef_operations *op = run->backend->operations;
    size_t width = run->network->head_config.width;
    clef_matrix query =
        clef_matrix_rows(clef_matrix_columns(run->projected, 0, width), 0, queries.rows);
    project(run, &weights->in, 0, 1, queries, query);
    clef_attention_state state = begin_attention(run, queries.rows);
    for (size_t first = 0; first < run->token_count; first += CLEF_HEAD_TILE) {
        size_t left = run->token_count - first;
        size_t rows = left < CLEF_HEAD_TILE ? left : CLEF_HEAD_TILE;
        clef_matrix memory = clef_matrix_rows(run->memory, 0, rows);
        clef_matrix both = clef_matrix_rows(run->keys, 0, rows);
        op->load_rows(run->backend, run->pages, first, run->network->layout.memory_offset, memory);
        if (norm != NULL) {
            op->layer_norm(run->backend, memory, norm->weight, norm->bias, 1e-5f, memory);
        }
        project(run, &weights->in, 1, 2, memory, both);
        attend_rows(run, query, clef_matrix_columns(both, 0, width),
                    clef_matrix_columns(both, width, width), state);
    }
    end_attention(run, &weights->out, state, out);
}

void clef_head_attend_self(clef_head_run *run, const clef_head_attention_weights *weights,
                           clef_matrix x, clef_matrix out) {
    size_t width = run->network->head_config.width;
    clef_matrix all = clef_matrix_rows(run->projected, 0, x.rows);
    project(run, &weights->in, 0, 3, x, all);
    clef_attention_state state = begin_attention(run, x.rows);
    attend_rows(run, clef_matrix_columns(all, 0, width), clef_matrix_columns(all, width, width),
                clef_matrix_columns(all, 2 * width, width), state);
    end_attention(run, &weights->out, state, out);
}

void clef_head_feed_forward(clef_head_run *run, const clef_affine *expand,
                            const clef_affine *contract, clef_matrix x, clef_matrix out) {
    const clef_operations *op = run->backend->operations;
    clef_matrix expanded =
        clef_matrix_columns(clef_matrix_rows(run->expanded, 0, x.rows), 0, expand->weight.rows);
    clef_linear(run->backend, x, expand->weight, expand->bias, expanded);
    op->gelu(run->backend, expanded);
    clef_linear(run->backend, expanded, contract->weight, contract->bias, out);
}
