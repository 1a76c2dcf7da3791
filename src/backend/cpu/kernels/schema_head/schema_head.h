/* Small kernels of the joint head.
 *
 * sum_rows       total[c] += x[r, c], rows upward, in double
 * summarise      out = Σ_j softmax_j(options[j]·base / √columns) · options[j]
 * cosine         (a·b) / (max(‖a‖, floor) · max(‖b‖, floor))
 * pair_features  out = [field, option, field ⊙ option, |field - option|]
 * They are a vanishing part of the work, so one implementation, in double, serves all levels. */
#ifndef CLEF_KERNELS_SCHEMA_HEAD_H
#define CLEF_KERNELS_SCHEMA_HEAD_H

#include "tensor/matrix.h"

typedef void clef_sum_rows_kernel(clef_matrix x, double *total);
typedef void clef_summarise_kernel(clef_matrix options, const float *base, float *out);
typedef float clef_cosine_kernel(const float *a, const float *b, size_t columns, float floor);
typedef void clef_pair_features_kernel(const float *field, const float *option, size_t columns,
                                       float *out);

#endif
