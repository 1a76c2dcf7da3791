/* Loops over bytes that a compiler turns into vectors, compiled twice: for the lowest processor,
 * and with CLEF_WIDE for those with AVX2. Both make the same numbers, so which one runs cannot
 * show. */
#ifndef CLEF_MEDIA_WIDE_H
#define CLEF_MEDIA_WIDE_H

#include <stdbool.h>

#if defined(__x86_64__)
#define CLEF_WIDE __attribute__((target("avx2")))
static inline bool clef_has_wide(void) {
    return __builtin_cpu_supports("avx2");
}
#else
#define CLEF_WIDE
static inline bool clef_has_wide(void) {
    return false;
}
#endif

/* The body of both. */
#define CLEF_WIDE_BODY static inline __attribute__((always_inline))

#endif
