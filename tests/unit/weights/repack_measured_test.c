/* Rounding by measured inputs against its promise, worked out a second way in double: neighbours
 * only, no row worse than before, and nothing left that one more move would better. */
#include "support.h"

#include "weights/repack.h"
#include "weights/repack_measured.h"

#include <float.h>
#include <math.h>

enum { COLUMNS_MOST = 160, ROWS = 16, SAMPLES = 48 };

typedef struct made_case {
    clef_weight weight;
    clef_input_sums sums;
    float blocks[COLUMNS_MOST * COLUMNS_MOST], importance[COLUMNS_MOST];
    float source[ROWS * COLUMNS_MOST];
    uint8_t values[ROWS * COLUMNS_MOST], before[ROWS * COLUMNS_MOST];
    float scales[ROWS * COLUMNS_MOST];
    float scratch[2 * CLEF_REPACK_MEASURED_ROWS * COLUMNS_MOST];
} made_case;

static made_case made; /* too large for the stack of a sanitized build */

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static float draw(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += (double)next_random(state) / 2147483648.0;
    }
    return (float)sum;
}

/* Inputs that a few hidden causes move together; `tied` 0: each column on its own. */
static void draw_inputs(uint64_t *random, float tied, size_t columns,
                        float inputs[SAMPLES][COLUMNS_MOST]) {
    float mixing[4][COLUMNS_MOST];
    for (size_t i = 0; i < 4 * COLUMNS_MOST; i++) {
        mixing[i / COLUMNS_MOST][i % COLUMNS_MOST] = draw(random) * tied;
    }
    for (size_t s = 0; s < SAMPLES; s++) {
        float causes[4] = {draw(random), draw(random), draw(random), draw(random)};
        for (size_t c = 0; c < columns; c++) {
            inputs[s][c] = draw(random);
            for (size_t k = 0; k < 4; k++) {
                inputs[s][c] += causes[k] * mixing[k][c];
            }
        }
    }
}

static void fill_sums(uint64_t *random, float tied, size_t columns, size_t block) {
    static float inputs[SAMPLES][COLUMNS_MOST];
    draw_inputs(random, tied, columns, inputs);
    made.sums = (clef_input_sums){columns, block, made.blocks, made.importance};
    for (size_t first = 0; first < columns; first += block) {
        size_t n = columns - first < block ? columns - first : block;
        for (size_t i = 0; i < n * n; i++) {
            double sum = 0;
            for (size_t s = 0; s < SAMPLES; s++) {
                sum += (double)inputs[s][first + i / n] * inputs[s][first + i % n];
            }
            made.blocks[first * block + i] =
                (float)(sum / SAMPLES / (1 + 4 * tied * tied)) + (i / n == i % n ? 0.1f : 0);
        }
        for (size_t i = 0; i < n; i++) {
            made.importance[first + i] = made.blocks[first * block + i * n + i];
        }
    }
}

static void make_rows(uint64_t *random, clef_dtype dtype, size_t columns, size_t group,
                      float size) {
    made.weight = (clef_weight){.data = made.values,
                                .dtype = dtype,
                                .rows = ROWS,
                                .columns = columns,
                                .scales = made.scales,
                                .group = group};
    for (size_t i = 0; i < ROWS * columns; i++) {
        made.source[i] = draw(random) * size;
    }
}

static void pack(void) {
    size_t bytes = clef_weight_row_bytes(made.weight), groups = clef_weight_groups(made.weight);
    for (size_t r = 0; r < ROWS; r++) {
        assert_true(clef_repack_row(made.weight, made.source + r * made.weight.columns,
                                    made.sums.importance, made.values + r * bytes,
                                    made.scales + r * groups));
    }
    memcpy(made.before, made.values, sizeof made.values);
}

static void improve(void) {
    clef_repack_measured(made.weight, &made.sums, made.source, ROWS, made.values, made.scales,
                         made.scratch);
}

static double error_at(const uint8_t *values, size_t row, size_t column) {
    clef_weight weight = made.weight;
    float stored;
    weight.data = values;
    clef_weight_widen(weight, row, column, 1, &stored);
    return (double)made.source[row * weight.columns + column] - stored;
}

/* Σ e·H·e over the blocks. */
static double cost(const uint8_t *values, size_t row) {
    double sum = 0;
    size_t block = made.sums.block;
    for (size_t i = 0; i < made.sums.columns; i++) {
        size_t first = i / block * block;
        size_t n = made.sums.columns - first < block ? made.sums.columns - first : block;
        const float *products = made.blocks + first * block + (i - first) * n;
        for (size_t j = 0; j < n; j++) {
            sum += error_at(values, row, i) * products[j] * error_at(values, row, first + j);
        }
    }
    return sum;
}

static const struct {
    clef_dtype dtype;
    size_t columns, group, block;
} shapes[] = {
    {CLEF_DTYPE_U8, 96, 32, 2048},  {CLEF_DTYPE_U8, 160, 64, 64}, {CLEF_DTYPE_U8, 128, 32, 50},
    {CLEF_DTYPE_I8, 100, 64, 2048}, {CLEF_DTYPE_I8, 33, 32, 32},  {CLEF_DTYPE_I8, 7, 64, 2048},
};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

static void make_shape(uint64_t *random, size_t shape, float tied, float size) {
    fill_sums(random, tied, shapes[shape].columns, shapes[shape].block);
    make_rows(random, shapes[shape].dtype, shapes[shape].columns, shapes[shape].group, size);
    pack();
}

static void no_row_gets_worse(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
        double before = 0, after = 0;
        make_shape(&random, shape, 2, 0.02f);
        improve();
        for (size_t r = 0; r < ROWS; r++) {
            float scratch[COLUMNS_MOST];
            size_t column;
            double old_cost = cost(made.before, r), new_cost = cost(made.values, r);
            assert_true(new_cost <= old_cost * 1.000001);
            before += old_cost;
            after += new_cost;
            assert_true(clef_repack_check(made.weight, CLEF_REPACK_EITHER, r,
                                          made.source + r * made.weight.columns, scratch, &column));
        }
        print_message("%zu columns: %.3f\n", shapes[shape].columns, after / before);
        assert_true(after < 0.7 * before);
    }
}

/* Moving any one column to its other neighbour does not help any more. */
static void nothing_is_left_to_gain(void **state) {
    (void)state;
    uint64_t random = 2;
    make_shape(&random, 5, 2, 1);
    improve();
    for (size_t r = 0; r < ROWS; r++) {
        double best = cost(made.values, r);
        for (size_t c = 0; c < 7; c++) {
            int8_t *value = (int8_t *)made.values + r * 7 + c;
            int8_t kept = *value;
            double error = error_at(made.values, r, c);
            *value = (int8_t)(error > 0 ? kept + 1 : kept - 1);
            assert_true(kept == 127 || kept == -127 || cost(made.values, r) >= best * 0.999999);
            *value = kept;
        }
    }
}

/* The nearest is the best where no column is read together with another. */
static void columns_on_their_own_stay(void **state) {
    (void)state;
    uint64_t random = 3;
    make_shape(&random, 0, 0, 1);
    for (size_t i = 0; i < 96 * 96; i++) {
        made.blocks[i] = i / 96 == i % 96 ? made.importance[i % 96] : 0;
    }
    improve();
    assert_memory_equal(made.values, made.before, sizeof made.values);
}

static void rows_do_not_know_each_other(void **state) {
    (void)state;
    static uint8_t together[sizeof made.values];
    uint64_t random = 4;
    make_shape(&random, 1, 1, 1);
    improve();
    memcpy(together, made.values, sizeof together);
    memcpy(made.values, made.before, sizeof made.values);
    for (size_t r = 0; r < ROWS; r++) {
        clef_repack_measured(made.weight, &made.sums, made.source + r * made.weight.columns, 1,
                             made.values + r * clef_weight_row_bytes(made.weight),
                             made.scales + r * clef_weight_groups(made.weight), made.scratch);
    }
    assert_memory_equal(made.values, together, sizeof together);
}

/* Groups of zeros, and numbers near the ends of the range of floats. */
static void the_ends_of_the_range_work(void **state) {
    (void)state;
    const float sizes[] = {FLT_MAX / 16, 130 * FLT_MIN, 1e-44f, 0};
    uint64_t random = 5;
    for (size_t i = 0; i < 4; i++) {
        for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
            make_shape(&random, shape, 2, sizes[i]);
            memset(made.source, 0, 32 * sizeof *made.source);
            pack();
            improve();
            for (size_t r = 0; r < ROWS; r++) {
                float scratch[COLUMNS_MOST];
                size_t column;
                assert_true(clef_repack_check(made.weight, CLEF_REPACK_EITHER, r,
                                              made.source + r * made.weight.columns, scratch,
                                              &column));
            }
        }
    }
}

static void sizes_add_up(void **state) {
    (void)state;
    assert_int_equal(clef_input_sums_floats(96, 2048), 96 * 96);
    assert_int_equal(clef_input_sums_floats(5120, 2048), 2 * 2048 * 2048 + 1024 * 1024);
    assert_int_equal(clef_repack_measured_scratch(96), 2 * CLEF_REPACK_MEASURED_ROWS * 96);
    assert_int_equal(clef_repack_measured_scratch(5120), 2 * CLEF_REPACK_MEASURED_ROWS * 2048);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_row_gets_worse),          cmocka_unit_test(nothing_is_left_to_gain),
        cmocka_unit_test(columns_on_their_own_stay),  cmocka_unit_test(rows_do_not_know_each_other),
        cmocka_unit_test(the_ends_of_the_range_work), cmocka_unit_test(sizes_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
