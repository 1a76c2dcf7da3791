/* Matrix product: y[r, n] = Σ_k x[r, k] · weight[n, k] (+ bias[n]).
 *
 * Contract of every kernel of this operation:
 * - It computes output columns [begin, end), begin a multiple of CLEF_MATMUL_PANEL, for all rows.
 * The caller splits columns over threads, never k and never rows.
 * - Order: k in blocks of CLEF_MATMUL_BLOCK, upward; one chain of multiply-adds an output inside a
 *   block, starting from 0; block sums are added to y in order, y starting from the first block's
 *   sum; the bias last. Tile shape, number of rows and edges cannot change a bit.
 * - Whether a multiply-add rounds once (fused) or twice is fixed for a level.
 * - scratch: CLEF_MATMUL_SCRATCH bytes of the calling thread, aligned to 64; the panel of weights
 * is unpacked there once for all rows.
 * - x and y do not overlap. */
#ifndef CLEF_KERNELS_MATMUL_H
#define CLEF_KERNELS_MATMUL_H

#include "tensor/matrix.h"

#define CLEF_MATMUL_PANEL   64
#define CLEF_MATMUL_BLOCK   256
#define CLEF_MATMUL_SCRATCH (CLEF_MATMUL_PANEL * CLEF_MATMUL_BLOCK * sizeof(float))

typedef struct clef_matmul {
    clef_matrix x;      /* [rows, k] */
    clef_weight weight; /* [n, k] as stored */
    const float *bias;  /* [n] or NULL */
    clef_matrix y;      /* [rows, n] */
} clef_matmul;

typedef void clef_matmul_kernel(const clef_matmul *product, size_t begin, size_t end,
                                void *scratch);

#endif
