/* Matrix product of bfloat16 inputs and weights with the dot-product instruction: tiles of 12 rows
 * × 32 outputs; a panel holds pairs of weights along k, [k/2][32][2], so one instruction does two
 * multiply-adds for each of 16 outputs. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/matmul/matmul_outputs.h"

/* Sixteen pairs of one row from column k on as bits; zeros behind `count` columns. */
static inline vec load_pairs(clef_weight weight, size_t row, size_t k, size_t count) {
    const char *data = (const char *)weight.data + row * clef_weight_row_bytes(weight);
    if (weight.dtype == CLEF_DTYPE_BF16) {
        __mmask32 mask = count >= 2 * LANES ? 0xFFFFFFFF : (UINT32_C(1) << count) - 1;
        return _mm512_castsi512_ps(
            _mm512_maskz_loadu_epi16(mask, (const uint16_t *)(const void *)data + k));
    }
    vec low = vec_load_weights(weight.dtype, data, k, count);
    vec high =
        count > LANES ? vec_load_weights(weight.dtype, data, k + LANES, count - LANES) : vec_zero();
    return _mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/* panel[k/2][WIDE] pairs from weight rows first … first + WIDE - 1; zeros behind the last row. */
static void unpack_panel(clef_weight weight, size_t first, size_t k_begin, size_t k_count,
                         float *panel) {
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t k = 0; k < k_count; k += 2 * LANES) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                square[i] = first + n + i < weight.rows
                                ? load_pairs(weight, first + n + i, k_begin + k, k_count - k)
                                : vec_zero();
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES && 2 * i < k_count - k; i++) {
                vec_store(panel + (k / 2 + i) * WIDE + n, square[i]);
            }
        }
    }
}

typedef struct tile {
    const uint32_t *x; /* pairs of the first row, at the block's first k */
    size_t x_stride;   /* pairs */
    const float *panel;
    size_t pairs;
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
    const uint32_t *x = t->x;
    size_t stride = t->x_stride;
    for (size_t k = 0; k < t->pairs; k++) {
        __m512bh w_low = (__m512bh)vec_load(panel);
        __m512bh w_high = (__m512bh)vec_load(panel + LANES);
        panel += WIDE;
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            __m512bh input = (__m512bh)_mm512_set1_epi32((int)x[r * stride + k]);
            low[r] = _mm512_dpbf16_ps(low[r], input, w_low);
            high[r] = _mm512_dpbf16_ps(high[r], input, w_high);
        }
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        finish_row(&t->out, r, low[r], high[r]);
    }
}

/* Tails of the rows: at most three sizes of tile, the same additions in each. */
static void multiply_rows(tile *t, const clef_matmul *product, size_t first, size_t k) {
    const uint32_t *x = (const uint32_t *)product->rounded.values + k / 2;
    size_t rows = product->x.rows;
    for (size_t row = 0; row < rows;) {
        t->x = x + row * t->x_stride;
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

void clef_matmul_bf16_avx512bf16(const clef_matmul *product, size_t begin, size_t end,
                                 void *scratch) {
    size_t depth = product->weight.columns;
    for (size_t k = 0; k < depth; k += CLEF_MATMUL_BLOCK) {
        size_t k_count = depth - k < CLEF_MATMUL_BLOCK ? depth - k : CLEF_MATMUL_BLOCK;
        bool is_last = k + k_count == depth;
        for (size_t first = begin; first < end; first += WIDE) {
            unpack_panel(product->weight, first, k, k_count, scratch);
            tile t = {.x_stride = product->rounded.stride / 2,
                      .panel = scratch,
                      .pairs = (k_count + 1) / 2,
                      .out = outputs_of(product, first, end, k, is_last)};
            multiply_rows(&t, product, first, k);
        }
    }
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
