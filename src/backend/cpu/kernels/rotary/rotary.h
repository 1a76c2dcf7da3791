/* Rotary position: the first 2·half elements of a head are turned in pairs (i, i + half):
 * (a, b) → (a·cos_i - b·sin_i, b·cos_i + a·sin_i); the others stay. In place. */
#ifndef CLEF_KERNELS_ROTARY_H
#define CLEF_KERNELS_ROTARY_H

#include <stddef.h>

typedef void clef_rotary_kernel(float *x, const float *cosine, const float *sine, size_t half);

#endif
