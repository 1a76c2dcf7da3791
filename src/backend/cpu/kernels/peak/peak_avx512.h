/* What the 512-bit peaks share: 24 chains of sums (32 registers hold them), hidden from the
 * compiler, which would otherwise see that all chains are equal and keep one. Included by
 * peak_<level>.c of levels with AVX-512; everything is static. */
#ifndef CLEF_KERNELS_PEAK_AVX512_H
#define CLEF_KERNELS_PEAK_AVX512_H

#include <immintrin.h>

#define SUMS      24
#define OPAQUE(v) __asm__ volatile("" : "+v"(v))

static inline double add_floats(__m512 sum) {
    float lanes[16];
    double total = 0;
    _mm512_storeu_ps(lanes, sum);
    for (int lane = 0; lane < 16; lane++) {
        total += lanes[lane];
    }
    return total;
}

#endif
