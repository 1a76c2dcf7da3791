/* Sums have one order: what else a call computes cannot change the bits of a result. For every
 * level this machine has. */
#include "kernel_case.h"

#include "support.h"

#include <math.h>

static void for_each_level(void (*check)(const clef_kernel_table *kernels, kernel_input *input)) {
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        if (clef_level_is_supported((clef_level)level)) {
            clef_kernel_table kernels = clef_kernel_table_of((clef_level)level);
            kernel_input input;
            kernel_input_begin(&input, 77);
            check(&kernels, &input);
            kernel_input_end(&input);
        }
    }
}

static void assert_equal_bits(const float *a, const float *b, size_t count) {
    assert_memory_equal(a, b, count * sizeof *a);
}

/* ---- matmul ---- */

enum { ROWS = 65, COLUMNS = 200, DEPTH = 600, GROUP = 32, GROUPS = (DEPTH + GROUP - 1) / GROUP };
enum { ROUNDED_STRIDE = 704 }; /* DEPTH rounded up to whole vectors, and one more */

/* A whole product and the kernel that makes it and its parts. */
typedef struct product_case {
    clef_matmul_kernel *multiply;
    clef_matmul whole;
    size_t value_bytes; /* of a rounded input; 0 when inputs are not rounded */
    float *space;       /* [ROWS, COLUMNS] */
    void *scratch;
} product_case;

/* Computes rows [row, row + rows) and columns [begin, end) alone and compares with the whole. */
static void check_part(const product_case *c, size_t row, size_t rows, size_t begin, size_t end) {
    const clef_matmul *whole = &c->whole;
    clef_matmul part = *whole;
    part.x = clef_matrix_rows(whole->x, row, rows);
    part.y = (clef_matrix){c->space, rows, COLUMNS, COLUMNS};
    if (c->value_bytes > 0) {
        part.rounded.values = (char *)part.rounded.values + row * ROUNDED_STRIDE * c->value_bytes;
        part.rounded.scales += row * GROUPS;
    }
    c->multiply(&part, begin, end, c->scratch);
    for (size_t r = 0; r < rows; r++) {
        assert_equal_bits(c->space + r * COLUMNS + begin,
                          whole->y.data + (row + r) * whole->y.stride + begin, end - begin);
    }
}

static void check_parts(const product_case *c) {
    c->multiply(&c->whole, 0, COLUMNS, c->scratch);
    for (size_t row = 0; row < ROWS; row++) {
        check_part(c, row, 1, 0, COLUMNS);
    }
    for (size_t rows = 2; rows <= ROWS; rows += 5) {
        check_part(c, ROWS - rows, rows, 0, COLUMNS);
    }
    for (size_t begin = 0; begin < COLUMNS; begin += CLEF_MATMUL_PANEL) {
        size_t end = begin + CLEF_MATMUL_PANEL;
        end = end < COLUMNS ? end : COLUMNS;
        check_part(c, 0, ROWS, begin, end);
        check_part(c, 7, 13, begin, end);
        check_part(c, 64, 1, begin, COLUMNS);
    }
}

static product_case draw_product(kernel_input *input) {
    return (product_case){
        .whole = {.x = kernel_matrix(input, KERNEL_READ, ROWS, DEPTH, DEPTH + 8, 1),
                  .bias = kernel_floats(input, KERNEL_READ, COLUMNS, 1),
                  .y = kernel_matrix(input, KERNEL_WRITE, ROWS, COLUMNS, COLUMNS + 3, 0)},
        .space = kernel_floats(input, KERNEL_WRITE, (size_t)ROWS * COLUMNS, 0),
        .scratch = kernel_bytes(input, KERNEL_SCRATCH, CLEF_MATMUL_SCRATCH),
    };
}

static void check_matmul(const clef_kernel_table *kernels, kernel_input *input) {
    product_case c = draw_product(input);
    c.multiply = kernels->matmul;
    c.whole.weight =
        (clef_weight){.data = kernel_floats(input, KERNEL_READ, (size_t)COLUMNS * DEPTH, 1),
                      .dtype = CLEF_DTYPE_F32,
                      .rows = COLUMNS,
                      .columns = DEPTH};
    check_parts(&c);
    c.whole.weight.data = kernel_bf16(input, KERNEL_READ, (size_t)COLUMNS * DEPTH, 1);
    c.whole.weight.dtype = CLEF_DTYPE_BF16;
    check_parts(&c);
}

/* Inputs as the level rounds them. */
static void round_inputs(kernel_input *input, product_case *c, clef_round_row_bf16_kernel *round,
                         size_t value_bytes) {
    c->value_bytes = value_bytes;
    c->whole.rounded = (clef_rounded_rows){
        .values = kernel_bytes(input, KERNEL_READ, (size_t)ROWS * ROUNDED_STRIDE * value_bytes),
        .stride = ROUNDED_STRIDE,
        .scales = kernel_floats(input, KERNEL_READ, (size_t)ROWS * GROUPS, 1),
        .group = GROUP,
        .groups = GROUPS};
    for (size_t row = 0; row < ROWS; row++) {
        round(c->whole.x, row, &c->whole.rounded);
    }
}

static void check_matmul_bf16(const clef_kernel_table *kernels, kernel_input *input) {
    product_case c = draw_product(input);
    c.multiply = kernels->matmul_bf16;
    c.whole.weight =
        (clef_weight){.data = kernel_bf16(input, KERNEL_READ, (size_t)COLUMNS * DEPTH, 1),
                      .dtype = CLEF_DTYPE_BF16,
                      .rows = COLUMNS,
                      .columns = DEPTH,
                      .arithmetic = CLEF_ARITHMETIC_BF16};
    round_inputs(input, &c, kernels->round_row_bf16, sizeof(uint16_t));
    check_parts(&c);
}

/* Weights of 8 and of 4 bits; any byte is one or two of them. */
static void check_matmul_int8(const clef_kernel_table *kernels, kernel_input *input) {
    product_case c = draw_product(input);
    c.multiply = kernels->matmul_int8;
    c.whole.weight =
        (clef_weight){.dtype = CLEF_DTYPE_I8,
                      .rows = COLUMNS,
                      .columns = DEPTH,
                      .arithmetic = CLEF_ARITHMETIC_INT8,
                      .scales = kernel_floats(input, KERNEL_READ, (size_t)COLUMNS * GROUPS, 0.01),
                      .group = GROUP};
    int8_t *weights = kernel_bytes(input, KERNEL_READ, (size_t)COLUMNS * DEPTH);
    for (size_t i = 0; i < (size_t)COLUMNS * DEPTH; i++) {
        weights[i] = (int8_t)((int)kernel_choose(input, 255) - 127);
    }
    c.whole.weight.data = weights;
    round_inputs(input, &c, kernels->round_row_int8, sizeof(uint8_t));
    check_parts(&c);
    c.whole.weight.dtype = CLEF_DTYPE_U8;
    check_parts(&c);
}

/* A matrix with the same rows but fewer outputs gives the same bits for those outputs. */
static void check_matmul_edges(const clef_kernel_table *kernels, kernel_input *input) {
    void *scratch = kernel_bytes(input, KERNEL_SCRATCH, CLEF_MATMUL_SCRATCH);
    float *space = kernel_floats(input, KERNEL_WRITE, 3 * COLUMNS, 0);
    float *whole = kernel_floats(input, KERNEL_WRITE, 3 * COLUMNS, 0);
    clef_matrix x = kernel_matrix(input, KERNEL_READ, 3, DEPTH, DEPTH, 1);
    clef_weight weight = {.data = kernel_floats(input, KERNEL_READ, (size_t)COLUMNS * DEPTH, 1),
                          .dtype = CLEF_DTYPE_F32,
                          .rows = COLUMNS,
                          .columns = DEPTH};
    clef_matmul product = {.x = x, .weight = weight, .y = {whole, 3, COLUMNS, COLUMNS}};
    kernels->matmul(&product, 0, COLUMNS, scratch);
    for (size_t columns = 1; columns < COLUMNS; columns += 3) {
        clef_matmul narrow = {.x = x,
                              .weight = clef_weight_rows(weight, 0, columns),
                              .y = {space, 3, columns, COLUMNS}};
        kernels->matmul(&narrow, 0, columns, scratch);
        for (size_t row = 0; row < 3; row++) {
            assert_equal_bits(space + row * COLUMNS, whole + row * COLUMNS, columns);
        }
    }
}

static void matmul_is_the_same_for_any_rows_and_columns(void **state) {
    (void)state;
    for_each_level(check_matmul);
    for_each_level(check_matmul_bf16);
    for_each_level(check_matmul_int8);
    for_each_level(check_matmul_edges);
}

/* ---- short convolution ---- */

enum { CHANNELS = 67, TAPS = 4, STEPS = 150 };

static void check_convolution(const clef_kernel_table *kernels, kernel_input *input) {
    clef_matrix x = kernel_matrix(input, KERNEL_READ, STEPS, CHANNELS, CHANNELS + 2, 2);
    clef_matrix whole = kernel_matrix(input, KERNEL_WRITE, STEPS, CHANNELS, CHANNELS, 0);
    clef_matrix parts = kernel_matrix(input, KERNEL_WRITE, STEPS, CHANNELS, CHANNELS, 0);
    const float *weight = kernel_floats(input, KERNEL_READ, CHANNELS * TAPS, 1);
    float *tail = kernel_floats(input, KERNEL_CHANGE, (TAPS - 1) * CHANNELS, 0);
    float *other = kernel_floats(input, KERNEL_CHANGE, (TAPS - 1) * CHANNELS, 0);
    clef_short_convolution all = {x, weight, TAPS, tail, whole};
    kernels->short_convolution(&all, 0, CHANNELS);
    for (size_t cut = 1; cut < STEPS; cut++) {
        memset(other, 0, (TAPS - 1) * CHANNELS * sizeof *other);
        clef_short_convolution first = {clef_matrix_rows(x, 0, cut), weight, TAPS, other,
                                        clef_matrix_rows(parts, 0, cut)};
        clef_short_convolution second = {clef_matrix_rows(x, cut, STEPS - cut), weight, TAPS, other,
                                         clef_matrix_rows(parts, cut, STEPS - cut)};
        size_t border = cut % CHANNELS;
        kernels->short_convolution(&first, 0, border);
        kernels->short_convolution(&first, border, CHANNELS);
        kernels->short_convolution(&second, 0, CHANNELS);
        assert_equal_bits(parts.data, whole.data, STEPS * CHANNELS);
        assert_equal_bits(other, tail, (TAPS - 1) * CHANNELS);
    }
}

static void convolution_is_the_same_for_any_cut(void **state) {
    (void)state;
    for_each_level(check_convolution);
}

/* ---- attention ---- */

enum { QUERIES = 64, HEADS = 3, SIZE = 33 };

typedef struct attention_case {
    float *query, *key, *value, *maximum, *sum, *total, *scratch;
} attention_case;

/* Rows [row, row + rows) of a causal block, heads [head, head + heads), from a fresh state. */
static void attend(const clef_kernel_table *kernels, const attention_case *c, size_t row,
                   size_t rows, size_t head, size_t heads) {
    for (size_t i = 0; i < rows * heads; i++) {
        c->maximum[i] = -INFINITY;
        c->sum[i] = 0;
    }
    memset(c->total, 0, rows * heads * SIZE * sizeof(float));
    clef_attention_block block = {
        .query = c->query + (row * HEADS + head) * SIZE,
        .query_row_stride = (size_t)HEADS * SIZE,
        .query_head_stride = SIZE,
        .rows = rows,
        .heads = heads,
        .key = c->key,
        .value = c->value,
        .key_stride = SIZE,
        .keys = 64,
        .size = SIZE,
        .visible = (ptrdiff_t)row + 1,
        .visible_step = 1,
        .scale = 0.17f,
        .maximum = c->maximum,
        .sum = c->sum,
        .state_stride = heads,
        .total = c->total,
        .total_row_stride = heads * SIZE,
        .total_head_stride = SIZE,
    };
    kernels->attention_block(&block, c->scratch);
}

static void check_attention(const clef_kernel_table *kernels, kernel_input *input) {
    size_t queries = (size_t)QUERIES * HEADS;
    attention_case whole = {
        .query = kernel_floats(input, KERNEL_READ, queries * SIZE, 2),
        .key = kernel_floats(input, KERNEL_READ, 64 * SIZE, 2),
        .value = kernel_floats(input, KERNEL_READ, 64 * SIZE, 2),
        .maximum = kernel_floats(input, KERNEL_WRITE, queries, 0),
        .sum = kernel_floats(input, KERNEL_WRITE, queries, 0),
        .total = kernel_floats(input, KERNEL_WRITE, queries * SIZE, 0),
        .scratch = kernel_bytes(input, KERNEL_SCRATCH,
                                clef_attention_scratch_floats(SIZE) * sizeof(float)),
    };
    attention_case part = whole;
    part.maximum = kernel_floats(input, KERNEL_WRITE, queries, 0);
    part.sum = kernel_floats(input, KERNEL_WRITE, queries, 0);
    part.total = kernel_floats(input, KERNEL_WRITE, queries * SIZE, 0);
    attend(kernels, &whole, 0, QUERIES, 0, HEADS);
    for (size_t row = 0; row < QUERIES; row++) {
        for (size_t head = 0; head < HEADS; head++) {
            size_t at = row * HEADS + head;
            attend(kernels, &part, row, 1, head, 1);
            assert_equal_bits(part.maximum, whole.maximum + at, 1);
            assert_equal_bits(part.sum, whole.sum + at, 1);
            assert_equal_bits(part.total, whole.total + at * SIZE, SIZE);
        }
    }
    for (size_t rows = 2; rows <= QUERIES; rows += 7) {
        size_t at = (QUERIES - rows) * HEADS;
        attend(kernels, &part, QUERIES - rows, rows, 0, HEADS);
        assert_equal_bits(part.sum, whole.sum + at, rows * HEADS);
        assert_equal_bits(part.total, whole.total + at * SIZE, rows * HEADS * SIZE);
    }
}

static void attention_is_the_same_for_any_rows_and_heads(void **state) {
    (void)state;
    for_each_level(check_attention);
}

/* ---- attention inside a frame ---- */

enum { FRAME_KEYS = 150 };

static void check_frame_attention(const clef_kernel_table *kernels, kernel_input *input) {
    float *whole = kernel_floats(input, KERNEL_WRITE, QUERIES * SIZE, 0);
    float *part = kernel_floats(input, KERNEL_WRITE, QUERIES * SIZE, 0);
    float *scratch = kernel_bytes(input, KERNEL_SCRATCH,
                                  clef_frame_attention_scratch_floats(SIZE) * sizeof(float));
    const float *query = kernel_floats(input, KERNEL_READ, QUERIES * SIZE, 2);
    clef_frame_attention frame = {.query = query,
                                  .query_stride = SIZE,
                                  .rows = QUERIES,
                                  .key = kernel_floats(input, KERNEL_READ, FRAME_KEYS * SIZE, 2),
                                  .value = kernel_floats(input, KERNEL_READ, FRAME_KEYS * SIZE, 2),
                                  .key_stride = SIZE,
                                  .keys = FRAME_KEYS,
                                  .size = SIZE,
                                  .scale = 0.17f,
                                  .out = whole,
                                  .out_stride = SIZE};
    kernels->frame_attention(&frame, scratch);
    frame.out = part;
    for (size_t rows = 1; rows < QUERIES; rows += rows < 20 ? 1 : 7) {
        for (size_t row = 0; row + rows <= QUERIES; row += rows) {
            frame.rows = rows;
            frame.query = query + row * SIZE;
            kernels->frame_attention(&frame, scratch);
            assert_equal_bits(part, whole + row * SIZE, rows * SIZE);
        }
    }
}

static void frame_attention_is_the_same_for_any_rows(void **state) {
    (void)state;
    for_each_level(check_frame_attention);
}

enum { ODD_SIZE = 37, ODD_KEYS = 301 };

static void check_rounded_frame(const clef_kernel_table *kernels, kernel_input *input) {
    size_t bytes = clef_frame_attention_bf16_scratch_floats(ODD_SIZE) * sizeof(float);
    float *whole = kernel_floats(input, KERNEL_WRITE, QUERIES * ODD_SIZE, 0);
    float *part = kernel_floats(input, KERNEL_WRITE, QUERIES * ODD_SIZE, 0);
    float *scratch = kernel_bytes(input, KERNEL_SCRATCH, bytes);
    const float *query = kernel_floats(input, KERNEL_READ, QUERIES * ODD_SIZE, 2);
    clef_frame_attention_bf16 frame = {
        .query = query,
        .query_stride = ODD_SIZE,
        .rows = QUERIES,
        .key = kernel_bf16(input, KERNEL_READ, ODD_KEYS * (ODD_SIZE + 1), 2),
        .value = kernel_bf16(input, KERNEL_READ, (ODD_KEYS + 1) * ODD_SIZE, 2),
        .keys = ODD_KEYS,
        .size = ODD_SIZE,
        .scale = 0.17f,
        .out = whole,
        .out_stride = ODD_SIZE};
    kernels->frame_attention_bf16(&frame, scratch);
    frame.out = part;
    for (size_t rows = 1; rows < QUERIES; rows += rows < 20 ? 1 : 7) {
        for (size_t row = 0; row + rows <= QUERIES; row += rows) {
            frame.rows = rows;
            frame.query = query + row * ODD_SIZE;
            kernels->frame_attention_bf16(&frame, scratch);
            assert_equal_bits(part, whole + row * ODD_SIZE, rows * ODD_SIZE);
        }
    }
}

static void rounded_frame_attention_is_the_same_for_any_rows(void **state) {
    (void)state;
    for_each_level(check_rounded_frame);
}

/* ---- delta rule ---- */

/* Outputs of the first rows of a chunk do not depend on the rows behind them. */
static void check_delta(const clef_kernel_table *kernels, kernel_input *input) {
    enum { KEY = 24, VALUE = 17, CHUNK = 64 };
    float *state = kernel_floats(input, KERNEL_CHANGE, KEY * VALUE, 0);
    float *whole = kernel_floats(input, KERNEL_WRITE, CHUNK * VALUE, 0);
    float *part = kernel_floats(input, KERNEL_WRITE, CHUNK * VALUE, 0);
    float *scratch =
        kernel_bytes(input, KERNEL_SCRATCH, clef_delta_scratch_floats(KEY, VALUE) * sizeof(float));
    float *g = kernel_floats(input, KERNEL_READ, CHUNK, 0.4);
    for (size_t i = 0; i < CHUNK; i++) {
        g[i] = -fabsf(g[i]);
    }
    clef_delta_head head = {.query = kernel_floats(input, KERNEL_READ, CHUNK * KEY, 0.2),
                            .key = kernel_floats(input, KERNEL_READ, CHUNK * KEY, 0.2),
                            .key_stride = KEY,
                            .value = kernel_floats(input, KERNEL_READ, CHUNK * VALUE, 1),
                            .value_stride = VALUE,
                            .g = g,
                            .beta = kernel_floats(input, KERNEL_READ, CHUNK, 0.9),
                            .gate_stride = 1,
                            .state = state,
                            .out = whole,
                            .out_stride = VALUE,
                            .rows = CHUNK,
                            .key_size = KEY,
                            .value_size = VALUE};
    kernels->delta_chunk(&head, scratch);
    head.out = part;
    for (size_t rows = 1; rows < CHUNK; rows++) {
        memset(state, 0, KEY * VALUE * sizeof *state);
        head.rows = rows;
        kernels->delta_chunk(&head, scratch);
        assert_equal_bits(part, whole, rows * VALUE);
    }
}

static void delta_rows_do_not_depend_on_rows_behind(void **state) {
    (void)state;
    for_each_level(check_delta);
}

/* ---- sums of spans ---- */

static void check_sums(const clef_kernel_table *kernels, kernel_input *input) {
    enum { WIDTH = 67, COUNT = 90 };
    clef_matrix x = kernel_matrix(input, KERNEL_READ, COUNT, WIDTH, WIDTH, 5);
    double whole[WIDTH] = {0};
    kernels->sum_rows(x, whole);
    for (size_t cut = 1; cut < COUNT; cut++) {
        double parts[WIDTH] = {0};
        kernels->sum_rows(clef_matrix_rows(x, 0, cut), parts);
        kernels->sum_rows(clef_matrix_rows(x, cut, COUNT - cut), parts);
        assert_memory_equal(parts, whole, sizeof whole);
    }
}

static void sums_are_the_same_for_any_cut(void **state) {
    (void)state;
    for_each_level(check_sums);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_is_the_same_for_any_rows_and_columns),
        cmocka_unit_test(convolution_is_the_same_for_any_cut),
        cmocka_unit_test(attention_is_the_same_for_any_rows_and_heads),
        cmocka_unit_test(frame_attention_is_the_same_for_any_rows),
        cmocka_unit_test(rounded_frame_attention_is_the_same_for_any_rows),
        cmocka_unit_test(delta_rows_do_not_depend_on_rows_behind),
        cmocka_unit_test(sums_are_the_same_for_any_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
