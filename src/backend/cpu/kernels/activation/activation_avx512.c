/* Element-wise functions of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/activation/activation_vector.h"

void clef_swiglu_avx512(float *gate, const float *up, size_t size) {
    swiglu(gate, up, size);
}

void clef_sigmoid_gate_avx512(float *x, const float *gate, size_t size) {
    sigmoid_gate(x, gate, size);
}

void clef_gelu_avx512(float *x, size_t size) {
    gelu(x, size);
}

void clef_gelu_tanh_avx512(float *x, size_t size) {
    gelu_tanh(x, size);
}
