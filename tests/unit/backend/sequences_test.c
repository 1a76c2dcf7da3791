/* Operations along sequences: packed slices of several sequences, in pages, against plain formulas
 * over each whole sequence; the same bits for any number of threads and cut into any slices of the
 * grid. */
#include "support.h"

#include "backend/backend.h"
#include "base/memory.h"

#include <math.h>

enum { SEQUENCES = 3, ROWS = 300, PAGES = 4 };

/* Lengths of the sequences that are packed; together ROWS. */
static const size_t lengths[SEQUENCES] = {64, 65, 171};

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

/* State of all sequences, and their rows one sequence behind the other. */
typedef struct bench {
    float *fixed[SEQUENCES];
    float *pages[SEQUENCES][PAGES];
    clef_slice slices[SEQUENCES];
} bench;

static void open_bench(bench *b, size_t fixed_floats, size_t page_floats) {
    size_t row = 0;
    for (size_t s = 0; s < SEQUENCES; s++) {
        b->fixed[s] = clef_allocate(fixed_floats + 1, sizeof(float));
        assert_non_null(b->fixed[s]);
        for (size_t page = 0; page < PAGES; page++) {
            b->pages[s][page] = clef_allocate(page_floats + 1, sizeof(float));
            assert_non_null(b->pages[s][page]);
            /* Nothing may be read that was not stored. */
            memset(b->pages[s][page], 0xFF, page_floats * sizeof(float));
        }
        b->slices[s] = (clef_slice){row, lengths[s], 0, b->fixed[s], b->pages[s]};
        row += lengths[s];
    }
}

static void close_bench(bench *b) {
    for (size_t s = 0; s < SEQUENCES; s++) {
        clef_release(b->fixed[s]);
        for (size_t page = 0; page < PAGES; page++) {
            clef_release(b->pages[s][page]);
        }
    }
}

/* Calls run(context, slices) so that all sequences are computed: in one step, or page by page. */
static void run_steps(bench *b, bool is_cut, void (*run)(void *context, clef_slices slices),
                      void *context) {
    for (size_t first = 0; first < (is_cut ? ROWS : 1); first += CLEF_GRID) {
        clef_slice slices[SEQUENCES];
        size_t count = 0;
        for (size_t s = 0; s < SEQUENCES; s++) {
            if (first < lengths[s]) {
                size_t left = lengths[s] - first;
                clef_slice slice = b->slices[s];
                slice.row += first;
                slice.position = first;
                slice.count = is_cut && left > CLEF_GRID ? CLEF_GRID : left;
                slices[count++] = slice;
            }
        }
        run(context, (clef_slices){slices, count});
    }
}

/* Rows of `out` in one piece on one thread, and again with more threads and in pieces. */
typedef struct variant {
    unsigned threads;
    bool is_cut;
} variant;

static const variant variants[] = {{1, false}, {3, false}, {1, true}, {5, true}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* ---- pages ---- */

static void rows_are_stored_and_loaded(void **state) {
    (void)state;
    enum { COLUMNS = 7, OFFSET = 5, FLOATS = OFFSET + CLEF_GRID * COLUMNS + 3 };
    bench b;
    open_bench(&b, 0, FLOATS);
    clef_backend *backend = open_backend(2);
    float *x = draw(ROWS * (COLUMNS + 2), 1);
    clef_matrix rows = {x, ROWS, COLUMNS, COLUMNS + 2};
    backend->operations->store_rows(backend, (clef_slices){b.slices, SEQUENCES}, rows, OFFSET);
    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t position = 0; position < lengths[s]; position++) {
            const float *place =
                b.pages[s][position / CLEF_GRID] + OFFSET + position % CLEF_GRID * COLUMNS;
            assert_memory_equal(place, x + (b.slices[s].row + position) * rows.stride,
                                COLUMNS * sizeof *x);
        }
        assert_true(isnan(b.pages[s][0][OFFSET - 1]));
        assert_true(isnan(b.pages[s][0][OFFSET + CLEF_GRID * COLUMNS]));
        /* Back again, from any position over any page border. */
        for (size_t first = 0; first < lengths[s]; first += 13) {
            float *loaded = draw(lengths[s] * COLUMNS, 1);
            size_t count = lengths[s] - first;
            backend->operations->load_rows(backend, b.pages[s], first, OFFSET,
                                           (clef_matrix){loaded, count, COLUMNS, COLUMNS});
            for (size_t i = 0; i < count; i++) {
                assert_memory_equal(loaded + i * COLUMNS,
                                    x + (b.slices[s].row + first + i) * rows.stride,
                                    COLUMNS * sizeof *x);
            }
            clef_release(loaded);
        }
    }
    clef_release(x);
    clef_backend_destroy(backend);
    close_bench(&b);
}

/* ---- attention ---- */

enum { HEADS = 6, KEY_HEADS = 2, SIZE = 32, KEY_COLUMNS = KEY_HEADS * SIZE };
enum { QUERY_STRIDE = 2 * HEADS * SIZE, VALUE_OFFSET = CLEF_GRID * KEY_COLUMNS };

typedef struct attention_work {
    clef_backend *backend;
    clef_heads query, out;
    clef_matrix key, value;
} attention_work;

static void run_attention(void *context, clef_slices slices) {
    const attention_work *w = context;
    const clef_operations *op = w->backend->operations;
    op->store_rows(w->backend, slices, w->key, 0);
    op->store_rows(w->backend, slices, w->value, VALUE_OFFSET);
    op->attention(w->backend, slices, w->query, KEY_HEADS, 0, VALUE_OFFSET, w->out);
}

/* Row `position` of a sequence, head `head`: softmax(q·Kᵀ/√size)·V over positions 0 … position. */
static void attend_plainly(const attention_work *w, size_t row, size_t position, size_t head,
                           double *out) {
    const float *query = w->query.data + row * w->query.row_stride + head * w->query.head_stride;
    size_t column = head / (HEADS / KEY_HEADS) * SIZE;
    double weights[ROWS];
    double sum = 0;
    memset(out, 0, SIZE * sizeof *out);
    for (size_t j = 0; j <= position; j++) {
        const float *key = w->key.data + (row - position + j) * w->key.stride + column;
        double score = 0;
        for (size_t n = 0; n < SIZE; n++) {
            score += (double)query[n] * key[n];
        }
        weights[j] = exp(score / sqrt(SIZE));
        sum += weights[j];
    }
    for (size_t j = 0; j <= position; j++) {
        const float *value = w->value.data + (row - position + j) * w->value.stride + column;
        for (size_t n = 0; n < SIZE; n++) {
            out[n] += weights[j] / sum * value[n];
        }
    }
}

static void check_attention(const attention_work *w) {
    for (size_t s = 0, row = 0; s < SEQUENCES; s++) {
        for (size_t position = 0; position < lengths[s]; position++, row++) {
            for (size_t head = 0; head < HEADS; head++) {
                double wanted[SIZE];
                attend_plainly(w, row, position, head, wanted);
                for (size_t n = 0; n < SIZE; n++) {
                    assert_close(w->out.data[row * w->out.row_stride + head * SIZE + n], wanted[n],
                                 4e-6, row, head * SIZE + n);
                }
            }
        }
    }
}

static void attention_is_a_softmax_over_each_sequence(void **state) {
    (void)state;
    float *query = draw((size_t)ROWS * QUERY_STRIDE, 1);
    float *key = draw((size_t)ROWS * KEY_COLUMNS, 1);
    float *value = draw((size_t)ROWS * KEY_COLUMNS, 1);
    float *outs[VARIANTS];
    for (size_t v = 0; v < VARIANTS; v++) {
        bench b;
        open_bench(&b, 0, (size_t)2 * VALUE_OFFSET);
        outs[v] = draw((size_t)ROWS * HEADS * SIZE, 1);
        attention_work w = {
            .backend = open_backend(variants[v].threads),
            .query = {query, ROWS, QUERY_STRIDE, HEADS, 2 * SIZE, SIZE},
            .out = {outs[v], ROWS, (size_t)HEADS * SIZE, HEADS, SIZE, SIZE},
            .key = {key, ROWS, KEY_COLUMNS, KEY_COLUMNS},
            .value = {value, ROWS, KEY_COLUMNS, KEY_COLUMNS},
        };
        run_steps(&b, variants[v].is_cut, run_attention, &w);
        if (v == 0) {
            check_attention(&w);
        }
        assert_memory_equal(outs[v], outs[0], (size_t)ROWS * HEADS * SIZE * sizeof(float));
        clef_backend_destroy(w.backend);
        close_bench(&b);
    }
    for (size_t v = 0; v < VARIANTS; v++) {
        clef_release(outs[v]);
    }
    clef_release(query);
    clef_release(key);
    clef_release(value);
}

/* ---- short convolution ---- */

enum { CHANNELS = 600, TAPS = 4, TAIL_OFFSET = 3 };

typedef struct convolution_work {
    clef_backend *backend;
    clef_matrix x, out;
    const float *weight;
} convolution_work;

static void run_convolution(void *context, clef_slices slices) {
    const convolution_work *w = context;
    w->backend->operations->short_convolution(w->backend, slices, w->x, w->weight, TAPS,
                                              TAIL_OFFSET, w->out);
}

static void check_convolution(const convolution_work *w, const bench *b) {
    for (size_t s = 0, row = 0; s < SEQUENCES; s++) {
        for (size_t t = 0; t < lengths[s]; t++, row++) {
            for (size_t c = 0; c < CHANNELS; c++) {
                double sum = 0;
                for (size_t back = 0; back < TAPS && back <= t; back++) {
                    sum += (double)w->weight[c * TAPS + TAPS - 1 - back] *
                           w->x.data[(row - back) * w->x.stride + c];
                }
                assert_close(w->out.data[row * w->out.stride + c], sum / (1 + exp(-sum)), 2e-6, row,
                             c);
            }
        }
        /* The tail holds the last rows, oldest first. */
        for (size_t i = 0; i + 1 < TAPS; i++) {
            assert_memory_equal(b->fixed[s] + TAIL_OFFSET + i * CHANNELS,
                                w->x.data + (row + i + 1 - TAPS) * w->x.stride,
                                CHANNELS * sizeof(float));
        }
    }
}

static void convolution_sees_only_its_sequence(void **state) {
    (void)state;
    float *x = draw((size_t)ROWS * CHANNELS, 1);
    float *weight = draw((size_t)CHANNELS * TAPS, 1);
    float *outs[VARIANTS];
    for (size_t v = 0; v < VARIANTS; v++) {
        bench b;
        open_bench(&b, TAIL_OFFSET + (TAPS - 1) * CHANNELS, 0);
        outs[v] = draw((size_t)ROWS * CHANNELS, 1);
        convolution_work w = {open_backend(variants[v].threads),
                              {x, ROWS, CHANNELS, CHANNELS},
                              {outs[v], ROWS, CHANNELS, CHANNELS},
                              weight};
        run_steps(&b, variants[v].is_cut, run_convolution, &w);
        check_convolution(&w, &b);
        assert_memory_equal(outs[v], outs[0], (size_t)ROWS * CHANNELS * sizeof(float));
        clef_backend_destroy(w.backend);
        close_bench(&b);
    }
    for (size_t v = 0; v < VARIANTS; v++) {
        clef_release(outs[v]);
    }
    clef_release(x);
    clef_release(weight);
}

/* ---- delta rule ---- */

enum { NK = 2, NV = 6, DK = 16, DV = 24, STATE_OFFSET = 16 };

typedef struct delta_work {
    clef_backend *backend;
    clef_matrix query, key, value, g, beta, out;
} delta_work;

static void run_delta(void *context, clef_slices slices) {
    const delta_work *w = context;
    w->backend->operations->delta_rule(w->backend, slices, (clef_delta_shape){NK, NV, DK, DV},
                                       w->query, w->key, w->value, w->g, w->beta, STATE_OFFSET,
                                       w->out);
}

/* The recurrence of one head over one sequence. */
static void check_delta_head(const delta_work *w, const bench *b, size_t sequence, size_t head) {
    double state[DK][DV] = {{0}};
    for (size_t t = 0; t < lengths[sequence]; t++) {
        size_t row = b->slices[sequence].row + t;
        const float *query = w->query.data + row * w->query.stride + head / (NV / NK) * DK;
        const float *key = w->key.data + row * w->key.stride + head / (NV / NK) * DK;
        double decay = exp(w->g.data[row * w->g.stride + head]);
        double beta = w->beta.data[row * w->beta.stride + head];
        for (size_t n = 0; n < DV; n++) {
            double read = 0;
            double out = 0;
            for (size_t k = 0; k < DK; k++) {
                state[k][n] *= decay;
                read += state[k][n] * key[k];
            }
            double value = w->value.data[row * w->value.stride + head * DV + n];
            for (size_t k = 0; k < DK; k++) {
                state[k][n] += key[k] * beta * (value - read);
                out += state[k][n] * query[k];
            }
            assert_close(w->out.data[row * w->out.stride + head * DV + n], out, 4e-6, row,
                         head * DV + n);
        }
    }
    for (size_t k = 0; k < DK; k++) {
        for (size_t n = 0; n < DV; n++) {
            assert_close(b->fixed[sequence][STATE_OFFSET + (head * DK + k) * DV + n], state[k][n],
                         4e-6, k, n);
        }
    }
}

static void delta_rule_is_the_recurrence_of_each_sequence(void **state) {
    (void)state;
    float *query = draw((size_t)ROWS * NK * DK, 0.25f);
    float *key = draw((size_t)ROWS * NK * DK, 0.25f);
    float *value = draw((size_t)ROWS * NV * DV, 1);
    float *g = draw((size_t)ROWS * NV, 0.3f);
    float *beta = draw((size_t)ROWS * NV, 1);
    float *outs[VARIANTS];
    for (size_t i = 0; i < (size_t)ROWS * NV; i++) {
        g[i] = -fabsf(g[i]);
        beta[i] = fabsf(beta[i]);
    }
    for (size_t v = 0; v < VARIANTS; v++) {
        bench b;
        open_bench(&b, STATE_OFFSET + NV * DK * DV, 0);
        outs[v] = draw((size_t)ROWS * NV * DV, 1);
        delta_work w = {.backend = open_backend(variants[v].threads),
                        .query = {query, ROWS, NK * DK, NK * DK},
                        .key = {key, ROWS, NK * DK, NK * DK},
                        .value = {value, ROWS, NV * DV, NV * DV},
                        .g = {g, ROWS, NV, NV},
                        .beta = {beta, ROWS, NV, NV},
                        .out = {outs[v], ROWS, NV * DV, NV * DV}};
        run_steps(&b, variants[v].is_cut, run_delta, &w);
        for (size_t head = 0; head < (size_t)SEQUENCES * NV; head++) {
            check_delta_head(&w, &b, head / NV, head % NV);
        }
        assert_memory_equal(outs[v], outs[0], (size_t)ROWS * NV * DV * sizeof(float));
        clef_backend_destroy(w.backend);
        close_bench(&b);
    }
    for (size_t v = 0; v < VARIANTS; v++) {
        clef_release(outs[v]);
    }
    clef_release(query);
    clef_release(key);
    clef_release(value);
    clef_release(g);
    clef_release(beta);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_stored_and_loaded),
        cmocka_unit_test(attention_is_a_softmax_over_each_sequence),
        cmocka_unit_test(convolution_sees_only_its_sequence),
        cmocka_unit_test(delta_rule_is_the_recurrence_of_each_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
