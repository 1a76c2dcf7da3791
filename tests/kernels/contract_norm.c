/* Inputs of normalisations: every size around a vector's width, small and large numbers, rows of
 * zeros, output in place. */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t sizes[] = {1,  2,  3,  7,  8,   15,  16,  17,  31,  32,   33,
                               63, 64, 65, 96, 128, 200, 255, 256, 257, 1000, 1024};
static const size_t timing_sizes[] = {128, 1024, 5120};

#define VARIANTS     6
#define INPUT_COUNT  (sizeof sizes / sizeof sizes[0] * VARIANTS)
#define TIMING_COUNT (sizeof timing_sizes / sizeof timing_sizes[0])

typedef struct arguments {
    float *x, *out;
    const float *weight, *bias, *gate;
    float epsilon, scale;
    size_t size;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

/* x of variant: numbers of sizes 1, 1e-3 and 1e3, zeros, one number everywhere, and in place. */
static arguments *draw_row(kernel_input *input, size_t size, size_t variant, bool is_in_place) {
    static const double ranges[VARIANTS] = {1, 1e-3, 1e3, 0, 1, 1};
    arguments *a = arguments_of(input);
    kernel_use use = is_in_place ? KERNEL_CHANGE : KERNEL_READ;
    *a = (arguments){.epsilon = 1e-6f, .scale = 0.25f, .size = size};
    a->x = kernel_floats(input, use, size, ranges[variant]);
    for (size_t i = 0; variant == 4 && i < size; i++) {
        a->x[i] = 0.75f;
    }
    a->out = is_in_place ? a->x : kernel_floats(input, KERNEL_WRITE, size, 0);
    input->formula_bound = 2 * KERNEL_EPSILON;
    input->traffic_bytes = (double)size * sizeof(float);
    snprintf(input->label, sizeof input->label, "size %zu, variant %zu", size, variant);
    return a;
}

/* Rows of a contract that may write elsewhere, or only in place. */
static arguments *draw_indexed(kernel_input *input, size_t index, bool is_always_in_place) {
    size_t size = KERNEL_PICK(&index, sizes);
    return draw_row(input, size, index, is_always_in_place || index == VARIANTS - 1);
}

static arguments *draw_timed(kernel_input *input, size_t index, bool is_in_place) {
    arguments *a = draw_row(input, timing_sizes[index], 0, is_in_place);
    snprintf(input->label, sizeof input->label, "size %zu", a->size);
    return a;
}

static double sum_of_squares(const arguments *a) {
    double sum = 0;
    for (size_t i = 0; i < a->size; i++) {
        sum += (double)a->x[i] * a->x[i];
    }
    return sum;
}

/* ---- rms_norm ---- */

static void draw_rms(kernel_input *input, size_t index) {
    arguments *a = draw_indexed(input, index, false);
    a->weight = kernel_floats(input, KERNEL_READ, a->size, 2);
}

static void time_rms(kernel_input *input, size_t index) {
    arguments *a = draw_timed(input, index, false);
    a->weight = kernel_floats(input, KERNEL_READ, a->size, 2);
    input->traffic_bytes *= 3;
}

static void expect_rms(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double factor = 1 / sqrt(sum_of_squares(a) / (double)a->size + a->epsilon);
    for (size_t i = 0; i < a->size; i++) {
        double normed = a->x[i] * factor;
        kernel_expect(input, a->out + i, normed * (1 + (double)a->weight[i]),
                      fabs(normed) * (1 + fabs((double)a->weight[i])));
    }
}

static void run_rms(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_rms_norm_kernel *)kernel)(a->x, a->weight, a->epsilon, a->size, a->out);
}

const kernel_contract contract_of_rms_norm = {INPUT_COUNT, draw_rms,   TIMING_COUNT,
                                              time_rms,    expect_rms, run_rms};

/* ---- layer_norm ---- */

static void add_layer_weights(kernel_input *input, arguments *a) {
    a->epsilon = 1e-5f;
    a->weight = kernel_floats(input, KERNEL_READ, a->size, 2);
    a->bias = kernel_floats(input, KERNEL_READ, a->size, 2);
}

static void draw_layer(kernel_input *input, size_t index) {
    add_layer_weights(input, draw_indexed(input, index, false));
}

static void time_layer(kernel_input *input, size_t index) {
    add_layer_weights(input, draw_timed(input, index, false));
    input->traffic_bytes *= 4;
}

static void expect_layer(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double mean = 0;
    for (size_t i = 0; i < a->size; i++) {
        mean += a->x[i] / (double)a->size;
    }
    double variance = 0;
    for (size_t i = 0; i < a->size; i++) {
        variance += (a->x[i] - mean) * (a->x[i] - mean) / (double)a->size;
    }
    double factor = 1 / sqrt(variance + a->epsilon);
    for (size_t i = 0; i < a->size; i++) {
        double weight = a->weight[i];
        kernel_expect(input, a->out + i, (a->x[i] - mean) * factor * weight + a->bias[i],
                      (fabs(a->x[i]) + fabs(mean)) * factor * fabs(weight) + fabs(a->bias[i]));
    }
}

static void run_layer(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_layer_norm_kernel *)kernel)(a->x, a->weight, a->bias, a->epsilon, a->size, a->out);
}

const kernel_contract contract_of_layer_norm = {INPUT_COUNT, draw_layer,   TIMING_COUNT,
                                                time_layer,  expect_layer, run_layer};

/* ---- l2_norm ---- */

static void draw_l2(kernel_input *input, size_t index) {
    draw_indexed(input, index, true);
}

static void time_l2(kernel_input *input, size_t index) {
    draw_timed(input, index, true);
    input->traffic_bytes *= 2;
}

static void expect_l2(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double factor = a->scale / sqrt(sum_of_squares(a) + a->epsilon);
    for (size_t i = 0; i < a->size; i++) {
        kernel_expect(input, a->x + i, a->x[i] * factor, fabs(a->x[i] * factor));
    }
}

static void run_l2(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_l2_norm_kernel *)kernel)(a->x, a->epsilon, a->scale, a->size);
}

const kernel_contract contract_of_l2_norm = {INPUT_COUNT, draw_l2,   TIMING_COUNT,
                                             time_l2,     expect_l2, run_l2};

/* ---- gated_norm ---- */

static void add_gate(kernel_input *input, arguments *a) {
    a->weight = kernel_floats(input, KERNEL_READ, a->size, 2);
    a->gate = kernel_floats(input, KERNEL_READ, a->size, 30);
}

static void draw_gated(kernel_input *input, size_t index) {
    add_gate(input, draw_indexed(input, index, true));
}

static void time_gated(kernel_input *input, size_t index) {
    add_gate(input, draw_timed(input, index, true));
    input->traffic_bytes *= 4;
}

static void expect_gated(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double factor = 1 / sqrt(sum_of_squares(a) / (double)a->size + a->epsilon);
    for (size_t i = 0; i < a->size; i++) {
        double gate = a->gate[i];
        double value = a->weight[i] * (a->x[i] * factor) * gate / (1 + exp(-gate));
        kernel_expect(input, a->x + i, value, fabs(value) + KERNEL_NEGLIGIBLE);
    }
}

static void run_gated(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_gated_norm_kernel *)kernel)(a->x, a->weight, a->epsilon, a->gate, a->size);
}

const kernel_contract contract_of_gated_norm = {INPUT_COUNT, draw_gated,   TIMING_COUNT,
                                                time_gated,  expect_gated, run_gated};
