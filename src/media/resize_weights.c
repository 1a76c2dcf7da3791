/* Keys' cubic with a = −0.5, stretched when the picture shrinks so that every pixel counts. The
 * order of operations is the reference's: the last bit of a double decides the rounding of a
 * weight. */
#include "media/resize_weights.h"

#include "base/memory.h"

#include <math.h>

#define PRECISION_LIMIT 22
/* Torch keeps weights in 16 bits. */
#define WEIGHT_LIMIT 32768

static double weigh_distance(double x) {
    x = fabs(x);
    if (x < 1.0) {
        return (1.5 * x - 2.5) * x * x + 1.0;
    }
    if (x < 2.0) {
        return (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5;
    }
    return 0.0;
}

typedef struct filter_axis {
    double scale, stretch, support;
    uint32_t in_length;
} filter_axis;

/* The weights of one output in doubles: sum 1, the rest of the row 0. Returns their number. */
static uint32_t weigh_output(const filter_axis *axis, uint32_t output, size_t row, uint32_t *first,
                             double *weights) {
    double center = axis->scale * (output + 0.5);
    double low = trunc(center - axis->support + 0.5);
    double high = trunc(center + axis->support + 0.5);
    *first = low > 0 ? (uint32_t)low : 0;
    uint32_t end = high < axis->in_length ? (uint32_t)high : axis->in_length;
    uint32_t count = end - *first < row ? end - *first : (uint32_t)row;
    double inverse = 1.0 / axis->stretch;
    double total = 0.0;
    for (uint32_t j = 0; j < count; j++) {
        weights[j] = weigh_distance((j + *first - center + 0.5) * inverse);
        total += weights[j];
    }
    for (uint32_t j = 0; j < count; j++) {
        weights[j] /= total;
    }
    return count;
}

/* The most bits with which the largest weight still fits. */
static unsigned choose_precision(double largest, clef_resize_rule rule) {
    unsigned precision = rule == CLEF_RESIZE_PILLOW ? PRECISION_LIMIT : 0;
    while (precision < PRECISION_LIMIT &&
           (int64_t)(0.5 + largest * (1 << (precision + 1))) < WEIGHT_LIMIT) {
        precision++;
    }
    return precision;
}

clef_status clef_resize_weights_create(uint32_t in_length, uint32_t out_length,
                                       clef_resize_rule rule, clef_resize_weights *weights,
                                       clef_error *error) {
    filter_axis axis = {.scale = (double)in_length / out_length, .in_length = in_length};
    axis.stretch = fmax(axis.scale, 1.0);
    axis.support = 2.0 * axis.stretch;
    size_t row = 2 * (size_t)ceil(axis.support) + 1;
    *weights = (clef_resize_weights){.row = row};
    weights->first = clef_allocate(out_length, sizeof *weights->first);
    weights->count = clef_allocate(out_length, sizeof *weights->count);
    weights->weights = clef_allocate(out_length, row * sizeof *weights->weights);
    double *exact = clef_allocate(out_length, row * sizeof *exact);
    if (weights->first == NULL || weights->count == NULL || weights->weights == NULL ||
        exact == NULL) {
        clef_release(exact);
        clef_resize_weights_release(weights);
        return clef_fail_memory(error, out_length * row * sizeof *exact, "weights of resizing");
    }
    double largest = 0.0;
    for (uint32_t i = 0; i < out_length; i++) {
        double *at = exact + i * row;
        weights->count[i] = weigh_output(&axis, i, row, &weights->first[i], at);
        for (uint32_t j = 0; j < weights->count[i]; j++) {
            largest = fmax(largest, at[j]);
        }
    }
    weights->precision = choose_precision(largest, rule);
    double one = (double)(1 << weights->precision);
    for (size_t i = 0; i < out_length * row; i++) {
        weights->weights[i] = (int32_t)(exact[i] * one + (exact[i] < 0 ? -0.5 : 0.5));
    }
    clef_release(exact);
    return CLEF_OK;
}

void clef_resize_weights_release(clef_resize_weights *weights) {
    clef_release(weights->first);
    clef_release(weights->count);
    clef_release(weights->weights);
    *weights = (clef_resize_weights){0};
}
