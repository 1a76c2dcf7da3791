/* Peaks of level avx512. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/peak/peak_avx512.h"

void clef_peak_fma_avx512(size_t blocks, const int8_t pair[2], double *sum) {
    __m512 sums[SUMS];
    __m512 x = _mm512_set1_ps(pair[0]);
    __m512 y = _mm512_set1_ps(pair[1]);
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; i++) {
        sums[i] = _mm512_setzero_ps();
        OPAQUE(sums[i]);
    }
    for (size_t round = 0; round < blocks * (CLEF_PEAK_BLOCK / (SUMS * 16)); round++) {
#pragma GCC unroll 24
        for (int i = 0; i < SUMS; i++) {
            sums[i] = _mm512_fmadd_ps(x, y, sums[i]);
        }
    }
    *sum = 0;
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; i++) {
        *sum += add_floats(sums[i]);
    }
}

void clef_peak_read_avx512(const uint32_t *words, size_t count, double *sum) {
    __m512i sums[8];
    size_t i = 0;
    uint32_t total = 0;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        sums[j] = _mm512_setzero_si512();
    }
    for (; i + 128 <= count; i += 128) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            sums[j] = _mm512_add_epi32(sums[j], _mm512_loadu_si512(words + i + 16 * j));
        }
    }
    for (; i < count; i++) {
        total += words[i];
    }
    for (int j = 0; j < 8; j++) {
        uint32_t lanes[16];
        _mm512_storeu_si512(lanes, sums[j]);
        for (int lane = 0; lane < 16; lane++) {
            total += lanes[lane];
        }
    }
    *sum = total;
}
