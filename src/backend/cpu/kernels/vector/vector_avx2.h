/* Vectors of AVX2 with FMA and F16C under the names that the *_vector.h kernel bodies use. Included
 * once by every <op>_avx2.c; everything is static, so nothing of this level can leak into another.
 */
#ifndef CLEF_KERNELS_VECTOR_AVX2_H
#define CLEF_KERNELS_VECTOR_AVX2_H

#include "tensor/dtype.h"

#include <immintrin.h>

#define LANES     8
#define TILE_ROWS 6 /* rows × 2 vectors of sums, 2 of weights, 1 of input: 15 of 16 registers */

typedef __m256 vec;
typedef __m256i vec_mask; /* all ones in chosen lanes */

static inline vec vec_zero(void) {
    return _mm256_setzero_ps();
}
static inline vec vec_set(float x) {
    return _mm256_set1_ps(x);
}
static inline vec vec_load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void vec_store(float *p, vec v) {
    _mm256_storeu_ps(p, v);
}
/* Lanes 0 … count - 1; all when count ≥ LANES. */
static inline vec_mask vec_first(size_t count) {
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count > LANES ? LANES : (int)count), lanes);
}
/* Masked loads give zeros and touch no memory in other lanes; masked stores leave it. */
static inline vec vec_load_mask(vec_mask m, const float *p) {
    return _mm256_maskload_ps(p, m);
}
static inline void vec_store_mask(vec_mask m, float *p, vec v) {
    _mm256_maskstore_ps(p, m, v);
}
static inline vec vec_select(vec_mask m, vec yes, vec no) {
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m));
}
static inline vec_mask vec_less(vec a, vec b) {
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
static inline vec vec_add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}
static inline vec vec_sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}
static inline vec vec_mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}
static inline vec vec_div(vec a, vec b) {
    return _mm256_div_ps(a, b);
}
static inline vec vec_max(vec a, vec b) {
    return _mm256_max_ps(a, b);
}
static inline vec vec_min(vec a, vec b) {
    return _mm256_min_ps(a, b);
}
/* a·b + c, rounded once. */
static inline vec vec_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
/* c - a·b, rounded once. */
static inline vec vec_fnma(vec a, vec b, vec c) {
    return _mm256_fnmadd_ps(a, b, c);
}
/* Nearest integer, ties to even. */
static inline vec vec_round(vec v) {
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* v · 2^n for an integer n that keeps the result normal: n goes to the exponent's bits. */
static inline vec vec_scale(vec v, vec n) {
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), exponent));
}
/* Adds lanes in one fixed tree: 4 apart, 2, 1. */
static inline float vec_sum(vec v) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
static inline float vec_highest(vec v) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
/* Lane i = (float)(base - subtrahend[i]), the difference in double. */
static inline vec vec_difference(double base, const double *subtrahend) {
    __m256d b = _mm256_set1_pd(base);
    __m128 low = _mm256_cvtpd_ps(_mm256_sub_pd(b, _mm256_loadu_pd(subtrahend)));
    __m128 high = _mm256_cvtpd_ps(_mm256_sub_pd(b, _mm256_loadu_pd(subtrahend + 4)));
    return _mm256_set_m128(high, low);
}

/* Elements k … k + LANES - 1 of a stored row, widened; the first `count` of them, zeros behind. */
static inline vec vec_load_weights(clef_dtype dtype, const char *row, size_t k, size_t count) {
    if (dtype == CLEF_DTYPE_F32) {
        return _mm256_maskload_ps((const float *)(const void *)row + k, vec_first(count));
    }
    uint16_t padded[LANES] = {0};
    const uint16_t *from = (const uint16_t *)(const void *)row + k;
    if (count < LANES) {
        memcpy(padded, from, count * sizeof *from);
        from = padded;
    }
    __m128i half = _mm_loadu_si128((const __m128i *)(const void *)from);
    if (dtype == CLEF_DTYPE_F16) {
        return _mm256_cvtph_ps(half);
    }
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

/* Pairs k, k + 1 … of a row of bfloat16 as bits, the first `count` elements, zeros behind; and what
 * is first and second in each pair, widened. */
static inline vec vec_load_pairs(const char *row, size_t k, size_t count) {
    uint16_t padded[2 * LANES] = {0};
    const uint16_t *from = (const uint16_t *)(const void *)row + k;
    if (count < 2 * LANES) {
        memcpy(padded, from, count * sizeof *from);
        from = padded;
    }
    return _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}
static inline vec vec_first_of_pairs(vec pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pairs), 16));
}
static inline vec vec_second_of_pairs(vec pairs) {
    return _mm256_and_ps(pairs, _mm256_castsi256_ps(_mm256_set1_epi32((int)0xFFFF0000)));
}

/* Nearest bfloat16 values, ties to even; NaN stays NaN. */
static inline void vec_store_bf16(uint16_t *to, vec v) {
    __m256i bits = _mm256_castps_si256(v);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m256i rounded = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, is_nan), 16);
    __m256i packed = _mm256_packus_epi32(rounded, rounded); /* each half of four, twice */
    __m128i low = _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
    _mm_storeu_si128((__m128i *)(void *)to, low);
}

/* Transposes a square of LANES vectors in place. */
static inline void vec_transpose(vec r[LANES]) {
    vec s[LANES];
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xEE);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; i++) {
        s[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        s[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < 8; i++) {
        r[i] = s[i];
    }
}

#endif
