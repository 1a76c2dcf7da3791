/* The smaller and the larger of two sizes. */
#ifndef CLEF_BASE_SIZE_H
#define CLEF_BASE_SIZE_H

#include <stddef.h>

static inline size_t clef_size_smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t clef_size_larger(size_t a, size_t b) {
    return a > b ? a : b;
}

#endif
