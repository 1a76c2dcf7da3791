/* Quantising rows of weights, and the proof that it was done well. A row becomes whole numbers with
 * a factor for each group of columns, in the layout of tensor/matrix.h. Rows are independent of
 * each other, so any thread may take any row. */
#ifndef CLEF_WEIGHTS_REPACK_H
#define CLEF_WEIGHTS_REPACK_H

#include "tensor/matrix.h"

/* Most columns of a group of 4-bit values. */
#define CLEF_REPACK_INT4_GROUP_LIMIT 64

/* Writes one row of weight->columns values as weight->dtype with weight->group (data and scales of
 * the weight are not looked at) to `values`, clef_weight_row_bytes of them, and `scales`,
 * clef_weight_groups of them. false when a value is not finite.
 *
 * I8: scale = largest absolute value of the group / 127, values the nearest, -127 to 127.
 * U8 (4 bits, columns a multiple of 32): of a few scales around largest / 8, of either sign, and
 * the best fit to the values they give, the one with the smallest sum of squared errors, each times
 * importance[column] (NULL: all count alike); values -8 to 7. A group whose scale would be below
 * the smallest normal number becomes zeros with scale 0. */
bool clef_repack_row(clef_weight weight, const float *row, const float *importance, void *values,
                     float *scales);

/* Which neighbour of a value its whole number is. */
typedef enum clef_repack_rounding {
    CLEF_REPACK_NEAREST,
    CLEF_REPACK_EITHER, /* as repack_measured.h chooses */
} clef_repack_rounding;

/* Compares a row as stored in `weight` with what it was made from; *column receives the first one
 * that is off. `scratch` holds weight.columns floats. What must hold for each value w of a group:
 *
 * I8: |w - stored| <= scale / 2.
 * U8: |w - stored| <= |scale| / 2; or the value is -8 or 7 and w lies beyond it, and
 *     |w - stored| <= largest / 4.
 * With CLEF_REPACK_EITHER a whole scale in place of half of it. All but for rounding: one part in
 * 2^14 of the scale, and 2^-119 in groups of zeros. */
bool clef_repack_check(clef_weight weight, clef_repack_rounding rounding, size_t row,
                       const float *source, float *scratch, size_t *column);

#endif
