/* Vectors of AVX-512 under the names that the *_vector.h kernel bodies use. Included once by every
 * <op>_avx512.c; everything is static, so nothing of this level can leak into another. */
#ifndef CLEF_KERNELS_VECTOR_AVX512_H
#define CLEF_KERNELS_VECTOR_AVX512_H

#include "tensor/dtype.h"

#include <immintrin.h>

#define LANES     16
#define TILE_ROWS 12 /* rows × 2 vectors of sums, 2 of weights, 1 of input: 27 of 32 registers */

typedef __m512 vec;
typedef __mmask16 vec_mask;

static inline vec vec_zero(void) {
    return _mm512_setzero_ps();
}
static inline vec vec_set(float x) {
    return _mm512_set1_ps(x);
}
static inline vec vec_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void vec_store(float *p, vec v) {
    _mm512_storeu_ps(p, v);
}
/* Lanes 0 … count - 1; all when count ≥ LANES. */
static inline vec_mask vec_first(size_t count) {
    return (vec_mask)(count >= LANES ? 0xFFFF : (1u << count) - 1);
}
/* Masked loads give zeros and touch no memory in other lanes; masked stores leave it. */
static inline vec vec_load_mask(vec_mask m, const float *p) {
    return _mm512_maskz_loadu_ps(m, p);
}
static inline void vec_store_mask(vec_mask m, float *p, vec v) {
    _mm512_mask_storeu_ps(p, m, v);
}
static inline vec vec_select(vec_mask m, vec yes, vec no) {
    return _mm512_mask_blend_ps(m, no, yes);
}
static inline vec_mask vec_less(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline vec vec_add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}
static inline vec vec_sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}
static inline vec vec_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}
static inline vec vec_div(vec a, vec b) {
    return _mm512_div_ps(a, b);
}
static inline vec vec_max(vec a, vec b) {
    return _mm512_max_ps(a, b);
}
static inline vec vec_min(vec a, vec b) {
    return _mm512_min_ps(a, b);
}
/* a·b + c, rounded once. */
static inline vec vec_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
/* c - a·b, rounded once. */
static inline vec vec_fnma(vec a, vec b, vec c) {
    return _mm512_fnmadd_ps(a, b, c);
}
/* Nearest integer, ties to even. */
static inline vec vec_round(vec v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* v · 2^n for an integer n that keeps the result normal. */
static inline vec vec_scale(vec v, vec n) {
    return _mm512_scalef_ps(v, n);
}
/* Adds lanes in one fixed tree: 8 apart, 4, 2, 1. */
static inline float vec_sum(vec v) {
    return _mm512_reduce_add_ps(v);
}
static inline float vec_highest(vec v) {
    return _mm512_reduce_max_ps(v);
}
/* Lane i = (float)(base - subtrahend[i]), the difference in double. */
static inline vec vec_difference(double base, const double *subtrahend) {
    __m512d b = _mm512_set1_pd(base);
    __m256 low = _mm512_cvtpd_ps(_mm512_sub_pd(b, _mm512_loadu_pd(subtrahend)));
    __m256 high = _mm512_cvtpd_ps(_mm512_sub_pd(b, _mm512_loadu_pd(subtrahend + 8)));
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/* Elements k … k + LANES - 1 of a stored row, widened; the first `count` of them, zeros behind. */
static inline vec vec_load_weights(clef_dtype dtype, const char *row, size_t k, size_t count) {
    vec_mask mask = vec_first(count);
    if (dtype == CLEF_DTYPE_F32) {
        return _mm512_maskz_loadu_ps(mask, (const float *)(const void *)row + k);
    }
    __m256i half = _mm256_maskz_loadu_epi16(mask, (const uint16_t *)(const void *)row + k);
    if (dtype == CLEF_DTYPE_F16) {
        return _mm512_cvtph_ps(half);
    }
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/* Pairs k, k + 1 … of a row of bfloat16 as bits, the first `count` elements, zeros behind; and what
 * is first and second in each pair, widened. */
static inline vec vec_load_pairs(const char *row, size_t k, size_t count) {
    __mmask32 mask = count >= 2 * LANES ? 0xFFFFFFFF : (UINT32_C(1) << count) - 1;
    const uint16_t *from = (const uint16_t *)(const void *)row + k;
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, from));
}
static inline vec vec_first_of_pairs(vec pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(pairs), 16));
}
static inline vec vec_second_of_pairs(vec pairs) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(pairs), _mm512_set1_epi32((int)0xFFFF0000)));
}

/* Nearest bfloat16 values, ties to even; NaN stays NaN. */
static inline void vec_store_bf16(uint16_t *to, vec v) {
    __m512i bits = _mm512_castps_si512(v);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    __m512i rounded = _mm512_srli_epi32(_mm512_mask_blend_epi32(is_nan, up, quiet), 16);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi32_epi16(rounded));
}

/* Transposes a square of LANES vectors in place. */
static inline void vec_transpose(vec r[LANES]) {
    vec s[LANES];
    for (int i = 0; i < 16; i += 2) {
        s[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_castpd_ps(
            _mm512_unpacklo_pd(_mm512_castps_pd(s[i]), _mm512_castps_pd(s[i + 2])));
        r[i + 1] = _mm512_castpd_ps(
            _mm512_unpackhi_pd(_mm512_castps_pd(s[i]), _mm512_castps_pd(s[i + 2])));
        r[i + 2] = _mm512_castpd_ps(
            _mm512_unpacklo_pd(_mm512_castps_pd(s[i + 1]), _mm512_castps_pd(s[i + 3])));
        r[i + 3] = _mm512_castpd_ps(
            _mm512_unpackhi_pd(_mm512_castps_pd(s[i + 1]), _mm512_castps_pd(s[i + 3])));
    }
    for (int i = 0; i < 4; i++) {
        s[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        s[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xDD);
        s[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        s[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xDD);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(s[i], s[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(s[i], s[i + 8], 0xDD);
        r[i + 4] = _mm512_shuffle_f32x4(s[i + 4], s[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(s[i + 4], s[i + 12], 0xDD);
    }
}

#endif
