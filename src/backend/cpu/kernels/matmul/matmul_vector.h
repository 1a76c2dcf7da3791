/* Matrix product on vectors: the body of matmul_<level>.c, behind that level's vector_<level>.h.
 *
 * A panel of 2·LANES weight rows is widened and transposed into scratch, [k][2·LANES], once for all
 * rows of the step. A tile holds TILE_ROWS × 2 vectors of sums, reads two vectors of the panel a k
 * and broadcasts one input a row: enough independent chains to hide the latency of the fused
 * multiply-add. */

#include "backend/cpu/kernels/matmul/matmul_outputs.h"

/* panel[k][WIDE] from weight rows first … first + WIDE - 1; zeros behind the last row. */
static void unpack_panel(clef_weight weight, size_t first, size_t k_begin, size_t k_count,
                         float *panel) {
    size_t row_bytes = clef_weight_row_bytes(weight);
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t k = 0; k < k_count; k += LANES) {
            vec square[LANES];
            size_t left = k_count - k;
            for (size_t i = 0; i < LANES; i++) {
                size_t row = first + n + i;
                const char *data = (const char *)weight.data + row * row_bytes;
                square[i] = row < weight.rows
                                ? vec_load_weights(weight.dtype, data, k_begin + k, left)
                                : vec_zero();
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES && i < left; i++) {
                vec_store(panel + (k + i) * WIDE + n, square[i]);
            }
        }
    }
}

typedef struct tile {
    const float *x; /* first row, at the block's first k */
    size_t x_stride;
    const float *panel;
    size_t k_count;
    tile_outputs out;
} tile;

/* `rows` is a constant where this is inlined, so the sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        low[r] = vec_zero();
        high[r] = vec_zero();
    }
    const float *panel = t->panel;
    const float *x = t->x;
    size_t stride = t->x_stride;
    for (size_t k = 0; k < t->k_count; k++) {
        vec w_low = vec_load(panel);
        vec w_high = vec_load(panel + LANES);
        panel += WIDE;
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            vec input = vec_set(x[r * stride + k]);
            low[r] = vec_fma(input, w_low, low[r]);
            high[r] = vec_fma(input, w_high, high[r]);
        }
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        finish_row(&t->out, r, low[r], high[r]);
    }
}

/* Tails of the rows: at most three sizes of tile, the same additions in each. */
static void multiply_rows(tile *t, const clef_matmul *product, size_t first, size_t k) {
    size_t row = 0;
    size_t rows = product->x.rows;
    while (row < rows) {
        t->x = product->x.data + row * t->x_stride + k;
        t->out.y = product->y.data + row * t->out.y_stride + first;
        if (rows - row >= TILE_ROWS) {
            multiply_tile(t, TILE_ROWS);
            row += TILE_ROWS;
        } else if (rows - row >= 4) {
            multiply_tile(t, 4);
            row += 4;
        } else {
            multiply_tile(t, 1);
            row += 1;
        }
    }
}

static void multiply(const clef_matmul *product, size_t begin, size_t end, float *panel) {
    size_t depth = product->weight.columns;
    for (size_t k = 0; k < depth; k += CLEF_MATMUL_BLOCK) {
        size_t k_count = depth - k < CLEF_MATMUL_BLOCK ? depth - k : CLEF_MATMUL_BLOCK;
        bool is_last = k + k_count == depth;
        for (size_t first = begin; first < end; first += WIDE) {
            unpack_panel(product->weight, first, k, k_count, panel);
            tile t = {.x_stride = product->x.stride,
                      .panel = panel,
                      .k_count = k_count,
                      .out = outputs_of(product, first, end, k, is_last)};
            multiply_rows(&t, product, first, k);
        }
    }
}
