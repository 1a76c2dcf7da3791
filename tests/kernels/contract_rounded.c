/* Inputs of products with rounded operands – bfloat16, int8 and 4 bits – and of the rounding
 * itself. What must come out is computed in double from the rounded operands, which the test reads
 * by their definition. */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 3, 7, 12, 64, 65};
static const size_t column_counts[] = {1, 15, 17, 64, 65, 96};
static const size_t depths[] = {32, 64, 96, 200, 256, 288, 1000};
static const size_t groups[] = {32, 64};

typedef struct arguments {
    clef_matmul product;
    size_t begin, end, row;
    void *scratch;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

static size_t rounded_stride(size_t columns) {
    return (columns + CLEF_ROUNDED_STRIDE - 1) / CLEF_ROUNDED_STRIDE * CLEF_ROUNDED_STRIDE;
}

/* Everything of a product but weights and rounded inputs. */
static arguments *draw_product(kernel_input *input, size_t rows, size_t columns, size_t depth) {
    arguments *a = arguments_of(input);
    size_t blocks = (depth + CLEF_MATMUL_BLOCK - 1) / CLEF_MATMUL_BLOCK;
    size_t chain = depth < CLEF_MATMUL_BLOCK ? depth : CLEF_MATMUL_BLOCK;
    *a = (arguments){.begin = 0, .end = columns};
    a->product.x = kernel_matrix(input, KERNEL_READ, rows, depth, depth, 1);
    a->product.bias =
        kernel_choose(input, 2) == 0 ? NULL : kernel_floats(input, KERNEL_READ, columns, 1);
    a->product.y = kernel_matrix(input, KERNEL_WRITE, rows, columns, columns + 3, 0);
    a->product.rounded.stride = rounded_stride(depth);
    a->scratch = kernel_bytes(input, KERNEL_SCRATCH, CLEF_MATMUL_SCRATCH);
    if (columns > CLEF_MATMUL_PANEL && kernel_choose(input, 2) == 0) {
        a->begin = CLEF_MATMUL_PANEL;
    }
    input->formula_bound = (double)(chain + blocks + 4) * 0x1p-24;
    input->operations = 2.0 * (double)rows * (double)columns * (double)depth;
    return a;
}

/* ---- bfloat16 ---- */

static void draw_bf16_case(kernel_input *input, size_t rows, size_t columns, size_t depth) {
    arguments *a = draw_product(input, rows, columns, depth);
    const uint16_t *weights = kernel_bf16(input, KERNEL_READ, columns * depth, 1);
    size_t stride = a->product.rounded.stride;
    uint16_t *values = kernel_bf16(input, KERNEL_READ, rows * stride, 1);
    for (size_t row = 0; row < rows; row++) {
        memset(values + row * stride + depth, 0, (stride - depth) * sizeof *values);
    }
    a->product.rounded.values = values;
    a->product.weight = (clef_weight){.data = weights,
                                      .dtype = CLEF_DTYPE_BF16,
                                      .rows = columns,
                                      .columns = depth,
                                      .arithmetic = CLEF_ARITHMETIC_BF16};
    snprintf(input->label, sizeof input->label, "rows %zu, columns %zu, k %zu", rows, columns,
             depth);
}

static void draw_matmul_bf16(kernel_input *input, size_t index) {
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t columns = KERNEL_PICK(&index, column_counts);
    draw_bf16_case(input, rows, columns, KERNEL_PICK(&index, depths));
}

static void time_matmul_bf16(kernel_input *input, size_t index) {
    static const size_t rows[] = {1, 8, 64, 512};
    draw_bf16_case(input, rows[index], 1024, 1024);
}

static double bf16_input(const arguments *a, size_t row, size_t k) {
    const uint16_t *values = a->product.rounded.values;
    return clef_float_of_bf16(values[row * a->product.rounded.stride + k]);
}

static double bf16_weight(const arguments *a, size_t n, size_t k) {
    return clef_float_of_bf16(
        ((const uint16_t *)a->product.weight.data)[n * a->product.weight.columns + k]);
}

/* ---- int8 and 4 bits ---- */

static void draw_int8_case(kernel_input *input, size_t rows, size_t columns, size_t depth,
                           size_t group, bool is_packed) {
    arguments *a = draw_product(input, rows, columns, depth);
    size_t group_count = (depth + group - 1) / group;
    size_t row_bytes = is_packed ? (depth + 31) / 32 * 16 : depth;
    uint8_t *weights = kernel_bytes(input, KERNEL_READ, columns * row_bytes);
    for (size_t i = 0; i < columns * row_bytes; i++) {
        /* Packed: any byte is two values. Plain: int8 from -127 to 127. */
        weights[i] = is_packed ? (uint8_t)kernel_choose(input, 256)
                               : (uint8_t)((int)kernel_choose(input, 255) - 127);
    }
    size_t stride = a->product.rounded.stride;
    uint8_t *values = kernel_bytes(input, KERNEL_READ, rows * stride);
    for (size_t i = 0; i < rows * stride; i++) {
        values[i] = i % stride < depth ? (uint8_t)(1 + kernel_choose(input, 255)) : 128;
    }
    a->product.rounded.values = values;
    a->product.rounded.group = group;
    a->product.rounded.groups = group_count;
    a->product.rounded.scales = kernel_floats(input, KERNEL_READ, rows * group_count, 0.01);
    a->product.weight = (clef_weight){
        .data = weights,
        .dtype = is_packed ? CLEF_DTYPE_U8 : CLEF_DTYPE_I8,
        .rows = columns,
        .columns = depth,
        .arithmetic = CLEF_ARITHMETIC_INT8,
        .scales = kernel_floats(input, KERNEL_READ, columns * group_count, 0.01),
        .group = group,
    };
    snprintf(input->label, sizeof input->label, "rows %zu, columns %zu, k %zu, groups of %zu, %s",
             rows, columns, depth, group, is_packed ? "4 bits" : "int8");
}

static void draw_matmul_int8(kernel_input *input, size_t index) {
    bool is_packed = index % 2 == 1;
    index /= 2;
    size_t group = KERNEL_PICK(&index, groups);
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t columns = KERNEL_PICK(&index, column_counts);
    size_t depth = KERNEL_PICK(&index, depths);
    draw_int8_case(input, rows, columns, is_packed ? (depth + 31) / 32 * 32 : depth, group,
                   is_packed);
}

static void time_matmul_int8(kernel_input *input, size_t index) {
    static const size_t rows[] = {1, 8, 64, 512};
    draw_int8_case(input, rows[index / 2], 1024, 1024, 64, index % 2 == 1);
}

static double int8_input(const arguments *a, size_t row, size_t k) {
    const clef_rounded_rows *rounded = &a->product.rounded;
    int value = ((const uint8_t *)rounded->values)[row * rounded->stride + k] - 128;
    return value * (double)rounded->scales[row * rounded->groups + k / rounded->group];
}

static double int8_weight(const arguments *a, size_t n, size_t k) {
    const clef_weight *w = &a->product.weight;
    double scale = w->scales[n * a->product.rounded.groups + k / w->group];
    if (w->dtype == CLEF_DTYPE_I8) {
        return scale * ((const int8_t *)w->data)[n * w->columns + k];
    }
    uint8_t byte = ((const uint8_t *)w->data)[n * (w->columns / 2) + k / 32 * 16 + k % 16];
    return scale * ((k / 16 % 2 == 0 ? byte & 15 : byte >> 4) - 8);
}

/* ---- what both share ---- */

static void expect_product(kernel_input *input,
                           double (*x_at)(const arguments *a, size_t row, size_t k),
                           double (*w_at)(const arguments *a, size_t n, size_t k)) {
    const arguments *a = arguments_of(input);
    const clef_matmul *p = &a->product;
    for (size_t n = a->begin; n < a->end; n++) {
        for (size_t r = 0; r < p->x.rows; r++) {
            double sum = p->bias == NULL ? 0 : p->bias[n];
            double magnitude = fabs(sum);
            for (size_t k = 0; k < p->x.columns; k++) {
                double term = x_at(a, r, k) * w_at(a, n, k);
                sum += term;
                magnitude += fabs(term);
            }
            kernel_expect(input, p->y.data + r * p->y.stride + n, sum, magnitude);
        }
    }
}

static void expect_matmul_bf16(kernel_input *input) {
    expect_product(input, bf16_input, bf16_weight);
}

static void expect_matmul_int8(kernel_input *input) {
    expect_product(input, int8_input, int8_weight);
}

static void run_matmul(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_matmul_bf16_kernel *)kernel)(&a->product, a->begin, a->end, a->scratch);
}

#define CASES (7 * 6 * 7)

const kernel_contract contract_of_matmul_bf16 = {.input_count = CASES,
                                                 .draw = draw_matmul_bf16,
                                                 .timing_count = 4,
                                                 .draw_timing = time_matmul_bf16,
                                                 .expect = expect_matmul_bf16,
                                                 .run = run_matmul};

const kernel_contract contract_of_matmul_int8 = {.input_count = 2 * 2 * CASES,
                                                 .draw = draw_matmul_int8,
                                                 .timing_count = 8,
                                                 .draw_timing = time_matmul_int8,
                                                 .expect = expect_matmul_int8,
                                                 .run = run_matmul};

/* ---- rounding ---- */

static const double ranges[] = {1e-6, 1, 300};

static arguments *draw_rows(kernel_input *input, size_t index) {
    arguments *a = arguments_of(input);
    size_t depth = KERNEL_PICK(&index, depths);
    double range = ranges[index % 3];
    *a = (arguments){.row = 1};
    a->product.x = kernel_matrix(input, KERNEL_READ, 3, depth, depth + 1, range);
    a->product.x.data[a->product.x.stride + 5] = 0.0f;
    a->product.rounded.stride = rounded_stride(depth);
    snprintf(input->label, sizeof input->label, "columns %zu, numbers to %g", depth, range);
    return a;
}

static void draw_round_bf16(kernel_input *input, size_t index) {
    arguments *a = draw_rows(input, index);
    a->product.rounded.values =
        kernel_bytes(input, KERNEL_CHANGE, 3 * a->product.rounded.stride * sizeof(uint16_t));
}

static void draw_round_int8(kernel_input *input, size_t index) {
    arguments *a = draw_rows(input, index);
    a->product.rounded.group = groups[index % 2];
    a->product.rounded.groups =
        (a->product.x.columns + a->product.rounded.group - 1) / a->product.rounded.group;
    a->product.rounded.values = kernel_bytes(input, KERNEL_CHANGE, 3 * a->product.rounded.stride);
    a->product.rounded.scales =
        kernel_floats(input, KERNEL_WRITE, 3 * a->product.rounded.groups, 0);
}

/* Bytes of the one row that is rounded; all others must stay. */
static void expect_round_bf16(kernel_input *input) {
    const arguments *a = arguments_of(input);
    const clef_rounded_rows *rounded = &a->product.rounded;
    const float *x = a->product.x.data + a->row * a->product.x.stride;
    uint8_t *bytes = (uint8_t *)rounded->values + a->row * rounded->stride * sizeof(uint16_t);
    for (size_t k = 0; k < rounded->stride; k++) {
        uint16_t bits = k < a->product.x.columns ? clef_bf16_of_float(x[k]) : 0;
        kernel_expect(input, bytes + 2 * k, bits & 255, 1);
        kernel_expect(input, bytes + 2 * k + 1, bits >> 8, 1);
    }
}

static void expect_round_int8(kernel_input *input) {
    const arguments *a = arguments_of(input);
    const clef_rounded_rows *rounded = &a->product.rounded;
    const float *x = a->product.x.data + a->row * a->product.x.stride;
    uint8_t *values = (uint8_t *)rounded->values + a->row * rounded->stride;
    for (size_t g = 0; g < rounded->groups; g++) {
        float largest = 0;
        for (size_t k = g * rounded->group; k < a->product.x.columns && k / rounded->group == g;
             k++) {
            largest = fmaxf(largest, fabsf(x[k]));
        }
        kernel_expect(input, rounded->scales + a->row * rounded->groups + g, largest / 127.0f,
                      largest);
        for (size_t k = g * rounded->group; k < a->product.x.columns && k / rounded->group == g;
             k++) {
            float factor = largest > 0 ? 127.0f / largest : 0;
            kernel_expect(input, values + k, 128 + rintf(x[k] * factor), 1);
        }
    }
    for (size_t k = a->product.x.columns; k < rounded->stride; k++) {
        kernel_expect(input, values + k, 128, 1);
    }
}

static void run_round(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_round_row_bf16_kernel *)kernel)(a->product.x, a->row, &a->product.rounded);
}

const kernel_contract contract_of_round_row_bf16 = {
    .input_count = 7 * 3, .draw = draw_round_bf16, .expect = expect_round_bf16, .run = run_round};

const kernel_contract contract_of_round_row_int8 = {
    .input_count = 7 * 3, .draw = draw_round_int8, .expect = expect_round_int8, .run = run_round};
