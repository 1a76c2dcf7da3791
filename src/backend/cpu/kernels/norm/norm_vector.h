/* Normalisations on vectors: the body of norm_<level>.c, behind that level's vector_<level>.h. Sums
 * run in LANES chains that are then added as a fixed tree. */
#include "backend/cpu/kernels/vector/vector_math.h"

#include <math.h>

static float sum_of_squares(const float *x, size_t size) {
    vec sum = vec_zero();
    for (size_t i = 0; i < size; i += LANES) {
        vec value = vec_load_mask(vec_first(size - i), x + i);
        sum = vec_fma(value, value, sum);
    }
    return vec_sum(sum);
}

static void rms_norm(const float *x, const float *weight, float epsilon, size_t size, float *out) {
    vec factor = vec_set(1.0f / sqrtf(sum_of_squares(x, size) / (float)size + epsilon));
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec scale = vec_add(vec_set(1.0f), vec_load_mask(mask, weight + i));
        vec_store_mask(mask, out + i, vec_mul(vec_mul(vec_load_mask(mask, x + i), factor), scale));
    }
}

static void layer_norm(const float *x, const float *weight, const float *bias, float epsilon,
                       size_t size, float *out) {
    vec sum = vec_zero();
    for (size_t i = 0; i < size; i += LANES) {
        sum = vec_add(sum, vec_load_mask(vec_first(size - i), x + i));
    }
    vec mean = vec_set(vec_sum(sum) / (float)size);
    vec squares = vec_zero();
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec distance = vec_select(mask, vec_sub(vec_load_mask(mask, x + i), mean), vec_zero());
        squares = vec_fma(distance, distance, squares);
    }
    vec factor = vec_set(1.0f / sqrtf(vec_sum(squares) / (float)size + epsilon));
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec normed = vec_mul(vec_sub(vec_load_mask(mask, x + i), mean), factor);
        vec_store_mask(
            mask, out + i,
            vec_fma(normed, vec_load_mask(mask, weight + i), vec_load_mask(mask, bias + i)));
    }
}

static void l2_norm(float *x, float epsilon, float scale, size_t size) {
    vec factor = vec_set(scale / sqrtf(sum_of_squares(x, size) + epsilon));
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec_store_mask(mask, x + i, vec_mul(vec_load_mask(mask, x + i), factor));
    }
}

static void gated_norm(float *x, const float *weight, float epsilon, const float *gate,
                       size_t size) {
    vec factor = vec_set(1.0f / sqrtf(sum_of_squares(x, size) / (float)size + epsilon));
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec g = vec_load_mask(mask, gate + i);
        vec silu = vec_mul(g, vec_sigmoid(g));
        vec normed = vec_mul(vec_load_mask(mask, x + i), factor);
        vec_store_mask(mask, x + i,
                       vec_mul(vec_mul(vec_load_mask(mask, weight + i), normed), silu));
    }
}
