/* Element-wise functions in plain C, computed in double and rounded once. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

void clef_swiglu_reference(float *gate, const float *up, size_t size) {
    for (size_t i = 0; i < size; i++) {
        gate[i] = (float)(gate[i] * sigmoid(gate[i]) * up[i]);
    }
}

void clef_gelu_reference(float *x, size_t size) {
    for (size_t i = 0; i < size; i++) {
        x[i] = (float)(0.5 * x[i] * (1 + erf(x[i] * 0.70710678118654752440)));
    }
}

void clef_gelu_tanh_reference(float *x, size_t size) {
    for (size_t i = 0; i < size; i++) {
        double a = x[i];
        double inner = 0.79788456080286535588 * (a + 0.044715 * a * a * a);
        x[i] = (float)(0.5 * a * (1 + tanh(inner)));
    }
}

void clef_sigmoid_gate_reference(float *x, const float *gate, size_t size) {
    for (size_t i = 0; i < size; i++) {
        x[i] = (float)(x[i] * sigmoid(gate[i]));
    }
}

void clef_delta_gates_reference(float *a, float *b, const float *a_log, const float *dt_bias,
                                size_t size) {
    for (size_t i = 0; i < size; i++) {
        double step = (double)a[i] + dt_bias[i];
        double softplus = step > 20 ? step : log1p(exp(step));
        a[i] = (float)(-exp(a_log[i]) * softplus);
        b[i] = (float)sigmoid(b[i]);
    }
}
