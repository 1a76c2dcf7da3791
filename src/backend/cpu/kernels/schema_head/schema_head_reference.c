/* Kernels of the joint head in plain C. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

static double dot(const float *a, const float *b, size_t columns) {
    double sum = 0;
    for (size_t i = 0; i < columns; i++) {
        sum += (double)a[i] * b[i];
    }
    return sum;
}

void clef_sum_rows_reference(clef_matrix x, double *total) {
    for (size_t row = 0; row < x.rows; row++) {
        const float *values = x.data + row * x.stride;
        for (size_t c = 0; c < x.columns; c++) {
            total[c] += values[c];
        }
    }
}

/* Two passes over the options, so that no array of weights is needed: the highest score, then the
 * weighted sum with its divisor. */
void clef_summarise_reference(clef_matrix options, const float *base, float *out) {
    double scale = 1 / sqrt((double)options.columns);
    double highest = -INFINITY;
    for (size_t j = 0; j < options.rows; j++) {
        double score = dot(options.data + j * options.stride, base, options.columns) * scale;
        highest = score > highest ? score : highest;
    }
    double sum = 0;
    memset(out, 0, options.columns * sizeof *out);
    for (size_t j = 0; j < options.rows; j++) {
        const float *option = options.data + j * options.stride;
        double weight = exp(dot(option, base, options.columns) * scale - highest);
        sum += weight;
        for (size_t c = 0; c < options.columns; c++) {
            out[c] += (float)(weight * option[c]);
        }
    }
    for (size_t c = 0; c < options.columns; c++) {
        out[c] = (float)(out[c] / sum);
    }
}

float clef_cosine_reference(const float *a, const float *b, size_t columns, float floor) {
    double length_a = fmax(sqrt(dot(a, a, columns)), floor);
    double length_b = fmax(sqrt(dot(b, b, columns)), floor);
    return (float)(dot(a, b, columns) / (length_a * length_b));
}

void clef_pair_features_reference(const float *field, const float *option, size_t columns,
                                  float *out) {
    for (size_t c = 0; c < columns; c++) {
        out[c] = field[c];
        out[columns + c] = option[c];
        out[2 * columns + c] = field[c] * option[c];
        out[3 * columns + c] = fabsf(field[c] - option[c]);
    }
}
