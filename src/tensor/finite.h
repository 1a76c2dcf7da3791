/* Whether numbers are fit to be kept. */
#ifndef CLEF_TENSOR_FINITE_H
#define CLEF_TENSOR_FINITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No infinity and no NaN: the exponent is never all ones. */
static inline bool clef_floats_are_finite(const float *numbers, size_t count) {
    const uint32_t exponent = 0x7f800000;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return bad == 0;
}

#endif
