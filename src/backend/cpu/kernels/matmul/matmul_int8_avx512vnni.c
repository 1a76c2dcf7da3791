/* Matrix product of int8 inputs with int8 or 4-bit weights by the byte dot-product instruction:
 * tiles of 6 rows × 32 outputs; a panel holds quads of weights along k, [k/4][32][4].
 *
 * The instruction takes unsigned times signed bytes, so inputs are stored as value + 128 and every
 * integer sum starts at -128 · Σ weights of its group, which the panel computes once. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/matmul/matmul_outputs.h"
#define ROWS         6 /* 2 × 6 integer and 2 × 6 fp32 sums, 2 weights, 1 input: 27 of 32 registers */
#define BLOCK_GROUPS (CLEF_MATMUL_BLOCK / 32)

/* The panel of one block. */
typedef struct panel {
    int32_t start[BLOCK_GROUPS][WIDE]; /* -128 · Σ weights */
    float scales[BLOCK_GROUPS][WIDE];
    float quads[CLEF_MATMUL_BLOCK / 4 * WIDE]; /* bits: four int8 each */
} panel;

_Static_assert(sizeof(panel) <= CLEF_MATMUL_SCRATCH, "a panel fits the scratch");

/* 64 weights of one row from column k on, zeros behind `count`. */
static inline vec load_quads(clef_weight weight, size_t row, size_t k, size_t count) {
    const char *data = (const char *)weight.data + row * clef_weight_row_bytes(weight);
    if (weight.dtype == CLEF_DTYPE_I8) {
        __mmask64 mask = count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
        return _mm512_castsi512_ps(_mm512_maskz_loadu_epi8(mask, data + k));
    }
    /* 16 bytes hold 32 columns: each 16-byte lane is doubled, and every second copy shifted down.
     */
    __mmask32 mask = count > 32 ? 0xFFFFFFFF : 0xFFFF;
    __m256i packed = _mm256_maskz_loadu_epi8(mask, data + k / 2);
    __m512i doubled = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3),
                                               _mm512_castsi256_si512(packed));
    __m512i shift = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0, 4, 4, 4, 4);
    __m512i halves = _mm512_and_si512(_mm512_srlv_epi32(doubled, shift), _mm512_set1_epi8(15));
    __m512i values = _mm512_sub_epi8(halves, _mm512_set1_epi8(8));
    return _mm512_castsi512_ps(
        _mm512_maskz_mov_epi8(count > 32 ? ~UINT64_C(0) : UINT64_C(0xFFFFFFFF), values));
}

/* Quads of weight rows first … first + WIDE - 1; zeros behind the last row. */
static void unpack_quads(clef_weight weight, size_t first, size_t k_begin, size_t k_count,
                         panel *out) {
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t k = 0; k < k_count; k += 64) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                square[i] = first + n + i < weight.rows
                                ? load_quads(weight, first + n + i, k_begin + k, k_count - k)
                                : vec_zero();
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES; i++) {
                vec_store(out->quads + (k / 4 + i) * WIDE + n, square[i]);
            }
        }
    }
}

static void unpack_panel(clef_weight weight, size_t first, size_t k_begin, size_t k_count,
                         panel *out) {
    size_t groups = clef_weight_groups(weight);
    size_t quads = weight.group / 4;
    unpack_quads(weight, first, k_begin, k_count, out);
    for (size_t g = 0; g * weight.group < k_count; g++) {
        for (size_t n = 0; n < WIDE; n++) {
            size_t at = (first + n) * groups + k_begin / weight.group + g;
            out->scales[g][n] = first + n < weight.rows ? weight.scales[at] : 0;
        }
        for (size_t n = 0; n < WIDE; n += LANES) {
            __m512i sum = _mm512_setzero_si512();
            for (size_t q = 0; q < quads; q++) {
                vec w = vec_load(out->quads + (g * quads + q) * WIDE + n);
                sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8((char)128), _mm512_castps_si512(w));
            }
            _mm512_storeu_si512(&out->start[g][n], _mm512_sub_epi32(_mm512_setzero_si512(), sum));
        }
    }
}

typedef struct tile {
    const panel *weights;
    const uint32_t *x;     /* quads of the first row, at the block's first k */
    size_t x_stride;       /* quads */
    const float *x_scales; /* of the first row, at the block's first group */
    size_t scale_stride;
    size_t groups; /* of the block */
    size_t group_quads;
    tile_outputs out;
} tile;

/* `rows` is a constant where this is inlined, so the sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec low[ROWS], high[ROWS];
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        low[r] = vec_zero();
        high[r] = vec_zero();
    }
    const uint32_t *x = t->x;
    size_t stride = t->x_stride;
    const float *quads = t->weights->quads;
    for (size_t g = 0; g < t->groups; g++) {
        __m512i low_sum[ROWS], high_sum[ROWS];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            low_sum[r] = _mm512_loadu_si512(&t->weights->start[g][0]);
            high_sum[r] = _mm512_loadu_si512(&t->weights->start[g][LANES]);
        }
        for (size_t q = 0; q < t->group_quads; q++) {
            __m512i w_low = _mm512_castps_si512(vec_load(quads));
            __m512i w_high = _mm512_castps_si512(vec_load(quads + LANES));
            quads += WIDE;
#pragma GCC unroll 6
            for (size_t r = 0; r < rows; r++) {
                __m512i input = _mm512_set1_epi32((int)x[r * stride]);
                low_sum[r] = _mm512_dpbusd_epi32(low_sum[r], input, w_low);
                high_sum[r] = _mm512_dpbusd_epi32(high_sum[r], input, w_high);
            }
            x++;
        }
        vec low_scale = vec_load(&t->weights->scales[g][0]);
        vec high_scale = vec_load(&t->weights->scales[g][LANES]);
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            vec scale = vec_set(t->x_scales[r * t->scale_stride + g]);
            low[r] = vec_fma(_mm512_cvtepi32_ps(low_sum[r]), vec_mul(low_scale, scale), low[r]);
            high[r] = vec_fma(_mm512_cvtepi32_ps(high_sum[r]), vec_mul(high_scale, scale), high[r]);
        }
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        finish_row(&t->out, r, low[r], high[r]);
    }
}

/* Tails of the rows: the same additions in a tile of one row. */
static void multiply_rows(tile *t, const clef_matmul *product, size_t first, size_t k) {
    const clef_rounded_rows *rounded = &product->rounded;
    const uint32_t *x = (const uint32_t *)rounded->values + k / 4;
    const float *scales = rounded->scales + k / rounded->group;
    size_t rows = product->x.rows;
    for (size_t row = 0; row < rows;) {
        t->x = x + row * t->x_stride;
        t->x_scales = scales + row * t->scale_stride;
        t->out.y = product->y.data + row * t->out.y_stride + first;
        if (rows - row >= ROWS) {
            multiply_tile(t, ROWS);
            row += ROWS;
        } else {
            multiply_tile(t, 1);
            row += 1;
        }
    }
}

void clef_matmul_int8_avx512vnni(const clef_matmul *product, size_t begin, size_t end,
                                 void *scratch) {
    size_t depth = product->weight.columns;
    size_t group = product->weight.group;
    for (size_t k = 0; k < depth; k += CLEF_MATMUL_BLOCK) {
        size_t k_count = depth - k < CLEF_MATMUL_BLOCK ? depth - k : CLEF_MATMUL_BLOCK;
        bool is_last = k + k_count == depth;
        for (size_t first = begin; first < end; first += WIDE) {
            unpack_panel(product->weight, first, k, k_count, scratch);
            tile t = {.weights = scratch,
                      .x_stride = product->rounded.stride / 4,
                      .scale_stride = product->rounded.groups,
                      .groups = (k_count + group - 1) / group,
                      .group_quads = group / 4,
                      .out = outputs_of(product, first, end, k, is_last)};
            multiply_rows(&t, product, first, k);
        }
    }
}

void clef_round_row_int8_avx512vnni(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint8_t *values = (uint8_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
    memset(values, 128, rounded->stride);
    for (size_t g = 0; g < rounded->groups; g++) {
        size_t begin = g * rounded->group;
        size_t left = x.columns - begin;
        size_t count = left < rounded->group ? left : rounded->group;
        vec highest = vec_zero();
        for (size_t k = 0; k < count; k += LANES) {
            vec value = vec_load_mask(vec_first(count - k), from + begin + k);
            __m512i size = _mm512_and_si512(_mm512_castps_si512(value), sign);
            highest = vec_max(highest, _mm512_castsi512_ps(size));
        }
        float largest = vec_highest(highest);
        rounded->scales[row * rounded->groups + g] = largest / 127.0f;
        vec factor = vec_set(largest > 0 ? 127.0f / largest : 0);
        for (size_t k = 0; k < count; k += LANES) {
            vec_mask mask = vec_first(count - k);
            vec value = vec_mul(vec_load_mask(mask, from + begin + k), factor);
            __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(value), _mm512_set1_epi32(128));
            _mm_mask_storeu_epi8(values + begin + k, mask, _mm512_cvtepi32_epi8(whole));
        }
    }
}
