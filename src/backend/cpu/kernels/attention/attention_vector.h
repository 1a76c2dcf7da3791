/* Attention over one block of keys on vectors: the body of attention_<level>.c, behind that level's
 * vector_<level>.h.
 *
 * The block's keys are transposed once for all rows and heads. Then tiles of rows: scores as a
 * product with the transposed keys, one pass for maximum, exponentials and sum, values as a second
 * product. */
#include "backend/cpu/kernels/vector/vector_math.h"
#include "backend/cpu/kernels/vector/vector_product.h"

#include <math.h>

#define KEYS 64

/* Keys that row `row` sees. */
static size_t visible_keys(const clef_attention_block *block, size_t row) {
    ptrdiff_t visible = block->visible + (ptrdiff_t)row * block->visible_step;
    if (visible <= 0) {
        return 0;
    }
    return (size_t)visible < block->keys ? (size_t)visible : block->keys;
}

/* Scores of one row become weights e^{s - m'}, zeros behind the visible ones; returns what the sums
 * so far must be multiplied by. */
static float weigh_row(const clef_attention_block *block, size_t visible, float *scores,
                       float *maximum, float *sum) {
    vec scale = vec_set(block->scale);
    vec highest = vec_set(*maximum);
    for (size_t j = 0; j < visible; j += LANES) {
        vec score = vec_mul(vec_load(scores + j), scale);
        score = vec_select(vec_first(visible - j), score, vec_set(-INFINITY));
        vec_store(scores + j, score);
        highest = vec_max(highest, score);
    }
    float top = vec_highest(highest);
    vec added = vec_zero();
    for (size_t j = 0; j < KEYS; j += LANES) {
        vec weight = vec_zero();
        if (j < visible) {
            weight = vec_exp(vec_sub(vec_load(scores + j), vec_set(top)));
        }
        vec_store(scores + j, weight);
        added = vec_add(added, weight);
    }
    float first[LANES];
    vec_store(first, vec_exp(vec_set(*maximum - top)));
    *sum = *sum * first[0] + vec_sum(added);
    *maximum = top;
    return first[0];
}

/* Rows [row, row + rows) of one head. */
static void attend_rows(const clef_attention_block *block, size_t head, size_t row, size_t rows,
                        const float *key_column) {
    float scores[TILE_ROWS * KEYS];
    size_t most = visible_keys(block, row + rows - 1);
    if (most == 0) {
        return;
    }
    vec_multiply(&(vec_product){.a = block->query + row * block->query_row_stride +
                                     head * block->query_head_stride,
                                .a_row = block->query_row_stride,
                                .a_column = 1,
                                .b = key_column,
                                .b_row = KEYS,
                                .c = scores,
                                .c_row = KEYS,
                                .rows = rows,
                                .depth = block->size,
                                .columns = KEYS});
    float *total = block->total + row * block->total_row_stride + head * block->total_head_stride;
    for (size_t r = 0; r < rows; r++) {
        size_t visible = visible_keys(block, row + r);
        size_t state = (row + r) * block->state_stride + head;
        if (visible == 0) {
            memset(scores + r * KEYS, 0, KEYS * sizeof *scores);
            continue;
        }
        float correction = weigh_row(block, visible, scores + r * KEYS, block->maximum + state,
                                     block->sum + state);
        vec factor = vec_set(correction);
        float *sums = total + r * block->total_row_stride;
        for (size_t n = 0; n < block->size; n += LANES) {
            vec_mask mask = vec_first(block->size - n);
            vec_store_mask(mask, sums + n, vec_mul(factor, vec_load_mask(mask, sums + n)));
        }
    }
    vec_multiply(&(vec_product){.a = scores,
                                .a_row = KEYS,
                                .a_column = 1,
                                .b = block->value,
                                .b_row = block->key_stride,
                                .c = total,
                                .c_row = block->total_row_stride,
                                .rows = rows,
                                .depth = most,
                                .columns = block->size,
                                .adds = true});
}

static void attend_block(const clef_attention_block *block, float *scratch) {
    size_t known = visible_keys(block, block->rows - 1);
    vec_transpose_matrix(block->key, block->key_stride, known, block->size, scratch, KEYS);
    for (size_t head = 0; head < block->heads; head++) {
        for (size_t row = 0; row < block->rows; row += TILE_ROWS) {
            size_t left = block->rows - row;
            attend_rows(block, head, row, left < TILE_ROWS ? left : TILE_ROWS, scratch);
        }
    }
}
