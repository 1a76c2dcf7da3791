/* Products of inputs against the same sums in double. */
#include "support.h"

#include "base/memory.h"
#include "engine/input_tally.h"

#include <math.h>

enum { WIDE = CLEF_INPUT_SUMS_BLOCK + 40 };

typedef struct bench {
    clef_backend *backend;
    clef_input_tally tally;
    clef_tally_scratch scratch;
    clef_matrix x; /* owned data */
} bench;

static void open_bench(bench *b, unsigned threads, size_t columns, size_t rows) {
    clef_error error = {0};
    *b = (bench){0};
    assert_ok(clef_cpu_backend_create(threads_of(threads), NULL, &b->backend, &error), &error);
    assert_ok(clef_input_tally_create(columns, &b->tally, &error), &error);
    assert_ok(clef_tally_scratch_create(columns, rows, &b->scratch, &error), &error);
    b->x = (clef_matrix){NULL, rows, columns, columns + 5};
    b->x.data = clef_allocate(rows * b->x.stride, sizeof(float));
    assert_non_null(b->x.data);
    uint32_t number = 7;
    for (size_t i = 0; i < rows * b->x.stride; i++) {
        number = number * 1664525 + 1013904223;
        b->x.data[i] = (float)(number >> 8) / 8388608.0f - 0.8f;
    }
    clef_input_tally_restart(&b->tally);
}

static void close_bench(bench *b) {
    clef_release(b->x.data);
    clef_tally_scratch_release(&b->scratch);
    clef_input_tally_release(&b->tally);
    clef_backend_destroy(b->backend);
}

static double product(const bench *b, size_t i, size_t j) {
    double sum = 0;
    for (size_t row = 0; row < b->x.rows; row++) {
        sum += (double)b->x.data[row * b->x.stride + i] * b->x.data[row * b->x.stride + j];
    }
    return sum;
}

/* After `times` additions of the same rows: any number gives the same, since the mean is 1. */
static void check_sums(const bench *b) {
    const clef_input_sums *sums = &b->tally.sums;
    double mean = 0;
    for (size_t i = 0; i < sums->columns; i++) {
        mean += product(b, i, i) / (double)sums->columns;
    }
    double floor = sums->importance[0] - product(b, 0, 0) / mean;
    assert_true(floor > 0.05 && floor < 1.5);
    for (size_t i = 0; i < sums->columns; i += 1 + i / 7) {
        size_t first = i / sums->block * sums->block;
        size_t n = sums->columns - first < sums->block ? sums->columns - first : sums->block;
        const float *row = sums->values + first * sums->block + (i - first) * n;
        for (size_t j = 0; j < n; j += 1 + j / 9) {
            double expected = product(b, i, first + j) / mean + (i == first + j ? floor : 0);
            assert_true(fabs(row[j] - expected) < 1e-5);
        }
        assert_true(row[i - first] == sums->importance[i]);
    }
}

static void sums_are_those_of_the_rows(void **state) {
    (void)state;
    const size_t columns[] = {1, 70, 300, WIDE};
    for (size_t i = 0; i < 4; i++) {
        bench b;
        open_bench(&b, 2, columns[i], columns[i] == WIDE ? 3 : 37);
        for (int times = 0; times < 3; times++) {
            clef_input_tally_add(&b.tally, b.backend, b.x, &b.scratch);
        }
        assert_int_equal(clef_input_tally_finish(&b.tally), CLEF_TALLY_GOOD);
        check_sums(&b);
        close_bench(&b);
    }
}

static void threads_change_no_bit(void **state) {
    (void)state;
    bench one, four;
    open_bench(&one, 1, 300, 50);
    open_bench(&four, 4, 300, 50);
    clef_input_tally_add(&one.tally, one.backend, one.x, &one.scratch);
    clef_input_tally_add(&four.tally, four.backend, four.x, &four.scratch);
    assert_int_equal(clef_input_tally_finish(&one.tally), CLEF_TALLY_GOOD);
    assert_int_equal(clef_input_tally_finish(&four.tally), CLEF_TALLY_GOOD);
    assert_memory_equal(one.tally.values, four.tally.values, 300 * 300 * sizeof(float));
    close_bench(&one);
    close_bench(&four);
}

static void nothing_and_no_numbers_are_told(void **state) {
    (void)state;
    bench b;
    open_bench(&b, 1, 40, 8);
    assert_int_equal(clef_input_tally_finish(&b.tally), CLEF_TALLY_EMPTY);
    memset(b.x.data, 0, b.x.rows * b.x.stride * sizeof(float));
    clef_input_tally_add(&b.tally, b.backend, b.x, &b.scratch);
    assert_int_equal(clef_input_tally_finish(&b.tally), CLEF_TALLY_EMPTY);
    const float bad[] = {NAN, INFINITY, 1e30f};
    for (size_t i = 0; i < 3; i++) {
        clef_input_tally_restart(&b.tally);
        b.x.data[3 * b.x.stride + 11] = bad[i];
        clef_input_tally_add(&b.tally, b.backend, b.x, &b.scratch);
        assert_int_equal(clef_input_tally_finish(&b.tally), CLEF_TALLY_NOT_FINITE);
    }
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_rows),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(nothing_and_no_numbers_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
