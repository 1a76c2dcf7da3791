/* Peak of byte dot products of level avx512vnni: four products a 32-bit lane. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/peak/peak_avx512.h"

void clef_peak_int8_dot_avx512vnni(size_t blocks, const int8_t pair[2], double *sum) {
    __m512i sums[SUMS];
    __m512i x = _mm512_set1_epi8(pair[0]);
    __m512i y = _mm512_set1_epi8(pair[1]);
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; i++) {
        sums[i] = _mm512_setzero_si512();
        OPAQUE(sums[i]);
    }
    for (size_t round = 0; round < blocks * (CLEF_PEAK_BLOCK / (SUMS * 64)); round++) {
#pragma GCC unroll 24
        for (int i = 0; i < SUMS; i++) {
            sums[i] = _mm512_dpbusd_epi32(sums[i], x, y);
        }
    }
    *sum = 0;
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; i++) {
        int32_t lanes[16]; /* converted in registers, gcc 12 keeps the sums in memory */
        _mm512_storeu_si512(lanes, sums[i]);
        for (int lane = 0; lane < 16; lane++) {
            *sum += lanes[lane];
        }
    }
}
