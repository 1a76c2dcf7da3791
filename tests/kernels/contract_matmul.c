/* Inputs of matrix products: odd sizes, all stored types, ranges of columns, with and without bias.
 */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 3, 7, 8, 64, 65};
static const size_t column_counts[] = {1, 15, 16, 17, 63, 64, 65, 96, 200};
static const size_t depths[] = {1, 2, 31, 96, 255, 256, 257, 1000};
static const clef_dtype types[] = {CLEF_DTYPE_F32, CLEF_DTYPE_BF16, CLEF_DTYPE_F16};

#define INPUT_COUNT (7 * 9 * 8 * 3)

typedef struct arguments {
    clef_matmul product;
    size_t begin, end;
    void *scratch;
} arguments;

/* Weights as bits: any finite value of moderate size that the type can hold. */
static void *draw_weights(kernel_input *input, clef_dtype type, size_t count) {
    if (type == CLEF_DTYPE_F32) {
        return kernel_floats(input, KERNEL_READ, count, 1);
    }
    uint16_t *bits = kernel_bytes(input, KERNEL_READ, count * sizeof *bits);
    for (size_t i = 0; i < count; i++) {
        uint32_t sign = (uint32_t)kernel_choose(input, 2) << 15;
        uint32_t exponent = type == CLEF_DTYPE_BF16 ? 120 + (uint32_t)kernel_choose(input, 7)
                                                    : (uint32_t)kernel_choose(input, 15);
        uint32_t mantissa_bits = type == CLEF_DTYPE_BF16 ? 7 : 10;
        uint32_t mantissa = (uint32_t)kernel_choose(input, (size_t)1 << mantissa_bits);
        bits[i] = (uint16_t)(sign | exponent << mantissa_bits | mantissa);
    }
    return bits;
}

/* The value of one stored weight, by the definition of its type. */
static double weight_at(const clef_weight *weight, size_t row, size_t column) {
    size_t index = row * weight->columns + column;
    if (weight->dtype == CLEF_DTYPE_F32) {
        return ((const float *)weight->data)[index];
    }
    int bits = ((const uint16_t *)weight->data)[index];
    int mantissa_bits = weight->dtype == CLEF_DTYPE_BF16 ? 7 : 10;
    int bias = weight->dtype == CLEF_DTYPE_BF16 ? 127 : 15;
    int exponent = (bits & 0x7FFF) >> mantissa_bits;
    int mantissa = bits & ((1 << mantissa_bits) - 1);
    double size = exponent == 0
                      ? ldexp(mantissa, 1 - bias - mantissa_bits)
                      : ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    return bits & 0x8000 ? -size : size;
}

static void draw_product(kernel_input *input, size_t rows, size_t columns, size_t depth,
                         clef_dtype type) {
    arguments *a = (arguments *)(void *)input->arguments;
    size_t blocks = (depth + CLEF_MATMUL_BLOCK - 1) / CLEF_MATMUL_BLOCK;
    size_t chain = depth < CLEF_MATMUL_BLOCK ? depth : CLEF_MATMUL_BLOCK;
    a->product.x =
        kernel_matrix(input, KERNEL_READ, rows, depth, depth + kernel_choose(input, 4), 1);
    a->product.weight = (clef_weight){.data = draw_weights(input, type, columns * depth),
                                      .dtype = type,
                                      .rows = columns,
                                      .columns = depth};
    a->product.bias =
        kernel_choose(input, 2) == 0 ? NULL : kernel_floats(input, KERNEL_READ, columns, 1);
    a->product.y =
        kernel_matrix(input, KERNEL_WRITE, rows, columns, columns + kernel_choose(input, 4), 0);
    a->scratch = kernel_bytes(input, KERNEL_SCRATCH, CLEF_MATMUL_SCRATCH);
    a->begin = 0;
    a->end = columns;
    input->formula_bound = (double)(chain + blocks + 2) * 0x1p-24;
    input->operations = 2.0 * (double)rows * (double)columns * (double)depth;
}

static void draw(kernel_input *input, size_t index) {
    arguments *a = (arguments *)(void *)input->arguments;
    clef_dtype type = types[index % 3];
    index /= 3;
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t columns = KERNEL_PICK(&index, column_counts);
    size_t depth = KERNEL_PICK(&index, depths);
    draw_product(input, rows, columns, depth, type);
    if (columns > CLEF_MATMUL_PANEL) {
        size_t part = kernel_choose(input, 3);
        a->begin = part == 1 ? CLEF_MATMUL_PANEL : 0;
        a->end = part == 2 ? CLEF_MATMUL_PANEL : columns;
    }
    snprintf(input->label, sizeof input->label, "rows %zu, columns %zu to %zu of %zu, k %zu, %s",
             rows, a->begin, a->end, columns, depth, clef_dtype_name(type));
}

static void draw_timing(kernel_input *input, size_t index) {
    static const size_t rows[] = {1, 8, 64, 512};
    static const size_t shapes[][2] = {{1024, 1024}, {3584, 1024}, {1024, 3584}};
    clef_dtype type = types[index % 3];
    index /= 3;
    size_t row_count = KERNEL_PICK(&index, rows);
    const size_t *shape = shapes[index % 3];
    draw_product(input, row_count, shape[0], shape[1], type);
    snprintf(input->label, sizeof input->label, "rows %zu, columns %zu, k %zu, %s", row_count,
             shape[0], shape[1], clef_dtype_name(type));
}

static void expect(kernel_input *input) {
    const arguments *a = (const arguments *)(const void *)input->arguments;
    const clef_matmul *p = &a->product;
    for (size_t n = a->begin; n < a->end; n++) {
        double bias = p->bias == NULL ? 0 : p->bias[n];
        double row[1024];
        for (size_t k = 0; k < p->x.columns; k++) {
            row[k] = weight_at(&p->weight, n, k);
        }
        for (size_t r = 0; r < p->x.rows; r++) {
            double sum = bias;
            double magnitude = fabs(bias);
            for (size_t k = 0; k < p->x.columns; k++) {
                double term = p->x.data[r * p->x.stride + k] * row[k];
                sum += term;
                magnitude += fabs(term);
            }
            kernel_expect(input, p->y.data + r * p->y.stride + n, sum, magnitude);
        }
    }
}

static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = (const arguments *)(const void *)input->arguments;
    ((clef_matmul_kernel *)kernel)(&a->product, a->begin, a->end, a->scratch);
}

const kernel_contract contract_of_matmul = {
    .input_count = INPUT_COUNT,
    .draw = draw,
    .timing_count = 3 * 4 * 3,
    .draw_timing = draw_timing,
    .expect = expect,
    .run = run,
};
