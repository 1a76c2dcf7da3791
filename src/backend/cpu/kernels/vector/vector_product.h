/* Small fp32 matrix products on vectors, for kernels that work in cache: included behind a level's
 * vector_<level>.h. Every output is one chain of fused multiply-adds, k upward, so the tile that
 * computed it cannot show. */
#ifndef CLEF_KERNELS_VECTOR_PRODUCT_H
#define CLEF_KERNELS_VECTOR_PRODUCT_H

#include <stdbool.h>

/* c[m, n] = start + sign·Σ_k a[m, k]·b[k, n]; a[m, k] at a + m·a_row + k·a_column; b and c dense
 * along n. start is c itself, a factor times c, or 0. */
typedef struct vec_product {
    const float *a;
    size_t a_row, a_column;
    const float *b;
    size_t b_row;
    float *c;
    size_t c_row;
    size_t rows, depth, columns;
    bool adds;           /* start from c */
    const float *factor; /* of c, or NULL: 1 */
    bool subtracts;      /* sign -1 */
} vec_product;

/* Two vectors of a row, of which `columns` numbers exist; WHOLE: all. Masked stores take some
 * processors many times as long as plain ones. */
typedef struct vec_columns {
    bool is_whole;
    vec_mask low, high;
} vec_columns;

static inline vec vec_load_low(const vec_columns *columns, const float *from) {
    return columns->is_whole ? vec_load(from) : vec_load_mask(columns->low, from);
}

static inline vec vec_load_high(const vec_columns *columns, const float *from) {
    return columns->is_whole ? vec_load(from + LANES) : vec_load_mask(columns->high, from + LANES);
}

/* `rows` and the structure's flags are constants where this is inlined, so that the sums stay in
 * registers. Two vectors wide. */
static inline __attribute__((always_inline)) void
vec_product_tile(const vec_product *p, size_t m, size_t n, const vec_columns columns,
                 const bool subtracts, const size_t rows) {
    vec low[TILE_ROWS], high[TILE_ROWS];
    float *c = p->c + m * p->c_row + n;
    vec start = vec_set(!p->adds ? 0 : p->factor == NULL ? 1 : *p->factor);
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        low[r] = p->adds ? vec_mul(start, vec_load_low(&columns, c + r * p->c_row)) : start;
        high[r] = p->adds ? vec_mul(start, vec_load_high(&columns, c + r * p->c_row)) : start;
    }
    const float *a = p->a + m * p->a_row;
    const float *b = p->b + n;
    size_t a_row = p->a_row, a_column = p->a_column, b_row = p->b_row;
    for (size_t k = p->depth; k > 0; k--) {
        vec b_low = vec_load_low(&columns, b);
        vec b_high = vec_load_high(&columns, b);
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            vec factor = vec_set(a[r * a_row]);
            low[r] = subtracts ? vec_fnma(factor, b_low, low[r]) : vec_fma(factor, b_low, low[r]);
            high[r] =
                subtracts ? vec_fnma(factor, b_high, high[r]) : vec_fma(factor, b_high, high[r]);
        }
        a += a_column;
        b += b_row;
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        float *to = c + r * p->c_row;
        if (columns.is_whole) {
            vec_store(to, low[r]);
            vec_store(to + LANES, high[r]);
        } else {
            vec_store_mask(columns.low, to, low[r]);
            vec_store_mask(columns.high, to + LANES, high[r]);
        }
    }
}

/* Functions of their own: with others around them the sums lose their registers. */
#define VEC_WHOLE ((vec_columns){.is_whole = true})
static __attribute__((noinline)) void vec_add_tile(const vec_product *p, size_t m, size_t n) {
    vec_product_tile(p, m, n, VEC_WHOLE, false, TILE_ROWS);
}

static __attribute__((noinline)) void vec_subtract_tile(const vec_product *p, size_t m, size_t n) {
    vec_product_tile(p, m, n, VEC_WHOLE, true, TILE_ROWS);
}

/* Four rows, or one. */
static __attribute__((noinline)) void vec_few_rows(const vec_product *p, size_t m, size_t n,
                                                   size_t rows) {
    if (rows == 4 && p->subtracts) {
        vec_product_tile(p, m, n, VEC_WHOLE, true, 4);
    } else if (rows == 4) {
        vec_product_tile(p, m, n, VEC_WHOLE, false, 4);
    } else {
        vec_product_tile(p, m, n, VEC_WHOLE, p->subtracts, 1);
    }
}

/* Less than two vectors of columns. */
static __attribute__((noinline)) void vec_edge_rows(const vec_product *p, size_t m, size_t n,
                                                    size_t rows) {
    size_t left = p->columns - n;
    vec_columns columns = {.low = vec_first(left),
                           .high = vec_first(left > LANES ? left - LANES : 0)};
    if (rows == 4) {
        vec_product_tile(p, m, n, columns, p->subtracts, 4);
    } else {
        vec_product_tile(p, m, n, columns, p->subtracts, 1);
    }
}

/* One row and WIDE_VECTORS vectors: b is read as it lies, and the sums do not wait for each other.
 */
#define WIDE_VECTORS 8
static __attribute__((noinline)) void vec_wide_row(const vec_product *p, size_t m, size_t n) {
    vec sum[WIDE_VECTORS];
    float *c = p->c + m * p->c_row + n;
    const float *a = p->a + m * p->a_row;
    const float *b = p->b + n;
    vec start = vec_set(!p->adds ? 0 : p->factor == NULL ? 1 : *p->factor);
#pragma GCC unroll 8
    for (size_t i = 0; i < WIDE_VECTORS; i++) {
        sum[i] = p->adds ? vec_mul(start, vec_load(c + i * LANES)) : start;
    }
    for (size_t k = p->depth; k > 0; k--) {
        vec factor = vec_set(p->subtracts ? -*a : *a);
#pragma GCC unroll 8
        for (size_t i = 0; i < WIDE_VECTORS; i++) {
            sum[i] = vec_fma(factor, vec_load(b + i * LANES), sum[i]);
        }
        a += p->a_column;
        b += p->b_row;
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < WIDE_VECTORS; i++) {
        vec_store(c + i * LANES, sum[i]);
    }
}

static void vec_multiply(const vec_product *p) {
    size_t wide = p->rows < 4 || p->depth == 1 ? p->columns / (WIDE_VECTORS * LANES) : 0;
    for (size_t m = 0; m < p->rows && wide > 0; m++) {
        for (size_t i = 0; i < wide; i++) {
            vec_wide_row(p, m, i * WIDE_VECTORS * LANES);
        }
    }
    for (size_t n = wide * WIDE_VECTORS * LANES; n < p->columns; n += 2 * LANES) {
        bool is_whole = p->columns - n >= 2 * LANES;
        size_t m = 0;
        for (; is_whole && m + TILE_ROWS <= p->rows; m += TILE_ROWS) {
            if (p->subtracts) {
                vec_subtract_tile(p, m, n);
            } else {
                vec_add_tile(p, m, n);
            }
        }
        while (m < p->rows) {
            size_t rows = p->rows - m >= 4 ? 4 : 1;
            if (is_whole) {
                vec_few_rows(p, m, n, rows);
            } else {
                vec_edge_rows(p, m, n, rows);
            }
            m += rows;
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
