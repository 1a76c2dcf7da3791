/* Small fp32 matrix products on vectors, for kernels that work in cache: included behind a level's
 * vector_<level>.h. Every output is one chain of fused multiply-adds, k upward, so the tile that
 * computed it cannot show. */
#ifndef CLEF_KERNELS_VECTOR_PRODUCT_H
#define CLEF_KERNELS_VECTOR_PRODUCT_H

#include <stdbool.h>

/* c[m, n] = start + sign·Σ_k a[m, k]·b[k, n]; a[m, k] at a + m·a_row + k·a_column; b and c dense
 * along n. start is c itself or 0. */
typedef struct vec_product {
    const float *a;
    size_t a_row, a_column;
    const float *b;
    size_t b_row;
    float *c;
    size_t c_row;
    size_t rows, depth, columns;
    bool adds;      /* start from c */
    bool subtracts; /* sign -1 */
} vec_product;

/* `rows` is a constant where this is inlined, so the sums stay in registers. Two vectors wide. */
static inline __attribute__((always_inline)) void vec_product_tile(const vec_product *p, size_t m,
                                                                   size_t n, const size_t rows) {
    vec low[TILE_ROWS], high[TILE_ROWS];
    size_t left = p->columns - n;
    vec_mask low_mask = vec_first(left);
    vec_mask high_mask = vec_first(left > LANES ? left - LANES : 0);
    float *c = p->c + m * p->c_row + n;
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        low[r] = p->adds ? vec_load_mask(low_mask, c + r * p->c_row) : vec_zero();
        high[r] = p->adds ? vec_load_mask(high_mask, c + r * p->c_row + LANES) : vec_zero();
    }
    const float *a = p->a + m * p->a_row;
    const float *b = p->b + n;
    for (size_t k = 0; k < p->depth; k++) {
        vec b_low = vec_load_mask(low_mask, b);
        vec b_high = vec_load_mask(high_mask, b + LANES);
        b += p->b_row;
        if (p->subtracts) {
#pragma GCC unroll 12
            for (size_t r = 0; r < rows; r++) {
                vec factor = vec_set(a[r * p->a_row]);
                low[r] = vec_fnma(factor, b_low, low[r]);
                high[r] = vec_fnma(factor, b_high, high[r]);
            }
        } else {
#pragma GCC unroll 12
            for (size_t r = 0; r < rows; r++) {
                vec factor = vec_set(a[r * p->a_row]);
                low[r] = vec_fma(factor, b_low, low[r]);
                high[r] = vec_fma(factor, b_high, high[r]);
            }
        }
        a += p->a_column;
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        vec_store_mask(low_mask, c + r * p->c_row, low[r]);
        vec_store_mask(high_mask, c + r * p->c_row + LANES, high[r]);
    }
}

static void vec_multiply(const vec_product *p) {
    for (size_t n = 0; n < p->columns; n += 2 * LANES) {
        size_t m = 0;
        for (; m + TILE_ROWS <= p->rows; m += TILE_ROWS) {
            vec_product_tile(p, m, n, TILE_ROWS);
        }
        for (; m + 4 <= p->rows; m += 4) {
            vec_product_tile(p, m, n, 4);
        }
        for (; m < p->rows; m++) {
            vec_product_tile(p, m, n, 1);
        }
    }
}

/* out[c, r] = in[r, c] for rows × columns; out has `out_row` floats a row and is written up to the
 * next multiple of LANES of rows, with zeros. */
static void vec_transpose_matrix(const float *in, size_t in_row, size_t rows, size_t columns,
                                 float *out, size_t out_row) {
    for (size_t r = 0; r < rows; r += LANES) {
        for (size_t c = 0; c < columns; c += LANES) {
            vec square[LANES];
            vec_mask mask = vec_first(columns - c);
            for (size_t i = 0; i < LANES; i++) {
                square[i] =
                    r + i < rows ? vec_load_mask(mask, in + (r + i) * in_row + c) : vec_zero();
            }
            vec_transpose(square);
            size_t count = columns - c < LANES ? columns - c : LANES;
            for (size_t i = 0; i < count; i++) {
                vec_store(out + (c + i) * out_row + r, square[i]);
            }
        }
    }
}

#endif
