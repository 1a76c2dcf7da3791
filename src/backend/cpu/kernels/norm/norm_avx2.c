/* Normalisations of level avx2: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx2.h"

#include "backend/cpu/kernels/norm/norm_vector.h"

void clef_rms_norm_avx2(const float *x, const float *weight, float epsilon, size_t size,
                        float *out) {
    rms_norm(x, weight, epsilon, size, out);
}

void clef_layer_norm_avx2(const float *x, const float *weight, const float *bias, float epsilon,
                          size_t size, float *out) {
    layer_norm(x, weight, bias, epsilon, size, out);
}

void clef_l2_norm_avx2(float *x, float epsilon, float scale, size_t size) {
    l2_norm(x, epsilon, scale, size);
}

void clef_gated_norm_avx2(float *x, const float *weight, float epsilon, const float *gate,
                          size_t size) {
    gated_norm(x, weight, epsilon, gate, size);
}
