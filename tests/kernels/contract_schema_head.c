/* Inputs of the joint head's small kernels. */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 3, 7, 8, 64, 65, 255};
static const size_t column_counts[] = {1, 2, 15, 16, 17, 63, 64, 65, 96, 192, 257};
static const double ranges[] = {0.1, 1, 20};

#define SIZE_COUNT (8 * 11)

typedef struct arguments {
    clef_matrix x;
    const float *a, *b;
    float *out;
    double *total;
    float floor;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

static arguments *draw_matrix(kernel_input *input, size_t rows, size_t columns, double range) {
    arguments *a = arguments_of(input);
    *a = (arguments){.x = kernel_matrix(input, KERNEL_READ, rows, columns,
                                        columns + kernel_choose(input, 4), range)};
    input->traffic_bytes = (double)(rows * columns) * sizeof(float);
    snprintf(input->label, sizeof input->label, "rows %zu, columns %zu, numbers to %g", rows,
             columns, range);
    return a;
}

static arguments *draw_indexed(kernel_input *input, size_t index) {
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t columns = KERNEL_PICK(&index, column_counts);
    return draw_matrix(input, rows, columns, ranges[index % 3]);
}

/* ---- sum_rows ---- */

static void draw_sum(kernel_input *input, size_t index) {
    arguments *a = draw_indexed(input, index);
    a->total = kernel_doubles(input, KERNEL_CHANGE, a->x.columns, 100);
    input->formula_bound = 300 * 0x1p-53;
}

static void time_sum(kernel_input *input, size_t index) {
    arguments *a = draw_matrix(input, index == 0 ? 8 : 64, 1024, 1);
    a->total = kernel_doubles(input, KERNEL_CHANGE, a->x.columns, 100);
}

static void expect_sum(kernel_input *input) {
    const arguments *a = arguments_of(input);
    for (size_t c = 0; c < a->x.columns; c++) {
        long double sum = a->total[c];
        double magnitude = fabs(a->total[c]);
        for (size_t row = 0; row < a->x.rows; row++) {
            sum += a->x.data[row * a->x.stride + c];
            magnitude += fabs(a->x.data[row * a->x.stride + c]);
        }
        kernel_expect(input, a->total + c, (double)sum, magnitude);
    }
}

static void run_sum(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_sum_rows_kernel *)kernel)(a->x, a->total);
}

const kernel_contract contract_of_sum_rows = {SIZE_COUNT, draw_sum,   2,
                                              time_sum,   expect_sum, run_sum};

/* ---- summarise ---- */

static void draw_summary(kernel_input *input, size_t index) {
    arguments *a = draw_indexed(input, index);
    a->b = kernel_floats(input, KERNEL_READ, a->x.columns, 2);
    a->out = kernel_floats(input, KERNEL_WRITE, a->x.columns, 0);
    input->formula_bound = (double)(a->x.rows + 4) * 0x1p-24;
}

static void time_summary(kernel_input *input, size_t index) {
    arguments *a = draw_matrix(input, index == 0 ? 4 : 255, 512, 1);
    a->b = kernel_floats(input, KERNEL_READ, a->x.columns, 2);
    a->out = kernel_floats(input, KERNEL_WRITE, a->x.columns, 0);
}

static void expect_summary(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double scores[255];
    double spread = 0;
    double highest = -INFINITY;
    for (size_t j = 0; j < a->x.rows; j++) {
        double magnitude = 0;
        scores[j] = 0;
        for (size_t c = 0; c < a->x.columns; c++) {
            double term =
                (double)a->x.data[j * a->x.stride + c] * a->b[c] / sqrt((double)a->x.columns);
            scores[j] += term;
            magnitude += fabs(term);
        }
        spread = fmax(spread, magnitude);
        highest = fmax(highest, scores[j]);
    }
    double divisor = 0;
    for (size_t j = 0; j < a->x.rows; j++) {
        divisor += exp(scores[j] - highest);
    }
    for (size_t c = 0; c < a->x.columns; c++) {
        double sum = 0;
        double magnitude = 0;
        for (size_t j = 0; j < a->x.rows; j++) {
            double term = exp(scores[j] - highest) / divisor * a->x.data[j * a->x.stride + c];
            sum += term;
            magnitude += fabs(term);
        }
        /* An error of a score is a relative error of its weight. */
        kernel_expect(input, a->out + c, sum, magnitude * (1 + 2 * spread) + KERNEL_NEGLIGIBLE);
    }
}

static void run_summary(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_summarise_kernel *)kernel)(a->x, a->b, a->out);
}

const kernel_contract contract_of_summarise = {SIZE_COUNT,   draw_summary,   2,
                                               time_summary, expect_summary, run_summary};

/* ---- cosine ---- */

/* Index 0 of three: ordinary vectors; then one and two that are all zero, where the floor counts.
 */
static void draw_cosine(kernel_input *input, size_t index) {
    arguments *a = arguments_of(input);
    size_t columns = KERNEL_PICK(&index, column_counts);
    *a = (arguments){.floor = 1e-8f,
                     .x = {.columns = columns},
                     .a = kernel_floats(input, KERNEL_READ, columns, index > 1 ? 0 : 3),
                     .b = kernel_floats(input, KERNEL_READ, columns, index > 0 ? 0 : 3),
                     .out = kernel_floats(input, KERNEL_WRITE, 1, 0)};
    input->formula_bound = 2 * KERNEL_EPSILON;
    input->traffic_bytes = 2.0 * (double)columns * sizeof(float);
    snprintf(input->label, sizeof input->label, "columns %zu, %zu of two are zero", columns, index);
}

static void time_cosine(kernel_input *input, size_t index) {
    draw_cosine(input, index == 0 ? 7 : 10);
}

static void expect_cosine(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double product = 0, magnitude = 0, a_squares = 0, b_squares = 0;
    for (size_t i = 0; i < a->x.columns; i++) {
        product += (double)a->a[i] * a->b[i];
        magnitude += fabs((double)a->a[i] * a->b[i]);
        a_squares += (double)a->a[i] * a->a[i];
        b_squares += (double)a->b[i] * a->b[i];
    }
    double lengths = fmax(sqrt(a_squares), a->floor) * fmax(sqrt(b_squares), a->floor);
    kernel_expect(input, a->out, product / lengths, magnitude / lengths);
}

static void run_cosine(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    *a->out = ((clef_cosine_kernel *)kernel)(a->a, a->b, a->x.columns, a->floor);
}

const kernel_contract contract_of_cosine = {11 * 3,      draw_cosine,   2,
                                            time_cosine, expect_cosine, run_cosine};

/* ---- pair_features ---- */

static void draw_pair_of(kernel_input *input, size_t columns) {
    arguments *a = arguments_of(input);
    *a = (arguments){.x = {.columns = columns},
                     .a = kernel_floats(input, KERNEL_READ, columns, 3),
                     .b = kernel_floats(input, KERNEL_READ, columns, 3),
                     .out = kernel_floats(input, KERNEL_WRITE, 4 * columns, 0)};
    input->formula_bound = KERNEL_EPSILON;
    input->traffic_bytes = 6.0 * (double)columns * sizeof(float);
    snprintf(input->label, sizeof input->label, "columns %zu", columns);
}

static void draw_pair(kernel_input *input, size_t index) {
    draw_pair_of(input, column_counts[index]);
}

static void time_pair(kernel_input *input, size_t index) {
    (void)index;
    draw_pair_of(input, 512);
}

static void expect_pair(kernel_input *input) {
    const arguments *a = arguments_of(input);
    size_t columns = a->x.columns;
    for (size_t c = 0; c < columns; c++) {
        double field = a->a[c];
        double option = a->b[c];
        kernel_expect(input, a->out + c, field, 0);
        kernel_expect(input, a->out + columns + c, option, 0);
        kernel_expect(input, a->out + 2 * columns + c, field * option, fabs(field * option));
        kernel_expect(input, a->out + 3 * columns + c, fabs(field - option),
                      fabs(field) + fabs(option));
    }
}

static void run_pair(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_pair_features_kernel *)kernel)(a->a, a->b, a->x.columns, a->out);
}

const kernel_contract contract_of_pair_features = {11,        draw_pair,   1,
                                                   time_pair, expect_pair, run_pair};
