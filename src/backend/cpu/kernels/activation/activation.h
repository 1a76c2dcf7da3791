/* Element-wise functions of `size` elements, each element by itself.
 *
 * swiglu        gate = gate·sigmoid(gate) · up
 * gelu          x = ½x(1 + erf(x/√2))
 * gelu_tanh     x = ½x(1 + tanh(√(2/π)(x + 0.044715x³)))
 * sigmoid_gate  x = x · sigmoid(gate)
 * delta_gates   b = sigmoid(b); a = -exp(a_log)·softplus(a + dt_bias), softplus(x) = ln(1 + e^x) */
#ifndef CLEF_KERNELS_ACTIVATION_H
#define CLEF_KERNELS_ACTIVATION_H

#include <stddef.h>

typedef void clef_swiglu_kernel(float *gate, const float *up, size_t size);
typedef void clef_gelu_kernel(float *x, size_t size);
typedef void clef_gelu_tanh_kernel(float *x, size_t size);
typedef void clef_sigmoid_gate_kernel(float *x, const float *gate, size_t size);
typedef void clef_delta_gates_kernel(float *a, float *b, const float *a_log, const float *dt_bias,
                                     size_t size);

#endif
