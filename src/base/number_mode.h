/* Subnormal numbers: decays of the delta rule run into them, and processors take some hundred
 * cycles for each operation that meets one. Both functions set the mode of the calling thread. */
#ifndef CLEF_BASE_NUMBER_MODE_H
#define CLEF_BASE_NUMBER_MODE_H

#if defined(__SSE2__)
#include <xmmintrin.h>

typedef unsigned clef_number_mode;

/* From now on they count as zero; returns the mode before. */
static inline clef_number_mode clef_number_mode_flush(void) {
    clef_number_mode before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u); /* results to zero, operands to zero */
    return before;
}

static inline void clef_number_mode_restore(clef_number_mode mode) {
    _mm_setcsr(mode);
}
#elif defined(__aarch64__)
typedef unsigned long clef_number_mode;

static inline clef_number_mode clef_number_mode_flush(void) {
    clef_number_mode before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 1ul << 24));
    return before;
}

static inline void clef_number_mode_restore(clef_number_mode mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
typedef int clef_number_mode;

static inline clef_number_mode clef_number_mode_flush(void) {
    return 0;
}

static inline void clef_number_mode_restore(clef_number_mode mode) {
    (void)mode;
}
#endif

#endif
