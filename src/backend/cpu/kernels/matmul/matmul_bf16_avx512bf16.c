/* Matrix product of bfloat16 inputs and weights with the dot-product instruction: tiles of 12 rows
 * × 32 outputs; a panel holds pairs of weights along k, [k/2][32][2], so one instruction does two
 * multiply-adds for each of 16 outputs. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/matmul/matmul_panels.h"

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

static void unpack_panel(const panel_step *step, float *panel) {
    clef_dtype dtype = step->product->weight.dtype;
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t k = 0; k < step->k_count; k += 2 * LANES) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                square[i] = load_pairs(dtype, step->weights[n + i], step->k + k, step->k_count - k);
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES && 2 * i < step->k_count - k; i++) {
                vec_store(panel + (k / 2 + i) * WIDE + n, square[i]);
            }
        }
    }
}

/* sum += the two products of each pair. Not the intrinsic: gcc 12 copies the sum for each use. */
static inline vec add_products(vec sum, vec weights, vec inputs) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(inputs));
    return sum;
}

typedef struct tile {
    const uint32_t *x; /* pairs of the first row, at the block's first k */
    size_t x_stride;   /* pairs */
    const float *panel;
    size_t pairs;
    tile_outputs out;
    size_t row; /* of the outputs */
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
    const uint32_t *x = t->x;
    size_t stride = t->x_stride;
    for (size_t k = 0; k < t->pairs; k++) {
        vec w_low = vec_load(panel);
        vec w_high = vec_load(panel + LANES);
        panel += WIDE;
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            vec input = _mm512_castsi512_ps(_mm512_set1_epi32((int)x[r * stride + k]));
            low[r] = add_products(low[r], w_low, input);
            high[r] = add_products(high[r], w_high, input);
        }
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
        t->pairs = (smaller(CLEF_MATMUL_BLOCK, step->k_count - k) + 1) / 2;
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

void clef_matmul_bf16_avx512bf16(const clef_matmul *product, size_t begin, size_t end,
                                 void *scratch) {
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
