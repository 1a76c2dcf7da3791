/* Peaks of level avx2: 12 chains of 256-bit sums, which the latency of a multiply-add needs and 16
 * registers hold. OPAQUE hides a value from the compiler, which would otherwise see that all chains
 * are equal and keep one. */
#include "backend/cpu/kernel_table.h"

#include <immintrin.h>

#define SUMS      12
#define OPAQUE(v) __asm__ volatile("" : "+x"(v))

void clef_peak_fma_avx2(size_t blocks, const int8_t pair[2], double *sum) {
    __m256 sums[SUMS];
    __m256 x = _mm256_set1_ps(pair[0]);
    __m256 y = _mm256_set1_ps(pair[1]);
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) {
        sums[i] = _mm256_setzero_ps();
        OPAQUE(sums[i]);
    }
    for (size_t round = 0; round < blocks * (CLEF_PEAK_BLOCK / (SUMS * 8)); round++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) {
            sums[i] = _mm256_fmadd_ps(x, y, sums[i]);
        }
    }
    *sum = 0;
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) {
        float lanes[8];
        _mm256_storeu_ps(lanes, sums[i]);
        for (int lane = 0; lane < 8; lane++) {
            *sum += lanes[lane];
        }
    }
}

/* Without byte dot products: bytes to pairs of 16 bits, to quads of 32, added. */
void clef_peak_int8_dot_avx2(size_t blocks, const int8_t pair[2], double *sum) {
    __m256i sums[SUMS];
    __m256i x = _mm256_set1_epi8(pair[0]);
    __m256i y = _mm256_set1_epi8(pair[1]);
    __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) {
        sums[i] = _mm256_setzero_si256();
    }
    for (size_t round = 0; round < blocks * (CLEF_PEAK_BLOCK / (SUMS * 32)); round++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) {
            OPAQUE(x);
            __m256i quads = _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), ones);
            sums[i] = _mm256_add_epi32(sums[i], quads);
        }
    }
    *sum = 0;
#pragma GCC unroll 12
    for (int i = 0; i < SUMS; i++) {
        int32_t lanes[8];
        _mm256_storeu_si256((__m256i *)(void *)lanes, sums[i]);
        for (int lane = 0; lane < 8; lane++) {
            *sum += lanes[lane];
        }
    }
}

void clef_peak_read_avx2(const uint32_t *words, size_t count, double *sum) {
    __m256i sums[8];
    uint32_t lanes[8];
    uint32_t total = 0;
    size_t i = 0;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        sums[j] = _mm256_setzero_si256();
    }
    for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            __m256i read = _mm256_loadu_si256((const __m256i *)(const void *)(words + i + 8 * j));
            sums[j] = _mm256_add_epi32(sums[j], read);
        }
    }
    for (; i < count; i++) {
        total += words[i];
    }
    for (int j = 0; j < 8; j++) {
        _mm256_storeu_si256((__m256i *)(void *)lanes, sums[j]);
        for (int lane = 0; lane < 8; lane++) {
            total += lanes[lane];
        }
    }
    *sum = total;
}
