/* Matrix product of int8 inputs with int8 or 4-bit weights on AVX2: tiles of 6 rows × 16 outputs.
 *
 * The byte products of this level saturate, so for int8 weights both sides are widened to 16 bits:
 * a panel holds pairs of weights along k, [k/2][16][2], inputs are packed as pairs, and one
 * instruction makes the exact sum of two products for each of 8 outputs. 4-bit weights take bytes
 * (matmul_int4_avx2.h). Integer sums of a group fill the registers; fp32
 * sums over groups wait in the first-level cache. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx2.h"

#include "backend/cpu/kernels/matmul/matmul_panels.h"

#define GROUP_LIMIT (CLEF_MATMUL_BLOCK / 32)
#define ZERO        128 /* of the rounded inputs */

typedef struct int8_scratch {
    float scales[GROUP_LIMIT][WIDE];
    int16_t pairs[CLEF_MATMUL_BLOCK / 2 * WIDE * 2];
    int16_t inputs[2 * CLEF_MATMUL_INPUTS];
} int8_scratch;

_Static_assert(sizeof(int8_scratch) <= CLEF_MATMUL_SCRATCH, "panel and inputs fit the scratch");

/* Columns of whole groups. */
static inline size_t padded(size_t count) {
    return (count + 63) / 64 * 64;
}

/* Columns k … k + 15 of a stored row, widened; zeros behind `count`. */
static inline __m256i load_widened(const char *row, size_t k, size_t count) {
    char few[16] = {0};
    const char *from = row + k;
    if (count < sizeof few) {
        memcpy(few, from, count);
        from = few;
    }
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)from));
}

static void unpack_pairs(const panel_step *step, int16_t *pairs) {
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t k = 0; k < padded(step->k_count); k += 16) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                square[i] = k >= step->k_count
                                ? vec_zero()
                                : _mm256_castsi256_ps(load_widened(step->weights[n + i],
                                                                   step->k + k, step->k_count - k));
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES; i++) {
                vec_store((float *)(void *)(pairs + ((k / 2 + i) * WIDE + n) * 2), square[i]);
            }
        }
    }
}

/* Scales of the panel's groups, a vector of rows for each group. */
static void unpack_scales(const panel_step *step, size_t group_count,
                          float scales[GROUP_LIMIT][WIDE]) {
    clef_weight weight = step->product->weight;
    size_t groups = clef_weight_groups(weight);
    for (size_t n = 0; n < WIDE; n++) {
        size_t row = clef_size_smaller(step->first + n, weight.rows - 1);
        for (size_t g = 0; g < group_count; g++) {
            scales[g][n] = weight.scales[row * groups + step->k / weight.group + g];
        }
    }
}

/* Elements between packed rows. */
static inline size_t packed_stride(const panel_step *step) {
    return padded(span_of(step->product, CLEF_MATMUL_BLOCK)) + CLEF_MATMUL_PADDING;
}

#include "backend/cpu/kernels/matmul/matmul_int4_avx2.h"

/* Behind the last column rounded inputs are zeros up to their stride. */
static void widen_inputs(const panel_step *step, size_t k, size_t count, void *scratch) {
    int8_scratch *space = scratch;
    const clef_rounded_rows *rounded = &step->product->rounded;
    const __m256i zero = _mm256_set1_epi16(ZERO);
    for (size_t row = 0; row < step->rows; row++) {
        const uint8_t *from =
            (const uint8_t *)rounded->values + (step->row + row) * rounded->stride + k;
        int16_t *to = space->inputs + row * packed_stride(step);
        for (size_t i = 0; i < padded(count); i += 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
            __m256i values = _mm256_sub_epi16(_mm256_cvtepu8_epi16(bytes), zero);
            _mm256_storeu_si256((__m256i *)(void *)(to + i), values);
        }
    }
}

/* sum += the two products of each pair. Not intrinsics: gcc 12 moves all products before all sums,
 * and then has too few registers. */
static inline __m256i add_products(__m256i sum, __m256i inputs, __m256i weights) {
    __m256i products;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
            : "+x"(sum), "=&x"(products)
            : "x"(inputs), "x"(weights));
    return sum;
}

typedef struct tile {
    const int8_scratch *space;
    const int32_t *x; /* pairs of the first row, at the block's first k */
    size_t x_stride;  /* pairs */
    const float *x_scales;
    size_t scale_stride;
    size_t groups; /* of the block */
    size_t group_pairs;
    tile_outputs out;
    size_t row; /* of the outputs */
} tile;

/* `rows` is a constant where this is inlined, so the integer sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const tile *t, const size_t rows) {
    vec total[TILE_ROWS][2];
    for (size_t r = 0; r < rows; r++) {
        total[r][0] = vec_zero();
        total[r][1] = vec_zero();
    }
    const int32_t *x = t->x;
    size_t stride = t->x_stride;
    const __m256i *pairs = (const __m256i *)(const void *)t->space->pairs;
    for (size_t g = 0; g < t->groups; g++) {
        __m256i low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            low[r] = _mm256_setzero_si256();
            high[r] = _mm256_setzero_si256();
        }
        for (size_t p = 0; p < t->group_pairs; p++) {
            __m256i w_low = _mm256_loadu_si256(pairs);
            __m256i w_high = _mm256_loadu_si256(pairs + 1);
            pairs += 2;
#pragma GCC unroll 6
            for (size_t r = 0; r < rows; r++) {
                __m256i input = _mm256_set1_epi32(x[r * stride]);
                low[r] = add_products(low[r], input, w_low);
                high[r] = add_products(high[r], input, w_high);
            }
            x++;
        }
        const float *scales = t->space->scales[g];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            vec scale = vec_set(t->x_scales[r * t->scale_stride + g]);
            total[r][0] =
                vec_fma(_mm256_cvtepi32_ps(low[r]), vec_mul(vec_load(scales), scale), total[r][0]);
            total[r][1] = vec_fma(_mm256_cvtepi32_ps(high[r]),
                                  vec_mul(vec_load(scales + LANES), scale), total[r][1]);
        }
    }
    finish_rows(&t->out, t->row, rows, total);
}

/* A function of its own: with others around it the sums lose their registers. */
static __attribute__((noinline)) void multiply_whole(const tile *t) {
    multiply_tile(t, TILE_ROWS);
}

/* The last rows: the same additions in a smaller tile. */
static void multiply_tail(const tile *t, size_t rows) {
    TILE_OF_ROWS(rows, multiply_tile, t)
}

static void multiply_step(panel_step *step, void *scratch) {
    int8_scratch *space = scratch;
    const clef_rounded_rows *rounded = &step->product->rounded;
    size_t stride = packed_stride(step);
    tile t = {.space = space,
              .x_stride = stride / 2,
              .scale_stride = rounded->groups,
              .groups = (step->k_count + rounded->group - 1) / rounded->group,
              .group_pairs = rounded->group / 2,
              .out = outputs_of(step, step->k)};
    unpack_pairs(step, space->pairs);
    unpack_scales(step, t.groups, space->scales);
    for (; t.row < step->rows; t.row += TILE_ROWS) {
        fetch_tile(step, t.row);
        t.x = (const int32_t *)(const void *)(space->inputs + t.row * stride +
                                              (step->k - step->input_k));
        t.x_scales =
            rounded->scales + (step->row + t.row) * t.scale_stride + step->k / rounded->group;
        if (step->rows - t.row >= TILE_ROWS) {
            multiply_whole(&t);
        } else {
            multiply_tail(&t, step->rows - t.row);
        }
    }
}

void clef_matmul_int8_avx2(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    bool is_int8 = product->weight.dtype == CLEF_DTYPE_I8;
    if (is_int8) {
        walk_panels(&(panel_walk){.depth = CLEF_MATMUL_BLOCK,
                                  .pack = widen_inputs,
                                  .multiply = multiply_step},
                    product, begin, end, scratch);
    } else {
        walk_panels(&(panel_walk){.depth = CLEF_MATMUL_BLOCK,
                                  .pack = sign_inputs,
                                  .multiply = multiply_int4_step},
                    product, begin, end, scratch);
    }
}

void clef_round_row_int8_avx2(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint8_t *values = (uint8_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    const vec sign = _mm256_castsi256_ps(_mm256_set1_epi32((int)0x80000000));
    memset(values, ZERO, rounded->stride);
    for (size_t g = 0; g < rounded->groups; g++) {
        size_t begin = g * rounded->group;
        size_t end = clef_size_smaller(begin + rounded->group, x.columns);
        vec highest = vec_zero();
        for (size_t k = begin; k < end; k += LANES) {
            vec value = vec_load_mask(vec_first(end - k), from + k);
            highest = vec_max(highest, _mm256_andnot_ps(sign, value));
        }
        float largest = vec_highest(highest);
        rounded->scales[row * rounded->groups + g] = largest / 127.0f;
        vec factor = vec_set(largest > 0 ? 127.0f / largest : 0);
        for (size_t k = begin; k < end; k += LANES) {
            vec value = vec_mul(vec_load_mask(vec_first(end - k), from + k), factor);
            __m256i whole = _mm256_cvtps_epi32(value);
            __m128i narrow =
                _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
            narrow = _mm_add_epi8(_mm_packs_epi16(narrow, narrow), _mm_set1_epi8((char)ZERO));
            memcpy(values + k, &narrow, clef_size_smaller(LANES, end - k));
        }
    }
}
