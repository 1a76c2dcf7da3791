/* Products with the same input in one go have the bits that each has alone, whatever their numbers,
 * groups, sizes and order, and however many there are. */
#include "support.h"

#include "backend/backend.h"
#include "base/memory.h"

#define COLUMNS    192 /* of x: groups of 32 and of 64 */
#define MOST_ROWS  40
#define PART_COUNT 7

typedef struct part_kind {
    clef_dtype dtype;
    clef_arithmetic arithmetic;
    size_t group;
    size_t outputs;
} part_kind;

/* Roundings change from part to part, with fp32 between them; more than go at once. */
static const part_kind kinds[PART_COUNT] = {
    {CLEF_DTYPE_I8, CLEF_ARITHMETIC_INT8, 64, 200}, {CLEF_DTYPE_F32, CLEF_ARITHMETIC_F32, 0, 16},
    {CLEF_DTYPE_U8, CLEF_ARITHMETIC_INT8, 32, 70},  {CLEF_DTYPE_U8, CLEF_ARITHMETIC_INT8, 32, 1},
    {CLEF_DTYPE_BF16, CLEF_ARITHMETIC_BF16, 0, 65}, {CLEF_DTYPE_BF16, CLEF_ARITHMETIC_F32, 0, 129},
    {CLEF_DTYPE_I8, CLEF_ARITHMETIC_INT8, 64, 64},
};

static uint32_t seed = 1;

static uint32_t next_number(void) {
    seed = seed * 1664525 + 1013904223;
    return seed >> 16;
}

/* Blocks are released all at once. */
static void *blocks[512];
static size_t block_count;

static void *allocate(size_t count, size_t size) {
    assert_in_range(block_count, 0, sizeof blocks / sizeof *blocks - 1);
    blocks[block_count] = clef_allocate(count, size);
    assert_non_null(blocks[block_count]);
    return blocks[block_count++];
}

static void *draw_bytes(size_t count) {
    unsigned char *bytes = allocate(count, 1);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (unsigned char)(next_number() % 100);
    }
    return bytes;
}

static float *draw_floats(size_t count) {
    float *floats = allocate(count, sizeof *floats);
    for (size_t i = 0; i < count; i++) {
        floats[i] = (float)next_number() / 32768.0f - 1;
    }
    return floats;
}

static clef_weight draw_weight(part_kind kind) {
    clef_weight weight = {.dtype = kind.dtype,
                          .rows = kind.outputs,
                          .columns = COLUMNS,
                          .arithmetic = kind.arithmetic,
                          .group = kind.group};
    if (kind.dtype == CLEF_DTYPE_F32) {
        weight.data = draw_floats(kind.outputs * COLUMNS);
    } else {
        weight.data = draw_bytes(kind.outputs * clef_weight_row_bytes(weight));
    }
    if (kind.group > 0) {
        weight.scales = draw_floats(kind.outputs * COLUMNS / kind.group);
    }
    return weight;
}

static void check_rows(clef_backend *backend, const clef_linear_part *parts, size_t rows) {
    float *x = draw_floats(rows * COLUMNS);
    clef_matrix in = {x, rows, COLUMNS, COLUMNS};
    clef_linear_part together[PART_COUNT];
    for (size_t i = 0; i < PART_COUNT; i++) {
        size_t outputs = kinds[i].outputs;
        together[i] = parts[i];
        together[i].out = (clef_matrix){draw_floats(rows * outputs), rows, outputs, outputs};
    }
    backend->operations->linear(backend, in, together, PART_COUNT);
    for (size_t i = 0; i < PART_COUNT; i++) {
        size_t count = rows * kinds[i].outputs;
        clef_matrix alone = together[i].out;
        alone.data = draw_floats(count);
        clef_linear(backend, in, parts[i].weight, parts[i].bias, alone);
        assert_memory_equal(together[i].out.data, alone.data, count * sizeof *alone.data);
    }
}

static void in_one_go_as_alone(void **state) {
    (void)state;
    static const size_t rows[] = {1, 3, MOST_ROWS};
    clef_linear_part parts[PART_COUNT];
    for (size_t i = 0; i < PART_COUNT; i++) {
        parts[i] = (clef_linear_part){.weight = draw_weight(kinds[i]),
                                      .bias = i % 2 == 0 ? NULL : draw_floats(kinds[i].outputs)};
    }
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        clef_error error = {0};
        clef_backend *backend;
        assert_ok(clef_cpu_backend_create(threads_of(threads), NULL, &backend, &error), &error);
        assert_ok(backend->operations->reserve(backend, MOST_ROWS, COLUMNS, &error), &error);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            check_rows(backend, parts, rows[i]);
        }
        clef_backend_destroy(backend);
    }
    while (block_count > 0) {
        clef_release(blocks[--block_count]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_one_go_as_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
