/* Inputs of the short convolution: slices shorter and longer than the taps, ranges of channels. */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 3, 4, 7, 8, 64, 65};
static const size_t column_counts[] = {1, 15, 16, 17, 63, 64, 65, 96, 200};
static const size_t tap_counts[] = {2, 3, 4, 16};

typedef struct arguments {
    clef_short_convolution slice;
    size_t begin, end;
} arguments;

static void draw_slice(kernel_input *input, size_t rows, size_t columns, size_t taps) {
    arguments *a = (arguments *)(void *)input->arguments;
    *a = (arguments){.slice = {.x = kernel_matrix(input, KERNEL_READ, rows, columns,
                                                  columns + kernel_choose(input, 4), 2),
                               .weight = kernel_floats(input, KERNEL_READ, columns * taps, 1),
                               .taps = taps,
                               .tail = kernel_floats(input, KERNEL_CHANGE, (taps - 1) * columns, 2),
                               .out = kernel_matrix(input, KERNEL_WRITE, rows, columns,
                                                    columns + kernel_choose(input, 4), 0)},
                     .end = columns};
    input->formula_bound = KERNEL_EPSILON;
    input->traffic_bytes = 2.0 * (double)(rows * columns) * sizeof(float);
}

static void draw(kernel_input *input, size_t index) {
    arguments *a = (arguments *)(void *)input->arguments;
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t columns = KERNEL_PICK(&index, column_counts);
    size_t taps = KERNEL_PICK(&index, tap_counts);
    draw_slice(input, rows, columns, taps);
    if (index == 1) {
        a->begin = kernel_choose(input, columns);
        a->end = a->begin + 1 + kernel_choose(input, columns - a->begin);
    }
    snprintf(input->label, sizeof input->label, "rows %zu, channels %zu to %zu of %zu, taps %zu",
             rows, a->begin, a->end, columns, taps);
}

static void draw_timing(kernel_input *input, size_t index) {
    size_t rows = index == 0 ? 64 : 512;
    draw_slice(input, rows, 6144, 4);
    snprintf(input->label, sizeof input->label, "rows %zu, channels 6144, taps 4", rows);
}

/* The number `back` rows before row t of the slice. */
static double input_before(const clef_short_convolution *slice, size_t t, size_t back, size_t c) {
    if (back <= t) {
        return slice->x.data[(t - back) * slice->x.stride + c];
    }
    return slice->tail[(slice->taps - 1 + t - back) * slice->x.columns + c];
}

static void expect(kernel_input *input) {
    const arguments *a = (const arguments *)(const void *)input->arguments;
    const clef_short_convolution *s = &a->slice;
    for (size_t c = a->begin; c < a->end; c++) {
        for (size_t t = 0; t < s->x.rows; t++) {
            double sum = 0;
            double magnitude = 0;
            for (size_t back = 0; back < s->taps; back++) {
                double term =
                    s->weight[c * s->taps + s->taps - 1 - back] * input_before(s, t, back, c);
                sum += term;
                magnitude += fabs(term);
            }
            kernel_expect(input, s->out.data + t * s->out.stride + c, sum / (1 + exp(-sum)),
                          1.1 * magnitude);
        }
        for (size_t row = 0; row + 1 < s->taps; row++) {
            double kept = input_before(s, s->x.rows, s->taps - 1 - row, c);
            kernel_expect(input, s->tail + row * s->x.columns + c, kept, 0);
        }
    }
}

static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = (const arguments *)(const void *)input->arguments;
    ((clef_short_convolution_kernel *)kernel)(&a->slice, a->begin, a->end);
}

const kernel_contract contract_of_short_convolution = {
    .input_count = 8 * 9 * 4 * 2,
    .draw = draw,
    .timing_count = 2,
    .draw_timing = draw_timing,
    .expect = expect,
    .run = run,
};
