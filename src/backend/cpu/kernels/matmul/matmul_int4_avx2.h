/* 4-bit weights × int8 inputs on AVX2 by byte products: the part of matmul_int8_avx2.c for which
 * those do not saturate, in half the instructions of 16-bit ones.
 *
 * Weights are the unsigned side, as the 4 bits that are stored, value + 8; what that adds to a
 * group's sum is 8 times the sum of its inputs. A panel holds quads of weights along k,
 * [k/4][16][4]. The products of 32 columns add up to at most 8 · 2 · 15 · 127 a lane, which 16 bits
 * hold; then lanes are widened. Integer sums are exact, so every group's sum is what 16-bit
 * products make, and sums over groups are made in the same order. */
#ifndef CLEF_KERNELS_MATMUL_INT4_AVX2_H
#define CLEF_KERNELS_MATMUL_INT4_AVX2_H

#define HALF_QUADS 8 /* of 32 columns */

typedef struct int4_scratch {
    float scales[GROUP_LIMIT][WIDE];
    uint8_t quads[CLEF_MATMUL_BLOCK * WIDE];
    int32_t starts[2 * CLEF_MATMUL_INPUTS / 32]; /* -8 · Σ inputs, [rows][groups of the span] */
    int8_t inputs[2 * CLEF_MATMUL_INPUTS];
} int4_scratch;

_Static_assert(sizeof(int4_scratch) <= CLEF_MATMUL_SCRATCH, "panel and inputs fit the scratch");

/* ---- panel and inputs ---- */

/* Four bytes hold the columns c … c + 3 and c + 16 … c + 19 of their block of 32, so quads are
 * transposed two in one and then taken apart. */
static void unpack_quads(const panel_step *step, uint8_t *quads) {
    const __m256i four_bits = _mm256_set1_epi8(15);
    size_t blocks = (step->k_count + 31) / 32; /* a square holds two */
    for (size_t n = 0; n < WIDE; n += LANES) {
        for (size_t b = 0; b < blocks; b += 2) {
            vec square[LANES];
            for (size_t i = 0; i < LANES; i++) {
                const char *from = step->weights[n + i] + (step->k / 32 + b) * 16;
                square[i] =
                    vec_load_mask(vec_first(4 * (blocks - b)), (const float *)(const void *)from);
            }
            vec_transpose(square);
            for (size_t i = 0; i < LANES; i++) {
                __m256i both = _mm256_castps_si256(square[i]);
                __m256i low = _mm256_and_si256(both, four_bits);
                __m256i high = _mm256_and_si256(_mm256_srli_epi32(both, 4), four_bits);
                size_t quad = (b + i / 4) * HALF_QUADS + i % 4;
                uint8_t *to = quads + (quad * WIDE + n) * 4;
                vec_store((float *)(void *)to, _mm256_castsi256_ps(low));
                vec_store((float *)(void *)(to + 16 * WIDE), _mm256_castsi256_ps(high));
            }
        }
    }
}

/* Σ of 32 unsigned bytes. */
static inline int32_t sum_bytes(__m256i bytes) {
    __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    __m128i both = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_cvtsi128_si32(both) + _mm_extract_epi32(both, 2);
}

static inline size_t groups_of_span(const panel_step *step) {
    size_t group = step->product->weight.group;
    return (span_of(step->product, CLEF_MATMUL_BLOCK) + group - 1) / group;
}

/* Behind the last column rounded inputs are zeros up to their stride. */
static void sign_inputs(const panel_step *step, size_t k, size_t count, void *scratch) {
    int4_scratch *space = scratch;
    const clef_rounded_rows *rounded = &step->product->rounded;
    const __m256i zero = _mm256_set1_epi8((char)ZERO);
    size_t group = rounded->group, stride = packed_stride(step), groups = groups_of_span(step);
    for (size_t row = 0; row < step->rows; row++) {
        const uint8_t *from =
            (const uint8_t *)rounded->values + (step->row + row) * rounded->stride + k;
        int32_t *starts = space->starts + row * groups;
        memset(starts, 0, groups * sizeof *starts);
        for (size_t i = 0; i < padded(count); i += 32) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
            _mm256_storeu_si256((__m256i *)(void *)(space->inputs + row * stride + i),
                                _mm256_xor_si256(bytes, zero));
            if (i < count) {
                starts[i / group] -= 8 * (sum_bytes(bytes) - 32 * ZERO);
            }
        }
    }
}

/* ---- products ---- */

/* sum += the products of each pair of bytes. Not intrinsics, as in add_products. */
static inline __m256i add_byte_products(__m256i sum, __m256i inputs, __m256i weights) {
    __m256i products;
    __asm__("vpmaddubsw %2, %3, %1\n\tvpaddw %1, %0, %0"
            : "+x"(sum), "=&x"(products)
            : "x"(inputs), "x"(weights));
    return sum;
}

typedef struct int4_tile {
    const int4_scratch *space;
    const int8_t *x; /* first row, at the block's first k */
    size_t x_stride;
    const int32_t *starts; /* of the first row, at the block's first group */
    size_t start_stride;
    const float *x_scales;
    size_t scale_stride;
    size_t groups; /* of the block */
    size_t group;
    tile_outputs out;
    size_t row; /* of the outputs */
} int4_tile;

/* sum += a group's sums of 32 columns from column k of the block on. */
static inline __attribute__((always_inline)) void
add_half(const int4_tile *t, size_t k, __m256i sum[TILE_ROWS][2], const size_t rows) {
    const __m256i *quads = (const __m256i *)(const void *)(t->space->quads + k * WIDE);
    const int8_t *x = t->x + k;
    size_t stride = t->x_stride;
    __m256i low[TILE_ROWS], high[TILE_ROWS];
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        low[r] = _mm256_setzero_si256();
        high[r] = _mm256_setzero_si256();
    }
    for (size_t q = 0; q < HALF_QUADS; q++) {
        __m256i w_low = _mm256_loadu_si256(quads);
        __m256i w_high = _mm256_loadu_si256(quads + 1);
        quads += 2;
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            __m256i input = _mm256_castps_si256(
                _mm256_broadcast_ss((const float *)(const void *)(x + r * stride)));
            low[r] = add_byte_products(low[r], input, w_low);
            high[r] = add_byte_products(high[r], input, w_high);
        }
        x += 4;
    }
    const __m256i one = _mm256_set1_epi16(1);
#pragma GCC unroll 6
    for (size_t r = 0; r < rows; r++) {
        sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(low[r], one));
        sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(high[r], one));
    }
}

/* `rows` is a constant where this is inlined, so the 16-bit sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_int4_tile(const int4_tile *t,
                                                                     const size_t rows) {
    vec total[TILE_ROWS][2];
    for (size_t r = 0; r < rows; r++) {
        total[r][0] = vec_zero();
        total[r][1] = vec_zero();
    }
    for (size_t g = 0; g < t->groups; g++) {
        __m256i sum[TILE_ROWS][2];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            sum[r][0] = sum[r][1] = _mm256_set1_epi32(t->starts[r * t->start_stride + g]);
        }
        for (size_t k = g * t->group; k < (g + 1) * t->group; k += 32) {
            add_half(t, k, sum, rows);
        }
        const float *scales = t->space->scales[g];
#pragma GCC unroll 6
        for (size_t r = 0; r < rows; r++) {
            vec scale = vec_set(t->x_scales[r * t->scale_stride + g]);
            total[r][0] = vec_fma(_mm256_cvtepi32_ps(sum[r][0]), vec_mul(vec_load(scales), scale),
                                  total[r][0]);
            total[r][1] = vec_fma(_mm256_cvtepi32_ps(sum[r][1]),
                                  vec_mul(vec_load(scales + LANES), scale), total[r][1]);
        }
    }
    finish_rows(&t->out, t->row, rows, total);
}

/* A function of its own: with others around it the sums lose their registers. */
static __attribute__((noinline)) void multiply_whole_int4(const int4_tile *t) {
    multiply_int4_tile(t, TILE_ROWS);
}

static void multiply_int4_tail(const int4_tile *t, size_t rows) {
    TILE_OF_ROWS(rows, multiply_int4_tile, t)
}

static void multiply_int4_step(panel_step *step, void *scratch) {
    int4_scratch *space = scratch;
    const clef_rounded_rows *rounded = &step->product->rounded;
    size_t stride = packed_stride(step), group = rounded->group;
    int4_tile t = {.space = space,
                   .x_stride = stride,
                   .start_stride = groups_of_span(step),
                   .scale_stride = rounded->groups,
                   .groups = (step->k_count + group - 1) / group,
                   .group = group,
                   .out = outputs_of(step, step->k)};
    size_t behind = step->k - step->input_k;
    unpack_quads(step, space->quads);
    unpack_scales(step, t.groups, space->scales);
    for (; t.row < step->rows; t.row += TILE_ROWS) {
        fetch_tile(step, t.row);
        t.x = space->inputs + t.row * stride + behind;
        t.starts = space->starts + t.row * t.start_stride + behind / group;
        t.x_scales = rounded->scales + (step->row + t.row) * t.scale_stride + step->k / group;
        if (step->rows - t.row >= TILE_ROWS) {
            multiply_whole_int4(&t);
        } else {
            multiply_int4_tail(&t, step->rows - t.row);
        }
    }
}

#endif
