/* Products of few rows with inputs so wide that they no longer fit the scratch: a level that reads
 * weights as a stream for few rows has to leave them to its panels there. Whichever way a level
 * takes, and on whichever side of the border a product lies, its rows have the bits that they have
 * among many. The page behind the scratch cannot be written. For every level this machine has. */
#include "kernel_case.h"

#include "support.h"

#include <string.h>

enum { MANY = 17, FEW = 8, GROUP = 32 };

/* Columns with which `rows` rows just fit the scratch. */
#define FITTING(rows) ((size_t)CLEF_MATMUL_INPUTS / (rows)-CLEF_MATMUL_PADDING)

/* A product of MANY rows, and room for the results of few of them. */
typedef struct wide_case {
    clef_matmul_kernel *multiply;
    clef_matmul whole;
    size_t value_bytes; /* of a rounded input; 0 when inputs are not rounded */
    float *space;       /* [FEW, outputs] */
    void *scratch;
} wide_case;

static size_t group_count(size_t depth) {
    return (depth + GROUP - 1) / GROUP;
}

static void check_rows(const wide_case *c, size_t first, size_t rows) {
    size_t outputs = c->whole.weight.rows;
    clef_matmul part = c->whole;
    part.x = clef_matrix_rows(c->whole.x, first, rows);
    part.y = (clef_matrix){c->space, rows, outputs, outputs};
    if (c->value_bytes > 0) {
        part.rounded.values =
            (char *)part.rounded.values + first * part.rounded.stride * c->value_bytes;
        part.rounded.scales += first * part.rounded.groups;
    }
    memset(c->space, 0xFF, rows * outputs * sizeof *c->space);
    c->multiply(&part, 0, outputs, c->scratch);
    for (size_t row = 0; row < rows; row++) {
        const float *whole = c->whole.y.data + (first + row) * c->whole.y.stride;
        if (memcmp(c->space + row * outputs, whole, outputs * sizeof *whole) != 0) {
            fail_msg("k %zu, %s: row %zu of %zu from %zu has other bits than among %d",
                     c->whole.weight.columns, clef_dtype_name(c->whole.weight.dtype), row, rows,
                     first, MANY);
        }
    }
}

static void check_few(const wide_case *c) {
    c->multiply(&c->whole, 0, c->whole.weight.rows, c->scratch);
    for (size_t rows = 1; rows <= FEW; rows++) {
        check_rows(c, 0, rows);
        check_rows(c, MANY - rows, rows);
    }
}

static wide_case draw_case(kernel_input *input, size_t outputs, size_t depth) {
    return (wide_case){
        .whole = {.x = kernel_matrix(input, KERNEL_READ, MANY, depth, depth, 1),
                  .bias = kernel_floats(input, KERNEL_READ, outputs, 1),
                  .y = kernel_matrix(input, KERNEL_WRITE, MANY, outputs, outputs, 0),
                  .weight = {.dtype = CLEF_DTYPE_F32, .rows = outputs, .columns = depth}},
        .space = kernel_floats(input, KERNEL_WRITE, FEW * outputs, 0),
        .scratch = kernel_bytes(input, KERNEL_SCRATCH, CLEF_MATMUL_SCRATCH),
    };
}

static void round_inputs(kernel_input *input, wide_case *c, clef_round_row_bf16_kernel *round,
                         size_t value_bytes) {
    size_t depth = c->whole.x.columns;
    size_t stride = (depth + CLEF_ROUNDED_STRIDE - 1) / CLEF_ROUNDED_STRIDE * CLEF_ROUNDED_STRIDE;
    c->value_bytes = value_bytes;
    c->whole.rounded = (clef_rounded_rows){
        .values = kernel_bytes(input, KERNEL_READ, MANY * stride * value_bytes),
        .stride = stride,
        .scales = kernel_floats(input, KERNEL_READ, MANY * group_count(depth), 1),
        .group = GROUP,
        .groups = group_count(depth)};
    for (size_t row = 0; row < MANY; row++) {
        round(c->whole.x, row, &c->whole.rounded);
    }
}

/* Bytes that are int8 from -127 to 127 and, two at once, 4 bits. */
static void *draw_bytes(kernel_input *input, size_t count) {
    int8_t *weights = kernel_bytes(input, KERNEL_READ, count);
    for (size_t i = 0; i < count; i++) {
        weights[i] = (int8_t)((int)kernel_choose(input, 255) - 127);
    }
    return weights;
}

static void check_floats(const clef_kernel_table *kernels, kernel_input *input, size_t outputs,
                         size_t depth) {
    wide_case c = draw_case(input, outputs, depth);
    c.multiply = kernels->matmul;
    c.whole.weight.data = kernel_floats(input, KERNEL_READ, outputs * depth, 1);
    check_few(&c);
    c.whole.weight.data = kernel_bf16(input, KERNEL_READ, outputs * depth, 1);
    c.whole.weight.dtype = CLEF_DTYPE_BF16;
    check_few(&c);
}

static void check_bf16(const clef_kernel_table *kernels, kernel_input *input, size_t outputs,
                       size_t depth) {
    wide_case c = draw_case(input, outputs, depth);
    c.multiply = kernels->matmul_bf16;
    c.whole.weight.data = kernel_bf16(input, KERNEL_READ, outputs * depth, 1);
    c.whole.weight.dtype = CLEF_DTYPE_BF16;
    c.whole.weight.arithmetic = CLEF_ARITHMETIC_BF16;
    round_inputs(input, &c, kernels->round_row_bf16, sizeof(uint16_t));
    check_few(&c);
}

static void check_int8(const clef_kernel_table *kernels, kernel_input *input, size_t outputs,
                       size_t depth) {
    wide_case c = draw_case(input, outputs, depth);
    c.multiply = kernels->matmul_int8;
    c.whole.weight = (clef_weight){
        .data = draw_bytes(input, outputs * depth),
        .dtype = CLEF_DTYPE_I8,
        .rows = outputs,
        .columns = depth,
        .arithmetic = CLEF_ARITHMETIC_INT8,
        .scales = kernel_floats(input, KERNEL_READ, outputs * group_count(depth), 0.01),
        .group = GROUP};
    round_inputs(input, &c, kernels->round_row_int8, sizeof(uint8_t));
    check_few(&c);
    c.whole.weight.dtype = CLEF_DTYPE_U8;
    check_few(&c);
}

/* For 8, 4, 2 and 1 rows at once: the last width that fits, the first that does not, and one beyond
 * it. Fewer outputs where inputs are wide, so that the plain kernels need no minutes. */
static void for_each_width(void (*check)(const clef_kernel_table *kernels, kernel_input *input,
                                         size_t outputs, size_t depth)) {
    static const struct {
        size_t depth, outputs;
    } cases[] = {{FITTING(8), 70},     {FITTING(8) + 1, 70}, {FITTING(8) + 200, 17},
                 {FITTING(4), 19},     {FITTING(4) + 1, 19}, {FITTING(2), 9},
                 {FITTING(2) + 1, 9},  {FITTING(1), 5},      {FITTING(1) + 1, 5},
                 {FITTING(1) + 300, 3}};
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        for (size_t i = 0;
             i < sizeof cases / sizeof *cases && clef_level_is_supported((clef_level)level); i++) {
            clef_kernel_table kernels = clef_kernel_table_of((clef_level)level);
            kernel_input input;
            kernel_input_begin(&input, 5 + i);
            check(&kernels, &input, cases[i].outputs, cases[i].depth);
            kernel_input_end(&input);
        }
    }
}

static void few_wide_rows_are_the_same_in_fp32(void **state) {
    (void)state;
    for_each_width(check_floats);
}

static void few_wide_rows_are_the_same_in_bf16(void **state) {
    (void)state;
    for_each_width(check_bf16);
}

static void few_wide_rows_are_the_same_in_int8(void **state) {
    (void)state;
    for_each_width(check_int8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_wide_rows_are_the_same_in_fp32),
        cmocka_unit_test(few_wide_rows_are_the_same_in_bf16),
        cmocka_unit_test(few_wide_rows_are_the_same_in_int8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
