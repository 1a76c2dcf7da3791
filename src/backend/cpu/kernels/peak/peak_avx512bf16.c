/* Peak of bfloat16 dot products of level avx512bf16: two products an fp32 lane. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/peak/peak_avx512.h"

void clef_peak_bf16_dot_avx512bf16(size_t blocks, const int8_t pair[2], double *sum) {
    __m512 sums[SUMS];
    __m512bh x = (__m512bh)_mm512_set1_epi16((short)clef_bf16_of_float(pair[0]));
    __m512bh y = (__m512bh)_mm512_set1_epi16((short)clef_bf16_of_float(pair[1]));
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; i++) {
        sums[i] = _mm512_setzero_ps();
        OPAQUE(sums[i]);
    }
    for (size_t round = 0; round < blocks * (CLEF_PEAK_BLOCK / (SUMS * 32)); round++) {
#pragma GCC unroll 24
        for (int i = 0; i < SUMS; i++) {
            sums[i] = _mm512_dpbf16_ps(sums[i], x, y);
        }
    }
    *sum = 0;
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; i++) {
        *sum += add_floats(sums[i]);
    }
}
