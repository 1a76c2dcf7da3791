/* Better rounding from measured inputs. Errors of columns that are read together add up or cancel
 * each other; a matrix whose inputs were measured can choose, column by column, the neighbour whose
 * error the others cancel. */
#ifndef CLEF_WEIGHTS_REPACK_MEASURED_H
#define CLEF_WEIGHTS_REPACK_MEASURED_H

#include "tensor/matrix.h"

/* Columns whose products are held at most; bounds the memory of a wide matrix to 8 KiB a column. */
#define CLEF_INPUT_SUMS_BLOCK 2048

/* Sums H[i, j] of x_i·x_j over the rows x that a matrix has read, for columns i and j of one block;
 * symmetric, the mean of the diagonal of all columns about 1 and none of it 0. */
typedef struct clef_input_sums {
    size_t columns;
    size_t block;        /* columns of a block, at most the limit; the last may have fewer */
    const float *values; /* block b at b·block·block: dense, of as many rows as it has columns */
    const float *importance; /* [columns], the diagonal */
} clef_input_sums;

/* Floats of the blocks of so many columns. */
size_t clef_input_sums_floats(size_t columns, size_t block);

/* Most rows that are improved together, and the floats they need. */
#define CLEF_REPACK_MEASURED_ROWS 16
size_t clef_repack_measured_scratch(size_t columns);

/* Moves values of `count` rows, as clef_repack_row has written them, to the other neighbour of
 * their weight wherever that makes Σ e_i·H[i, j]·e_j of the row's errors e smaller. Scales stay. No
 * row comes out worse than it was. source [count, columns]; rows of values and scales lie one
 * behind the other. */
void clef_repack_measured(clef_weight weight, const clef_input_sums *sums, const float *source,
                          size_t count, void *values, const float *scales, float *scratch);

#endif
