/* Matrix product: y[r, n] = Σ_k x[r, k] · weight[n, k] (+ bias[n]), in three arithmetics.
 *
 * matmul       fp32 inputs × F32, BF16 or F16 weights widened exactly
 * matmul_bf16  inputs rounded to bfloat16 × BF16 weights (others are rounded), fp32 sums
 * matmul_int8  inputs rounded to int8 with a scale per row and block × int8 or 4-bit weights with a
 * scale per row and group; integer sums inside a group, fp32 over groups, the input's scale last
 *
 * Contract of every kernel of these operations:
 * - It computes output columns [begin, end), begin a multiple of CLEF_MATMUL_PANEL, for all rows.
 * The caller splits columns over threads, never k and never rows.
 * - Order: k in blocks of CLEF_MATMUL_BLOCK, upward; inside a block one chain an output, starting
 *   from 0 (bf16: of pairs of products; int8: of groups); block sums are added to y in order, y
 *   starting from the first block's sum; the bias last. Tile shape, number of rows and edges cannot
 *   change a bit.
 * - Whether a multiply-add rounds once (fused) or twice is fixed for a level.
 * - scratch: CLEF_MATMUL_SCRATCH bytes of the calling thread, aligned to 64; the panel of weights
 * is unpacked there once for all rows.
 * - x and y do not overlap. */
#ifndef CLEF_KERNELS_MATMUL_H
#define CLEF_KERNELS_MATMUL_H

#include "tensor/matrix.h"

#define CLEF_MATMUL_PANEL 64
#define CLEF_MATMUL_BLOCK 256
/* Scratch: a panel, and inputs of some rows in the form a level wants them: of a block of k, or of
 * all k where rows are few. */
#define CLEF_MATMUL_ROWS    516 /* a multiple of every tile */
#define CLEF_MATMUL_PADDING 16  /* elements between packed rows, against equal sets of a cache */
#define CLEF_MATMUL_INPUTS  (CLEF_MATMUL_ROWS * (CLEF_MATMUL_BLOCK + CLEF_MATMUL_PADDING))
#define CLEF_MATMUL_SCRATCH                                                                        \
    ((CLEF_MATMUL_PANEL * CLEF_MATMUL_BLOCK + CLEF_MATMUL_INPUTS) * sizeof(float))

/* Inputs rounded once a step and read by all panels. */
typedef struct clef_rounded_rows {
    void *values;  /* [rows, stride] bf16, or int8 as value + 128; zeros behind the columns */
    size_t stride; /* elements: columns rounded up to CLEF_ROUNDED_STRIDE */
    float *scales; /* int8: [rows, blocks], one for CLEF_MATMUL_BLOCK columns */
    size_t blocks;
} clef_rounded_rows;

#define CLEF_ROUNDED_STRIDE 64

typedef struct clef_matmul {
    clef_matrix x;             /* [rows, k] */
    clef_weight weight;        /* [n, k] as stored */
    const float *bias;         /* [n] or NULL */
    clef_matrix y;             /* [rows, n] */
    clef_rounded_rows rounded; /* of x; bf16 and int8 only */
} clef_matmul;

typedef void clef_matmul_kernel(const clef_matmul *product, size_t begin, size_t end,
                                void *scratch);
typedef void clef_matmul_bf16_kernel(const clef_matmul *product, size_t begin, size_t end,
                                     void *scratch);
typedef void clef_matmul_int8_kernel(const clef_matmul *product, size_t begin, size_t end,
                                     void *scratch);

/* Rounds row `row` of x into rounded: nearest, ties to even. int8: scale = largest absolute value
 * of the block / 127, value = nearest of x / scale; a block of zeros has scale 0. */
typedef void clef_round_row_bf16_kernel(clef_matrix x, size_t row,
                                        const clef_rounded_rows *rounded);
typedef void clef_round_row_int8_kernel(clef_matrix x, size_t row,
                                        const clef_rounded_rows *rounded);

#endif
