/* Normalisations of rows and of heads within rows. Each row or head has one fixed order of sums.
 *
 * rms_norm    out = x · rsqrt(mean(x²) + epsilon) · (1 + weight)
 * layer_norm  out = (x - mean) / sqrt(variance + epsilon) · weight + bias
 * l2_norm     x = x · rsqrt(Σx² + epsilon) · scale
 * gated_norm  x = weight ⊙ x · rsqrt(mean(x²) + epsilon) ⊙ silu(gate)
 *
 * All take one row or head of `size` elements; out may be x. */
#ifndef CLEF_KERNELS_NORM_H
#define CLEF_KERNELS_NORM_H

#include <stddef.h>

typedef void clef_rms_norm_kernel(const float *x, const float *weight, float epsilon, size_t size,
                                  float *out);
typedef void clef_layer_norm_kernel(const float *x, const float *weight, const float *bias,
                                    float epsilon, size_t size, float *out);
typedef void clef_l2_norm_kernel(float *x, float epsilon, float scale, size_t size);
typedef void clef_gated_norm_kernel(float *x, const float *weight, float epsilon, const float *gate,
                                    size_t size);

#endif
