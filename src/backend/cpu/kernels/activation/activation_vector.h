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

static void gelu(float *x, size_t size) {
    vec half = vec_set(0.5f);
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec a = vec_load_mask(mask, x + i);
        vec part = vec_mul(half, a);
        vec_store_mask(mask, x + i, vec_fma(part, vec_erf_root_half(a), part));
    }
}

/* ½(1 + tanh(y)) is the sigmoid of 2y. */
static void gelu_tanh(float *x, size_t size) {
    vec one = vec_set(1.0f);
    vec cubic = vec_set(0.044715f);
    vec twice = vec_set(1.59576912160573071f); /* 2√(2/π) */
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec a = vec_load_mask(mask, x + i);
        vec inner = vec_mul(vec_mul(twice, a), vec_fma(cubic, vec_mul(a, a), one));
        vec_store_mask(mask, x + i, vec_mul(a, vec_sigmoid(inner)));
    }
}

static void sigmoid_gate(float *x, const float *gate, size_t size) {
    for (size_t i = 0; i < size; i += LANES) {
        vec_mask mask = vec_first(size - i);
        vec open = vec_sigmoid(vec_load_mask(mask, gate + i));
        vec_store_mask(mask, x + i, vec_mul(vec_load_mask(mask, x + i), open));
    }
}
