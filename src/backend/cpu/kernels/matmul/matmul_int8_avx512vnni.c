/* Matrix product of int8 inputs with int8 or 4-bit weights by the byte dot-product instruction:
 * tiles of 6 rows × 32 outputs; a panel holds quads of weights along k, [k/4][32][4].
 *
 * The instruction takes unsigned times signed bytes, so inputs are stored as value + 128 and every
 * integer sum starts at -128 · Σ weights of its group, which the panel computes once. Integer sums
 * of a group and fp32 sums over groups share the registers: a tile of half the usual rows costs
 * less than sums that wait in memory. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#undef TILE_ROWS
#define TILE_ROWS 6
#include "backend/cpu/kernels/matmul/matmul_panels.h"
#include "backend/cpu/kernels/matmul/matmul_stream.h"

#include "backend/cpu/kernels/matmul/matmul_int8_stream.h"

#define DEPTH       (4 * CLEF_MATMUL_BLOCK) /* of a panel: inputs are a quarter as wide as fp32 */
#define GROUP_LIMIT (DEPTH / 32)

typedef struct panel {
    int32_t start[GROUP_LIMIT][WIDE]; /* -128 · Σ weights */
    float scales[GROUP_LIMIT][WIDE];
    float quads[DEPTH / 4 * WIDE]; /* bits: four int8 each */
} panel;

_Static_assert(sizeof(panel) <= CLEF_MATMUL_SCRATCH, "a panel fits the scratch");

/* Quads of LANES int8 rows, from column k on. */
static void unpack_int8(const char *const *rows, size_t k_begin, size_t k_count, float *quads) {
    for (size_t k = 0; k < k_count; k += 64) {
        vec square[LANES];
        for (size_t i = 0; i < LANES; i++) {
            square[i] = load_bytes(rows[i] + k_begin + k, k_count - k);
        }
        vec_transpose(square);
        for (size_t i = 0; i < LANES; i++) {
            vec_store(quads + (k / 4 + i) * WIDE, square[i]);
        }
    }
}

/* Quads of LANES 4-bit rows. Four bytes hold the columns c … c + 3 and c + 16 … c + 19 of their
 * block of 32, so quads are transposed two in one and then taken apart. */
static void unpack_int4(const char *const *rows, size_t k_begin, size_t k_count, float *quads) {
    const __m512i four_bits = _mm512_set1_epi8(15);
    const __m512i eight = _mm512_set1_epi8(8);
    for (size_t k = 0; k < k_count; k += 128) {
        vec square[LANES];
        for (size_t i = 0; i < LANES; i++) {
            square[i] = load_bytes(rows[i] + (k_begin + k) / 2, (k_count - k + 31) / 32 * 16);
        }
        vec_transpose(square);
        for (size_t i = 0; i < LANES && k + i / 4 * 32 < k_count; i++) {
            __m512i both = _mm512_castps_si512(square[i]);
            __m512i low = _mm512_and_si512(both, four_bits);
            __m512i high = _mm512_and_si512(_mm512_srli_epi32(both, 4), four_bits);
            float *to = quads + (k / 4 + i / 4 * 8 + i % 4) * WIDE;
            vec_store(to, _mm512_castsi512_ps(_mm512_sub_epi8(low, eight)));
            vec_store(to + 4 * WIDE, _mm512_castsi512_ps(_mm512_sub_epi8(high, eight)));
        }
    }
}

/* Scales of the panel's groups, a vector of rows for each group. */
static void unpack_scales(const panel_step *step, size_t group_count, panel *out) {
    clef_weight weight = step->product->weight;
    size_t groups = clef_weight_groups(weight);
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t g = 0; g < group_count; g += LANES) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                size_t row = clef_size_smaller(step->first + n + i, weight.rows - 1);
                const float *from = weight.scales + row * groups + step->k / weight.group + g;
                square[i] = vec_load_mask(vec_first(group_count - g), from);
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES && g + i < group_count; i++) {
                vec_store(&out->scales[g + i][n], square[i]);
            }
        }
    }
}

static void unpack_panel(const panel_step *step, size_t group_count, panel *out) {
    clef_weight weight = step->product->weight;
    size_t quads = weight.group / 4;
    for (size_t n = 0; n < WIDE; n += LANES) {
        if (weight.dtype == CLEF_DTYPE_I8) {
            unpack_int8(step->weights + n, step->k, step->k_count, out->quads + n);
        } else {
            unpack_int4(step->weights + n, step->k, step->k_count, out->quads + n);
        }
    }
    unpack_scales(step, group_count, out);
    const __m512i zero_input = _mm512_set1_epi8((char)128);
    for (size_t g = 0; g < group_count; g++) {
        __m512i low = _mm512_setzero_si512();
        __m512i high = _mm512_setzero_si512();
        const float *from = out->quads + g * quads * WIDE;
        for (size_t q = 0; q < quads; q++) {
            low = add_products(low, zero_input, _mm512_castps_si512(vec_load(from + q * WIDE)));
            high = add_products(high, zero_input,
                                _mm512_castps_si512(vec_load(from + q * WIDE + LANES)));
        }
        _mm512_storeu_si512(&out->start[g][0], _mm512_sub_epi32(_mm512_setzero_si512(), low));
        _mm512_storeu_si512(&out->start[g][LANES], _mm512_sub_epi32(_mm512_setzero_si512(), high));
    }
}

typedef struct tile {
    const panel *weights;
    size_t group;          /* first group of the block in the panel */
    const uint32_t *x;     /* quads of the first row, at the block's first k */
    size_t x_stride;       /* quads */
    const float *x_scales; /* of the first row, at the block's first group */
    size_t scale_stride;
    size_t groups; /* of the block */
    size_t group_quads;
    tile_outputs out;
    size_t row; /* of the outputs */
} tile;

/* `rows` is a constant where this is inlined, so the integer sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec low_total[TILE_ROWS], high_total[TILE_ROWS], sums[TILE_ROWS][2];
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        low_total[r] = vec_zero();
        high_total[r] = vec_zero();
    }
    const uint32_t *x = t->x;
    size_t stride = t->x_stride;
    const float *quads = t->weights->quads + t->group * t->group_quads * WIDE;
    for (size_t g = 0; g < t->groups; g++) {
        const int32_t *start = t->weights->start[t->group + g];
        const float *scales = t->weights->scales[t->group + g];
        __m512i low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            low[r] = _mm512_loadu_si512(start);
            high[r] = _mm512_loadu_si512(start + LANES);
        }
        for (size_t q = 0; q < t->group_quads; q++) {
            __m512i w_low = _mm512_castps_si512(vec_load(quads));
            __m512i w_high = _mm512_castps_si512(vec_load(quads + LANES));
            quads += WIDE;
#pragma GCC unroll 6
            for (size_t r = 0; r < rows; r++) {
                __m512i input = _mm512_set1_epi32((int)x[r * stride]);
                low[r] = add_products(low[r], input, w_low);
                high[r] = add_products(high[r], input, w_high);
            }
            x++;
        }
        vec low_scale = vec_load(scales);
        vec high_scale = vec_load(scales + LANES);
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            vec scale = vec_set(t->x_scales[r * t->scale_stride + g]);
            low_total[r] =
                vec_fma(_mm512_cvtepi32_ps(low[r]), vec_mul(low_scale, scale), low_total[r]);
            high_total[r] =
                vec_fma(_mm512_cvtepi32_ps(high[r]), vec_mul(high_scale, scale), high_total[r]);
        }
    }
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        sums[r][0] = low_total[r];
        sums[r][1] = high_total[r];
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
static void multiply_blocks(const panel_step *step, tile *t) {
    const clef_rounded_rows *rounded = &step->product->rounded;
    size_t row = step->row + t->row;
    size_t group = rounded->group;
    for (size_t k = 0; k < step->k_count; k += CLEF_MATMUL_BLOCK) {
        t->group = k / group;
        t->groups = (clef_size_smaller(CLEF_MATMUL_BLOCK, step->k_count - k) + group - 1) / group;
        t->x = (const uint32_t *)rounded->values + row * t->x_stride + (step->k + k) / 4;
        t->out = outputs_of(step, step->k + k);
        t->x_scales = rounded->scales + row * t->scale_stride + (step->k + k) / group;
        if (step->rows - t->row >= TILE_ROWS) {
            multiply_whole(t);
        } else {
            multiply_tail(t, step->rows - t->row);
        }
    }
}

static void multiply_step(panel_step *step, void *scratch) {
    const clef_rounded_rows *rounded = &step->product->rounded;
    size_t group = rounded->group;
    tile t = {.weights = scratch,
              .x_stride = rounded->stride / 4,
              .scale_stride = rounded->groups,
              .group_quads = group / 4};
    unpack_panel(step, (step->k_count + group - 1) / group, scratch);
    for (; t.row < step->rows; t.row += TILE_ROWS) {
        fetch_tile(step, t.row);
        multiply_blocks(step, &t);
    }
}

void clef_matmul_int8_avx512vnni(const clef_matmul *product, size_t begin, size_t end,
                                 void *scratch) {
    if (is_streamed(product)) {
        begin = stream_rows(product, begin, end, scratch);
    }
    walk_panels(&(panel_walk){.depth = DEPTH, .multiply = multiply_step}, product, begin, end,
                scratch);
}

void clef_round_row_int8_avx512vnni(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint8_t *values = (uint8_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
    memset(values, 128, rounded->stride);
    for (size_t g = 0; g < rounded->groups; g++) {
        size_t begin = g * rounded->group;
        size_t count = clef_size_smaller(x.columns - begin, rounded->group);
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
