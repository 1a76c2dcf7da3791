/* Operations of the joint head: sums of spans, means of table rows, attention without a mask,
 * summaries and features, against plain formulas. */
#include "support.h"

#include "backend/backend.h"
#include "base/memory.h"

#include <math.h>

static uint64_t seed = 1;

static float next_float(float range) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return range * ((float)(seed >> 40) * 0x1p-23f - 1);
}

static float *draw(size_t count, float range) {
    float *numbers = clef_allocate(count, sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = next_float(range);
    }
    return numbers;
}

static clef_backend *open_backend(unsigned threads) {
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(threads_of(threads), NULL, &backend, &error), &error);
    return backend;
}

static void assert_close(double found, double wanted, double bound, size_t row, size_t column) {
    if (!(fabs(found - wanted) <= bound)) {
        fail_msg("row %zu, column %zu is %.9g, wanted %.9g", row, column, found, wanted);
    }
}

/* ---- spans ---- */

static void spans_add_up(void **state) {
    (void)state;
    enum { ROWS = 40, COLUMNS = 33, PARTS = 5 };
    float *x = draw((size_t)ROWS * COLUMNS, 1);
    clef_matrix matrix = {x, ROWS, COLUMNS, COLUMNS};
    static const size_t ranges[PARTS][2] = {{0, 1}, {1, 7}, {8, 20}, {39, 1}, {0, 40}};
    for (unsigned threads = 1; threads <= 3; threads++) {
        double totals[PARTS][COLUMNS] = {{0}};
        clef_span_part parts[PARTS];
        clef_backend *backend = open_backend(threads);
        for (size_t i = 0; i < PARTS; i++) {
            totals[i][0] = 5;
            parts[i] = (clef_span_part){ranges[i][0], ranges[i][1], totals[i]};
        }
        backend->operations->sum_spans(backend, matrix, parts, PARTS);
        for (size_t i = 0; i < PARTS; i++) {
            for (size_t c = 0; c < COLUMNS; c++) {
                double wanted = c == 0 ? 5 : 0;
                for (size_t row = 0; row < ranges[i][1]; row++) {
                    wanted += x[(ranges[i][0] + row) * COLUMNS + c];
                }
                assert_true(totals[i][c] == wanted);
            }
        }
        clef_backend_destroy(backend);
    }
    clef_release(x);
}

static void means_of_table_rows(void **state) {
    (void)state;
    enum { ROWS = 50, COLUMNS = 300, COUNT = 9 };
    float *table = draw((size_t)ROWS * COLUMNS, 1);
    uint16_t *narrow = clef_allocate((size_t)ROWS * COLUMNS, sizeof *narrow);
    assert_non_null(narrow);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        narrow[i] = clef_bf16_of_float(table[i]);
    }
    static const uint32_t ids[COUNT] = {0, 49, 3, 3, 3, 17, 20, 1, 49};
    clef_backend *backend = open_backend(1);
    for (size_t count = 1; count <= COUNT; count++) {
        float out[COLUMNS];
        for (size_t type = 0; type < 2; type++) {
            clef_weight weight = {.data = type == 0 ? (const void *)table : narrow,
                                  .dtype = type == 0 ? CLEF_DTYPE_F32 : CLEF_DTYPE_BF16,
                                  .rows = ROWS,
                                  .columns = COLUMNS};
            backend->operations->mean_rows(backend, weight, ids, count, out);
            for (size_t c = 0; c < COLUMNS; c++) {
                double sum = 0;
                for (size_t i = 0; i < count; i++) {
                    size_t at = ids[i] * COLUMNS + c;
                    sum += type == 0 ? table[at] : clef_float_of_bf16(narrow[at]);
                }
                assert_true(out[c] == (float)(sum / (double)count));
            }
        }
    }
    clef_backend_destroy(backend);
    clef_release(narrow);
    clef_release(table);
}

/* ---- attention without a mask ---- */

enum { QUERIES = 11, HEADS = 4, SIZE = 12, WIDTH = HEADS * SIZE, KEYS = 150 };

static void check_open_attention(const float *query, const float *keys, const float *values,
                                 float scale, const float *out) {
    for (size_t i = 0; i < QUERIES; i++) {
        for (size_t head = 0; head < HEADS; head++) {
            double weights[KEYS];
            double sum = 0;
            for (size_t j = 0; j < KEYS; j++) {
                double score = 0;
                for (size_t n = 0; n < SIZE; n++) {
                    score += (double)query[i * WIDTH + head * SIZE + n] *
                             keys[j * WIDTH + head * SIZE + n];
                }
                weights[j] = exp(score * scale);
                sum += weights[j];
            }
            for (size_t n = 0; n < SIZE; n++) {
                double wanted = 0;
                for (size_t j = 0; j < KEYS; j++) {
                    wanted += weights[j] / sum * values[j * WIDTH + head * SIZE + n];
                }
                assert_close(out[i * WIDTH + head * SIZE + n], wanted, 2e-6, i, head * SIZE + n);
            }
        }
    }
}

static void attention_without_mask_is_a_softmax(void **state) {
    (void)state;
    float *query = draw(QUERIES * WIDTH, 1);
    float *keys = draw(KEYS * WIDTH, 1);
    float *values = draw(KEYS * WIDTH, 1);
    float *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads++) {
        clef_backend *backend = open_backend(threads);
        const clef_operations *op = backend->operations;
        float maximum[QUERIES * HEADS];
        float sum[QUERIES * HEADS];
        float *out = draw(QUERIES * WIDTH, 1);
        clef_heads rows = {query, QUERIES, WIDTH, HEADS, SIZE, SIZE};
        clef_heads total = {out, QUERIES, WIDTH, HEADS, SIZE, SIZE};
        clef_attention_state running = {maximum, sum, total};
        op->attend_begin(backend, running);
        for (size_t key = 0; key < KEYS; key += CLEF_GRID) {
            size_t count = KEYS - key < CLEF_GRID ? KEYS - key : CLEF_GRID;
            clef_heads key_rows = {keys + key * WIDTH, count, WIDTH, HEADS, SIZE, SIZE};
            clef_heads value_rows = {values + key * WIDTH, count, WIDTH, HEADS, SIZE, SIZE};
            op->attend_block(backend, rows, key_rows, value_rows, 0.3f, running);
        }
        op->attend_end(backend, running, total);
        check_open_attention(query, keys, values, 0.3f, out);
        if (first == NULL) {
            first = out;
        } else {
            assert_memory_equal(out, first, QUERIES * WIDTH * sizeof *out);
            clef_release(out);
        }
        clef_backend_destroy(backend);
    }
    clef_release(first);
    clef_release(query);
    clef_release(keys);
    clef_release(values);
}

/* ---- summaries, cosines, features ---- */

static void features_stand_side_by_side(void **state) {
    (void)state;
    enum { OPTIONS = 7, COLUMNS = 20, STRIDE = 23, OUT_STRIDE = 84 };
    float *options = draw(OPTIONS * STRIDE, 1);
    float *field = draw(COLUMNS, 1);
    float *out = draw(OPTIONS * OUT_STRIDE, 1);
    clef_backend *backend = open_backend(1);
    clef_matrix matrix = {options, OPTIONS, COLUMNS, STRIDE};
    backend->operations->pair_features(backend, field, matrix,
                                       (clef_matrix){out, OPTIONS, 4 * COLUMNS, OUT_STRIDE});
    for (size_t j = 0; j < OPTIONS; j++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            float option = options[j * STRIDE + c];
            const float *row = out + j * OUT_STRIDE;
            assert_true(row[c] == field[c]);
            assert_true(row[COLUMNS + c] == option);
            assert_close(row[2 * COLUMNS + c], field[c] * option, 1e-7, j, c);
            assert_close(row[3 * COLUMNS + c], fabsf(field[c] - option), 1e-7, j, c);
        }
    }
    clef_release(options);
    clef_release(field);
    clef_release(out);
    clef_backend_destroy(backend);
}

static void summaries_weigh_options_by_their_score(void **state) {
    (void)state;
    enum { OPTIONS = 7, COLUMNS = 20, STRIDE = 23 };
    float *options = draw(OPTIONS * STRIDE, 2);
    float *base = draw(COLUMNS, 2);
    float out[COLUMNS];
    clef_backend *backend = open_backend(1);
    for (size_t count = 1; count <= OPTIONS; count++) {
        clef_matrix matrix = {options, count, COLUMNS, STRIDE};
        backend->operations->summarise(backend, matrix, base, out);
        double weights[OPTIONS];
        double sum = 0;
        for (size_t j = 0; j < count; j++) {
            double score = 0;
            for (size_t c = 0; c < COLUMNS; c++) {
                score += (double)options[j * STRIDE + c] * base[c];
            }
            weights[j] = exp(score / sqrt(COLUMNS));
            sum += weights[j];
        }
        for (size_t c = 0; c < COLUMNS; c++) {
            double wanted = 0;
            for (size_t j = 0; j < count; j++) {
                wanted += weights[j] / sum * options[j * STRIDE + c];
            }
            assert_close(out[c], wanted, 2e-6, count, c);
        }
    }
    clef_release(options);
    clef_release(base);
    clef_backend_destroy(backend);
}

static void cosines_have_a_floor(void **state) {
    (void)state;
    clef_backend *backend = open_backend(1);
    const float a[3] = {3, 0, 4};
    const float b[3] = {-6, 0, -8};
    const float c[3] = {0, 2, 0};
    const float zero[3] = {0};
    const float tiny[3] = {1e-9f, 0, 0};
    float (*cosine)(clef_backend *, const float *, const float *, size_t, float) =
        backend->operations->cosine;
    assert_close(cosine(backend, a, a, 3, 1e-8f), 1, 1e-7, 0, 0);
    assert_close(cosine(backend, a, b, 3, 1e-8f), -1, 1e-7, 0, 1);
    assert_true(cosine(backend, a, c, 3, 1e-8f) == 0);
    assert_true(cosine(backend, zero, a, 3, 1e-8f) == 0);
    assert_true(cosine(backend, zero, zero, 3, 1e-8f) == 0);
    /* 1e-9 counts as the floor of 1e-8: a tenth of 3/5. */
    assert_close(cosine(backend, tiny, a, 3, 1e-8f), 0.06, 1e-7, 0, 2);
    clef_backend_destroy(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_add_up),
        cmocka_unit_test(means_of_table_rows),
        cmocka_unit_test(attention_without_mask_is_a_softmax),
        cmocka_unit_test(features_stand_side_by_side),
        cmocka_unit_test(summaries_weigh_options_by_their_score),
        cmocka_unit_test(cosines_have_a_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
