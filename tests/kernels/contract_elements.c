/* Inputs of element-wise functions and of the rotation: every size around a vector's width; numbers
 * from tiny to far outside where the functions bend. */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t sizes[] = {1,  2,  3,  7,  8,  15, 16,  17,  31,
                               32, 33, 63, 64, 65, 96, 200, 257, 1000};
static const double ranges[] = {1e-6, 1, 8, 40, 1000};
static const size_t timing_sizes[] = {64, 3584};

#define RANGE_COUNT  (sizeof ranges / sizeof ranges[0])
#define INPUT_COUNT  (sizeof sizes / sizeof sizes[0] * RANGE_COUNT)
#define TIMING_COUNT (sizeof timing_sizes / sizeof timing_sizes[0])

typedef struct arguments {
    float *x, *y;
    const float *u, *v;
    size_t size;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

static arguments *draw_row(kernel_input *input, size_t size, double range) {
    arguments *a = arguments_of(input);
    *a = (arguments){.size = size, .x = kernel_floats(input, KERNEL_CHANGE, size, range)};
    /* Zeros of both signs, wherever there is room. */
    if (size > 2) {
        a->x[1] = 0.0f;
        a->x[2] = -0.0f;
    }
    input->formula_bound = KERNEL_EPSILON;
    input->traffic_bytes = 2.0 * (double)size * sizeof(float);
    snprintf(input->label, sizeof input->label, "size %zu, numbers to %g", size, range);
    return a;
}

static arguments *draw_indexed(kernel_input *input, size_t index, double *range) {
    size_t size = KERNEL_PICK(&index, sizes);
    *range = ranges[index];
    return draw_row(input, size, *range);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* ---- swiglu ---- */

static void draw_swiglu(kernel_input *input, size_t index) {
    double range;
    arguments *a = draw_indexed(input, index, &range);
    a->u = kernel_floats(input, KERNEL_READ, a->size, 4);
}

static void time_swiglu(kernel_input *input, size_t index) {
    arguments *a = draw_row(input, timing_sizes[index], 8);
    a->u = kernel_floats(input, KERNEL_READ, a->size, 4);
    input->traffic_bytes *= 1.5;
}

static void expect_swiglu(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t i = 0; i < a->size; i++) {
        double value = a->x[i] * sigmoid(a->x[i]) * a->u[i];
        kernel_expect(input, a->x + i, value, fabs(value) + KERNEL_NEGLIGIBLE);
    }
}

static void run_swiglu(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_swiglu_kernel *)kernel)(a->x, a->u, a->size);
}

const kernel_contract contract_of_swiglu = {INPUT_COUNT, draw_swiglu,   TIMING_COUNT,
                                            time_swiglu, expect_swiglu, run_swiglu};

/* ---- gelu ---- */

static void draw_gelu(kernel_input *input, size_t index) {
    double range;
    draw_indexed(input, index, &range);
}

static void time_gelu(kernel_input *input, size_t index) {
    draw_row(input, timing_sizes[index], 4);
}

/* 1 + erf(…) cancels on the left, so errors are relative to its parts. */
static void expect_gelu(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t i = 0; i < a->size; i++) {
        double x = a->x[i];
        double error = erf(x / sqrt(2.0));
        kernel_expect(input, a->x + i, 0.5 * x * (1 + error), 0.5 * fabs(x) * (1 + fabs(error)));
    }
}

static void run_gelu(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_gelu_kernel *)kernel)(a->x, a->size);
}

const kernel_contract contract_of_gelu = {INPUT_COUNT, draw_gelu,   TIMING_COUNT,
                                          time_gelu,   expect_gelu, run_gelu};

/* ---- gelu_tanh ---- */

/* Likewise relative to its parts. */
static void expect_gelu_tanh(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t i = 0; i < a->size; i++) {
        double x = a->x[i];
        double curve = tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x));
        kernel_expect(input, a->x + i, 0.5 * x * (1 + curve), 0.5 * fabs(x) * (1 + fabs(curve)));
    }
}

static void run_gelu_tanh(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_gelu_tanh_kernel *)kernel)(a->x, a->size);
}

const kernel_contract contract_of_gelu_tanh = {INPUT_COUNT, draw_gelu,        TIMING_COUNT,
                                               time_gelu,   expect_gelu_tanh, run_gelu_tanh};

/* ---- sigmoid_gate ---- */

static void draw_sigmoid(kernel_input *input, size_t index) {
    double range;
    arguments *a = draw_indexed(input, index, &range);
    a->u = kernel_floats(input, KERNEL_READ, a->size, range);
}

static void time_sigmoid(kernel_input *input, size_t index) {
    arguments *a = draw_row(input, timing_sizes[index], 8);
    a->u = kernel_floats(input, KERNEL_READ, a->size, 8);
    input->traffic_bytes *= 1.5;
}

static void expect_sigmoid(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t i = 0; i < a->size; i++) {
        double value = a->x[i] * sigmoid(a->u[i]);
        kernel_expect(input, a->x + i, value, fabs(value) + KERNEL_NEGLIGIBLE);
    }
}

static void run_sigmoid(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_sigmoid_gate_kernel *)kernel)(a->x, a->u, a->size);
}

const kernel_contract contract_of_sigmoid_gate = {INPUT_COUNT,  draw_sigmoid,   TIMING_COUNT,
                                                  time_sigmoid, expect_sigmoid, run_sigmoid};

/* ---- delta_gates ---- */

static void add_gates(kernel_input *input, arguments *a, double range) {
    a->y = kernel_floats(input, KERNEL_CHANGE, a->size, range);
    a->u = kernel_floats(input, KERNEL_READ, a->size, 4);
    a->v = kernel_floats(input, KERNEL_READ, a->size, 8);
}

static void draw_gates(kernel_input *input, size_t index) {
    double range;
    arguments *a = draw_indexed(input, index, &range);
    add_gates(input, a, range);
}

static void time_gates(kernel_input *input, size_t index) {
    add_gates(input, draw_row(input, timing_sizes[index], 8), 8);
    input->traffic_bytes *= 3;
}

/* The sum a + dt_bias is rounded; what that does to softplus is its slope, the sigmoid. */
static void expect_gates(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t i = 0; i < a->size; i++) {
        double step = (double)a->x[i] + a->v[i];
        double rate = exp(a->u[i]);
        double softplus = step > 0 ? step + log1p(exp(-step)) : log1p(exp(step));
        double slope = sigmoid(step) * (fabs(a->x[i]) + fabs(a->v[i]));
        kernel_expect(input, a->x + i, -rate * softplus,
                      rate * (softplus + slope) + KERNEL_NEGLIGIBLE);
        double beta = sigmoid(a->y[i]);
        kernel_expect(input, a->y + i, beta, beta + KERNEL_NEGLIGIBLE);
    }
}

static void run_gates(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_delta_gates_kernel *)kernel)(a->x, a->y, a->u, a->v, a->size);
}

const kernel_contract contract_of_delta_gates = {INPUT_COUNT, draw_gates,   TIMING_COUNT,
                                                 time_gates,  expect_gates, run_gates};

/* ---- rotary ---- */

/* x has 2·half elements and up to three that must stay. */
static void draw_turn(kernel_input *input, size_t half, size_t more) {
    arguments *a = arguments_of(input);
    float *cosine = kernel_floats(input, KERNEL_READ, half, 1);
    float *sine = kernel_floats(input, KERNEL_READ, half, 1);
    for (size_t i = 0; i < half; i++) {
        double angle = kernel_between(input, 0, 7);
        cosine[i] = (float)cos(angle);
        sine[i] = (float)sin(angle);
    }
    *a = (arguments){.size = half,
                     .u = cosine,
                     .v = sine,
                     .x = kernel_floats(input, KERNEL_CHANGE, 2 * half + more, 3)};
    input->formula_bound = 2 * KERNEL_EPSILON;
    input->traffic_bytes = 6.0 * (double)half * sizeof(float);
    snprintf(input->label, sizeof input->label, "half %zu, %zu more", half, more);
}

static void draw_rotary(kernel_input *input, size_t index) {
    size_t half = KERNEL_PICK(&index, sizes);
    draw_turn(input, half, index);
}

static void time_rotary(kernel_input *input, size_t index) {
    (void)index;
    draw_turn(input, 32, 192);
}

static void expect_rotary(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t i = 0; i < a->size; i++) {
        double first = a->x[i];
        double second = a->x[i + a->size];
        double cosine = a->u[i];
        double sine = a->v[i];
        kernel_expect(input, a->x + i, first * cosine - second * sine,
                      fabs(first * cosine) + fabs(second * sine));
        kernel_expect(input, a->x + i + a->size, second * cosine + first * sine,
                      fabs(second * cosine) + fabs(first * sine));
    }
}

static void run_rotary(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_rotary_kernel *)kernel)(a->x, a->u, a->v, a->size);
}

const kernel_contract contract_of_rotary = {
    sizeof sizes / sizeof sizes[0] * 4, draw_rotary, 1, time_rotary, expect_rotary, run_rotary};
