/* Element-wise functions on vectors: the body of activation_<level>.c, behind that level's
 * vector_<level>.h. */
#include "backend/cpu/kernels/vector/vector_math.h"

static void swiglu(float *gate, const float *up, size_t size) {
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec g = vec_load_mask(mask, gate + i);
        vec_store_mask(mask, gate + i,
                       vec_mul(vec_mul(g, vec_sigmoid(g)), vec_load_mask(mask, up + i)));
    }
}

static void sigmoid_gate(float *x, const float *gate, size_t size) {
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec open = vec_sigmoid(vec_load_mask(mask, gate + i));
        vec_store_mask(mask, x + i, vec_mul(vec_load_mask(mask, x + i), open));
    }
}
