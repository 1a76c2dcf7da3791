/* Causal depthwise convolution of one slice, with SiLU behind it:
 * out[t, c] = silu(Σ_j weight[c, j] · x[t - taps + 1 + j, c]), j upward.
 *
 * Computes channels [begin, end). Rows before the slice come from tail [taps - 1, columns], oldest
 * first; afterwards tail holds the last taps - 1 rows. out and x do not overlap. */
#ifndef CLEF_KERNELS_SHORT_CONVOLUTION_H
#define CLEF_KERNELS_SHORT_CONVOLUTION_H

#include "tensor/matrix.h"

typedef struct clef_short_convolution {
    clef_matrix x;       /* [rows, columns] */
    const float *weight; /* [columns, taps] */
    size_t taps;
    float *tail;     /* [taps - 1, columns] */
    clef_matrix out; /* [rows, columns] */
} clef_short_convolution;

typedef void clef_short_convolution_kernel(const clef_short_convolution *slice, size_t begin,
                                           size_t end);

#endif
