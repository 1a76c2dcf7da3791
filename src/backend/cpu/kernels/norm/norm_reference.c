/* Normalisations in plain C. Sums run in double: a yardstick should not add error of its own. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

static double sum_of_squares(const float *x, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += (double)x[i] * x[i];
    }
    return sum;
}

void clef_rms_norm_reference(const float *x, const float *weight, float epsilon, size_t size,
                             float *out) {
    double factor = 1 / sqrt(sum_of_squares(x, size) / (double)size + epsilon);
    for (size_t i = 0; i < size; i++) {
        out[i] = (float)(x[i] * factor * (1.0 + weight[i]));
    }
}

void clef_layer_norm_reference(const float *x, const float *weight, const float *bias,
                               float epsilon, size_t size, float *out) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += x[i];
    }
    double mean = sum / (double)size;
    double squares = 0;
    for (size_t i = 0; i < size; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
    }
    double factor = 1 / sqrt(squares / (double)size + epsilon);
    for (size_t i = 0; i < size; i++) {
        out[i] = (float)((x[i] - mean) * factor * weight[i] + bias[i]);
    }
}

void clef_l2_norm_reference(float *x, float epsilon, float scale, size_t size) {
    double factor = scale / sqrt(sum_of_squares(x, size) + epsilon);
    for (size_t i = 0; i < size; i++) {
        x[i] = (float)(x[i] * factor);
    }
}

void clef_gated_norm_reference(float *x, const float *weight, float epsilon, const float *gate,
                               size_t size) {
    double factor = 1 / sqrt(sum_of_squares(x, size) / (double)size + epsilon);
    for (size_t i = 0; i < size; i++) {
        double silu = gate[i] / (1 + exp(-(double)gate[i]));
        x[i] = (float)(weight[i] * (x[i] * factor) * silu);
    }
}
