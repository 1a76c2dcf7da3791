/* Matrix product of bfloat16 inputs and weights with the dot-product instruction: tiles of 12 rows
 * × 32 outputs; a panel holds pairs of weights along k, [k/2][32][2], so one instruction does two
 * multiply-adds for each of 16 outputs. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/matmul/matmul_panels.h"
#include "backend/cpu/kernels/matmul/matmul_stream.h"

#define DEPTH (2 * CLEF_MATMUL_BLOCK) /* of a panel: inputs are half as wide as fp32 */

_Static_assert(DEPTH / 2 * WIDE * sizeof(float) <= CLEF_MATMUL_SCRATCH, "a panel fits the scratch");

/* Sixteen pairs of one row from column k on as bits; zeros behind `count` columns. */
static inline vec load_pairs(clef_dtype dtype, const char *row, size_t k, size_t count) {
    if (dtype == CLEF_DTYPE_BF16) {
        return vec_load_pairs(row, k, count);
    }
    vec low = vec_load_weights(dtype, row, k, count);
    vec high = count > LANES ? vec_load_weights(dtype, row, k + LANES, count - LANES) : vec_zero();
    return _mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/* A square whose pairs are all there, stored as bfloat16: it never leaves the registers. */
static inline void unpack_whole(const char *const *rows, size_t k, float *panel) {
    vec square[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        square[i] = vec_load((const float *)(const void *)(rows[i] + k * sizeof(uint16_t)));
    }
    vec_transpose(square);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        vec_store(panel + i * WIDE, square[i]);
    }
}

static void unpack_square(clef_dtype dtype, const char *const *rows, size_t k, size_t count,
                          float *panel) {
    vec square[LANES];
    for (size_t i = 0; i < LANES; i++) {
        square[i] = load_pairs(dtype, rows[i], k, count);
    }
    vec_transpose(square);
    for (size_t i = 0; i < LANES && 2 * i < count; i++) {
        vec_store(panel + i * WIDE, square[i]);
    }
}

static void unpack_panel(const panel_step *step, float *panel) {
    clef_dtype dtype = step->product->weight.dtype;
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t k = 0; k < step->k_count; k += 2 * LANES) {
            size_t count = step->k_count - k;
            float *to = panel + k / 2 * WIDE + n;
            if (dtype == CLEF_DTYPE_BF16 && count >= 2 * LANES) {
                unpack_whole(step->weights + n, step->k + k, to);
            } else {
                unpack_square(dtype, step->weights + n, step->k + k, count, to);
            }
        }
    }
}

/* sum += the two products of each pair. Not the intrinsic: gcc 12 copies the sum for each use. */
static inline vec add_products(vec sum, vec weights, vec inputs) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(inputs));
    return sum;
}

/* The same with one pair for all. */
static inline vec add_products_of(vec sum, vec weights, const uint32_t *pair) {
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(weights), "m"(*pair));
    return sum;
}

static inline vec input_pair(const uint32_t *pair) {
    return _mm512_castsi512_ps(_mm512_set1_epi32((int)*pair));
}

typedef struct tile {
    const uint32_t *x; /* pairs of the first row, at the block's first k */
    size_t x_stride;   /* pairs */
    const float *panel;
    size_t pairs;
    tile_outputs out;
    size_t row; /* of the outputs */
} tile;

/* finish_rows for a whole tile whose outputs all exist, on sums in registers. */
static inline __attribute__((always_inline)) void
finish_whole(const tile_outputs *o, size_t row, vec low[TILE_ROWS], vec high[TILE_ROWS]) {
    float *y = o->y + row * o->y_stride;
    size_t stride = o->y_stride;
    if (!o->is_first) {
#pragma GCC unroll 12
        for (size_t r = 0; r < TILE_ROWS; r++) {
            low[r] = vec_add(vec_load(y + r * stride), low[r]);
            high[r] = vec_add(vec_load(y + r * stride + LANES), high[r]);
        }
    }
    if (o->bias != NULL) {
        vec low_bias = vec_load(o->bias);
        vec high_bias = vec_load(o->bias + LANES);
#pragma GCC unroll 12
        for (size_t r = 0; r < TILE_ROWS; r++) {
            low[r] = vec_add(low[r], low_bias);
            high[r] = vec_add(high[r], high_bias);
        }
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < TILE_ROWS; r++) {
        vec_store(y + r * stride, low[r]);
        vec_store(y + r * stride + LANES, high[r]);
    }
}

/* `rows` is a constant where this is inlined, so the sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        low[r] = vec_zero();
        high[r] = vec_zero();
    }
    const float *panel = t->panel;
    const uint32_t *x = t->x;
    size_t stride = t->x_stride;
    for (size_t k = 0; k < t->pairs; k++) {
        vec w_low = vec_load(panel);
        vec w_high = vec_load(panel + LANES);
        panel += WIDE;
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            vec input = input_pair(x + r * stride + k);
            low[r] = add_products(low[r], w_low, input);
            high[r] = add_products(high[r], w_high, input);
        }
    }
    if (rows == TILE_ROWS && t->out.is_whole) {
        finish_whole(&t->out, t->row, low, high);
        return;
    }
    vec sums[TILE_ROWS][2];
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        sums[r][0] = low[r];
        sums[r][1] = high[r];
    }
    finish_rows(&t->out, t->row, rows, sums);
}

/* A function of its own: with others around it the sums lose their registers. */
static __attribute__((noinline)) void multiply_whole(const tile *t) {
    multiply_tile(t, TILE_ROWS);
}

/* The last rows: the same additions in a smaller tile. */
static void multiply_tail(const tile *t, size_t rows) {
    TILE_OF_ROWS(rows, multiply_tile, t)
}

/* The blocks of one tile follow each other, so that its outputs stay in the first-level cache. */
static void multiply_blocks(const panel_step *step, tile *t, const float *panel) {
    const clef_rounded_rows *rounded = &step->product->rounded;
    const uint32_t *x =
        (const uint32_t *)rounded->values + (step->row + t->row) * t->x_stride + step->k / 2;
    for (size_t k = 0; k < step->k_count; k += CLEF_MATMUL_BLOCK) {
        t->x = x + k / 2;
        t->panel = panel + k / 2 * WIDE;
        t->pairs = (clef_size_smaller(CLEF_MATMUL_BLOCK, step->k_count - k) + 1) / 2;
        t->out = outputs_of(step, step->k + k);
        if (step->rows - t->row >= TILE_ROWS) {
            multiply_whole(t);
        } else {
            multiply_tail(t, step->rows - t->row);
        }
    }
}

static void multiply_step(panel_step *step, void *panel) {
    tile t = {.x_stride = step->product->rounded.stride / 2};
    unpack_panel(step, panel);
    for (; t.row < step->rows; t.row += TILE_ROWS) {
        fetch_tile(step, t.row);
        multiply_blocks(step, &t, panel);
    }
}

/* ---- few rows ---- */

/* Columns k … k + 2·LANES - 1, or those before `to`. */
static inline __attribute__((always_inline)) void
stream_square(const weight_rows *w, clef_dtype dtype, const uint32_t *const *x, size_t k, size_t to,
              vec *sum, const size_t rows) {
    vec square[LANES];
    size_t pairs = (to - k + 1) / 2;
    square_rows from = next_square(w, k * (dtype == CLEF_DTYPE_F32 ? 4 : 2));
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        square[i] = load_pairs(dtype, square_row(&from, i), 0, to - k);
    }
    vec_transpose(square);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        if (i < pairs) {
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++) {
                sum[r] = add_products_of(sum[r], square[i], x[r] + k / 2 + i);
            }
        }
    }
}

/* Outputs of LANES weight rows. */
static inline __attribute__((always_inline)) void
stream_outputs(const clef_matmul *product, const weight_rows *w, const size_t rows) {
    clef_dtype dtype = product->weight.dtype;
    const uint32_t *x[STREAM_ROWS];
    vec y[STREAM_ROWS] = {0};
    for (size_t r = 0; r < rows; r++) {
        size_t row = clef_size_smaller(r, product->x.rows - 1);
        x[r] = (const uint32_t *)product->rounded.values + row * product->rounded.stride / 2;
    }
    for (size_t from = 0; from < w->columns; from += CLEF_MATMUL_BLOCK) {
        size_t to = clef_size_smaller(w->columns, from + CLEF_MATMUL_BLOCK);
        size_t whole = from + (to - from) / (2 * LANES) * (2 * LANES);
        vec sum[STREAM_ROWS];
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            sum[r] = vec_zero();
        }
        for (size_t k = from; k < whole; k += 2 * LANES) {
            stream_square(w, dtype, x, k, k + 2 * LANES, sum, rows);
        }
        if (whole < to) {
            stream_square(w, dtype, x, whole, to, sum, rows);
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            y[r] = from == 0 ? sum[r] : vec_add(y[r], sum[r]);
        }
    }
    store_outputs(product, w, y);
}

/* Returns the first output that is left. */
static size_t stream(const clef_matmul *product, size_t begin, size_t end) {
    for (; begin + LANES <= end; begin += LANES) {
        weight_rows w = weight_rows_of(product, begin, end);
        STREAM_OF_ROWS(product->x.rows, stream_outputs, product, &w)
    }
    return begin;
}

void clef_matmul_bf16_avx512bf16(const clef_matmul *product, size_t begin, size_t end,
                                 void *scratch) {
    if (is_streamed(product)) {
        begin = stream(product, begin, end);
    }
    walk_panels(&(panel_walk){.depth = DEPTH, .multiply = multiply_step}, product, begin, end,
                scratch);
}

void clef_round_row_bf16_avx512bf16(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint16_t *values = (uint16_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    for (size_t k = 0; k < rounded->stride; k += LANES) {
        vec_mask mask = vec_first(x.columns > k ? x.columns - k : 0);
        __m256i half = (__m256i)_mm512_cvtneps_pbh(vec_load_mask(mask, from + k));
        _mm256_storeu_si256((__m256i *)(void *)(values + k), half);
    }
}
