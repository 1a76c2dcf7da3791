/* Operations that take whole matrices row by row: each against its formula in double, on views with
 * gaps between rows and heads, and with equal bits for any number of threads. */
#include "support.h"

#include "backend/backend.h"
#include "base/memory.h"

#include <math.h>

enum { ROWS = 67, COLUMNS = 300, STRIDE = 304, HEADS = 5, SIZE = 60, HEAD_STRIDE = 60 };

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

static float *copy_of(const float *numbers, size_t count) {
    float *copy = clef_allocate(count, sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, numbers, count * sizeof *copy);
    return copy;
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

/* Operands; operations use what they need. */
typedef struct operands {
    float *x, *y, *out;            /* [ROWS, STRIDE] */
    float *weight, *bias, *matrix; /* [COLUMNS], [COLUMNS], [COLUMNS, COLUMNS] */
    uint32_t ids[ROWS];
} operands;

static clef_matrix view(float *data) {
    return (clef_matrix){data, ROWS, COLUMNS, STRIDE};
}

static clef_heads heads_of(float *data) {
    return (clef_heads){data, ROWS, STRIDE, HEADS, HEAD_STRIDE, SIZE};
}

static operands draw_operands(void) {
    operands o = {.x = draw((size_t)ROWS * STRIDE, 2),
                  .y = draw((size_t)ROWS * STRIDE, 2),
                  .out = draw((size_t)ROWS * STRIDE, 2),
                  .weight = draw(COLUMNS, 1),
                  .bias = draw(COLUMNS, 1),
                  .matrix = draw((size_t)COLUMNS * COLUMNS, 1)};
    for (uint32_t i = 0; i < ROWS; i++) {
        o.ids[i] = i * 7919 % COLUMNS;
    }
    return o;
}

static void release_operands(operands *o) {
    clef_release(o->x);
    clef_release(o->y);
    clef_release(o->out);
    clef_release(o->weight);
    clef_release(o->bias);
    clef_release(o->matrix);
}

typedef void operation(clef_backend *backend, operands *o);
/* What element [row, column] of `result` must be, from the operands before the operation. */
typedef double formula(const operands *before, size_t row, size_t column);

/* Runs an operation with one and with three threads. `in_out` says whether x is the result. */
static void check(operation *run, formula *wanted, bool is_in_place, double bound) {
    operands o = draw_operands();
    operands before = o;
    before.x = copy_of(o.x, (size_t)ROWS * STRIDE);
    before.out = copy_of(o.out, (size_t)ROWS * STRIDE);
    float *first = NULL;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        clef_backend *backend = open_backend(threads);
        memcpy(o.x, before.x, (size_t)ROWS * STRIDE * sizeof *o.x);
        memcpy(o.out, before.out, (size_t)ROWS * STRIDE * sizeof *o.x);
        run(backend, &o);
        const float *result = is_in_place ? o.x : o.out;
        const float *was = is_in_place ? before.x : before.out;
        for (size_t row = 0; row < ROWS; row++) {
            for (size_t column = 0; column < COLUMNS; column++) {
                assert_close(result[row * STRIDE + column], wanted(&before, row, column), bound,
                             row, column);
            }
            assert_memory_equal(result + row * STRIDE + COLUMNS, was + row * STRIDE + COLUMNS,
                                (STRIDE - COLUMNS) * sizeof *result);
        }
        if (first == NULL) {
            first = copy_of(result, (size_t)ROWS * STRIDE);
        }
        assert_memory_equal(result, first, (size_t)ROWS * STRIDE * sizeof *result);
        clef_backend_destroy(backend);
    }
    clef_release(first);
    clef_release(before.x);
    clef_release(before.out);
    release_operands(&o);
}

static double sum_of_squares(const float *numbers, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)numbers[i] * numbers[i];
    }
    return sum;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* ---- rows ---- */

static void run_embed(clef_backend *backend, operands *o) {
    clef_weight table = {
        .data = o->matrix, .dtype = CLEF_DTYPE_F32, .rows = COLUMNS, .columns = COLUMNS};
    backend->operations->embed(backend, table, o->ids, view(o->out));
}

static double want_embed(const operands *o, size_t row, size_t column) {
    return o->matrix[o->ids[row] * COLUMNS + column];
}

static void run_linear(clef_backend *backend, operands *o) {
    clef_weight weight = {
        .data = o->matrix, .dtype = CLEF_DTYPE_F32, .rows = COLUMNS, .columns = COLUMNS};
    clef_linear(backend, view(o->x), weight, o->bias, view(o->out));
}

static double want_linear(const operands *o, size_t row, size_t column) {
    double sum = o->bias[column];
    for (size_t k = 0; k < COLUMNS; k++) {
        sum += (double)o->x[row * STRIDE + k] * o->matrix[column * COLUMNS + k];
    }
    return sum;
}

static void run_add(clef_backend *backend, operands *o) {
    backend->operations->add(backend, view(o->x), view(o->y));
}

static double want_add(const operands *o, size_t row, size_t column) {
    return o->x[row * STRIDE + column] + o->y[row * STRIDE + column];
}

/* One row added to all: stride 0. */
static void run_add_row(clef_backend *backend, operands *o) {
    backend->operations->add(backend, view(o->x), (clef_matrix){o->bias, ROWS, COLUMNS, 0});
}

static double want_add_row(const operands *o, size_t row, size_t column) {
    return o->x[row * STRIDE + column] + o->bias[column];
}

static void run_rms(clef_backend *backend, operands *o) {
    backend->operations->rms_norm(backend, view(o->x), o->weight, 1e-6f, view(o->out));
}

static double want_rms(const operands *o, size_t row, size_t column) {
    const float *x = o->x + row * STRIDE;
    double mean = sum_of_squares(x, COLUMNS) / COLUMNS;
    return x[column] / sqrt(mean + 1e-6) * (1 + (double)o->weight[column]);
}

static void run_rms_in_place(clef_backend *backend, operands *o) {
    backend->operations->rms_norm(backend, view(o->x), o->weight, 1e-6f, view(o->x));
}

static void run_layer_norm(clef_backend *backend, operands *o) {
    backend->operations->layer_norm(backend, view(o->x), o->weight, o->bias, 1e-5f, view(o->out));
}

static double want_layer_norm(const operands *o, size_t row, size_t column) {
    const float *x = o->x + row * STRIDE;
    double mean = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        mean += x[i] / (double)COLUMNS;
    }
    double variance = sum_of_squares(x, COLUMNS) / COLUMNS - mean * mean;
    return (x[column] - mean) / sqrt(variance + 1e-5) * o->weight[column] + o->bias[column];
}

static void run_swiglu(clef_backend *backend, operands *o) {
    backend->operations->swiglu(backend, view(o->x), view(o->y));
}

static double want_swiglu(const operands *o, size_t row, size_t column) {
    double gate = o->x[row * STRIDE + column];
    return gate * sigmoid(gate) * o->y[row * STRIDE + column];
}

static void run_gelu(clef_backend *backend, operands *o) {
    backend->operations->gelu(backend, view(o->x));
}

static double want_gelu(const operands *o, size_t row, size_t column) {
    double x = o->x[row * STRIDE + column];
    return x / 2 * (1 + erf(x / sqrt(2.0)));
}

static void run_gelu_tanh(clef_backend *backend, operands *o) {
    backend->operations->gelu_tanh(backend, view(o->x));
}

static double want_gelu_tanh(const operands *o, size_t row, size_t column) {
    double x = o->x[row * STRIDE + column];
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

enum { TAPS = 4 };

static uint32_t tap(const operands *o, size_t row, size_t t) {
    return (o->ids[row] + (uint32_t)(t * 101)) % COLUMNS;
}

/* Factors are the first of y's row, ids four of the matrix' rows. */
static void run_blend(clef_backend *backend, operands *o) {
    clef_weight table = {
        .data = o->matrix, .dtype = CLEF_DTYPE_F32, .rows = COLUMNS, .columns = COLUMNS};
    uint32_t ids[ROWS * TAPS];
    float factors[ROWS * TAPS];
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t t = 0; t < TAPS; t++) {
            ids[row * TAPS + t] = tap(o, row, t);
            factors[row * TAPS + t] = o->y[row * STRIDE + t];
        }
    }
    backend->operations->add_blend(backend, table, ids, factors, view(o->x));
}

static double want_blend(const operands *o, size_t row, size_t column) {
    double sum = o->x[row * STRIDE + column];
    for (size_t t = 0; t < TAPS; t++) {
        sum += (double)o->y[row * STRIDE + t] * o->matrix[tap(o, row, t) * COLUMNS + column];
    }
    return sum;
}

static void run_gates(clef_backend *backend, operands *o) {
    float *beta = copy_of(o->y, (size_t)ROWS * STRIDE);
    backend->operations->delta_gates(backend, view(o->x), view(beta), o->weight, o->bias);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t column = 0; column < COLUMNS; column++) {
            assert_close(beta[row * STRIDE + column], sigmoid(o->y[row * STRIDE + column]), 1e-6,
                         row, column);
        }
    }
    clef_release(beta);
}

static double want_gates(const operands *o, size_t row, size_t column) {
    double step = o->x[row * STRIDE + column] + (double)o->bias[column];
    return -exp(o->weight[column]) * log1p(exp(step));
}

static void matrices_follow_their_formulas(void **state) {
    (void)state;
    check(run_embed, want_embed, false, 0);
    check(run_linear, want_linear, false, 1e-3);
    check(run_add, want_add, true, 3e-7);
    check(run_add_row, want_add_row, true, 3e-7);
    check(run_rms, want_rms, false, 2e-6);
    check(run_rms_in_place, want_rms, true, 2e-6);
    check(run_layer_norm, want_layer_norm, false, 4e-6);
    check(run_swiglu, want_swiglu, true, 2e-6);
    check(run_gelu, want_gelu, true, 1e-6);
    check(run_gelu_tanh, want_gelu_tanh, true, 1e-6);
    check(run_blend, want_blend, true, 2e-6);
    check(run_gates, want_gates, true, 4e-6);
}

/* ---- heads ---- */

enum { HALF = 12 };

static void run_norm_rotate(clef_backend *backend, operands *o) {
    clef_matrix cosine = {o->y, ROWS, HALF, STRIDE};
    clef_matrix sine = {o->y + HALF, ROWS, HALF, STRIDE};
    backend->operations->norm_rotate(backend, heads_of(o->x), o->weight, 1e-6f, cosine, sine,
                                     heads_of(o->out));
}

static double normed(const operands *o, size_t row, size_t head, size_t n) {
    const float *x = o->x + row * STRIDE + head * HEAD_STRIDE;
    return x[n] / sqrt(sum_of_squares(x, SIZE) / SIZE + 1e-6) * (1 + (double)o->weight[n]);
}

static double want_norm_rotate(const operands *o, size_t row, size_t column) {
    size_t head = column / SIZE;
    size_t n = column % SIZE;
    if (n >= (size_t)2 * HALF) {
        return normed(o, row, head, n);
    }
    size_t pair = n % HALF;
    double a = normed(o, row, head, pair);
    double b = normed(o, row, head, pair + HALF);
    double cosine = o->y[row * STRIDE + pair];
    double sine = o->y[row * STRIDE + HALF + pair];
    return n < HALF ? a * cosine - b * sine : b * cosine + a * sine;
}

static double turned(const operands *o, size_t row, size_t column) {
    const float *x = o->x + row * STRIDE + column / SIZE * HEAD_STRIDE;
    size_t n = column % SIZE;
    if (n >= (size_t)2 * HALF) {
        return x[n];
    }
    double a = x[n % HALF];
    double b = x[n % HALF + HALF];
    double cosine = o->y[row * STRIDE + n % HALF];
    double sine = o->y[row * STRIDE + HALF + n % HALF];
    return n < HALF ? a * cosine - b * sine : b * cosine + a * sine;
}

static void run_rotate(clef_backend *backend, operands *o) {
    clef_matrix cosine = {o->y, ROWS, HALF, STRIDE};
    clef_matrix sine = {o->y + HALF, ROWS, HALF, STRIDE};
    backend->operations->rotate(backend, heads_of(o->x), cosine, sine, heads_of(o->out));
}

static void run_rotate_in_place(clef_backend *backend, operands *o) {
    clef_matrix cosine = {o->y, ROWS, HALF, STRIDE};
    clef_matrix sine = {o->y + HALF, ROWS, HALF, STRIDE};
    backend->operations->rotate(backend, heads_of(o->x), cosine, sine, heads_of(o->x));
}

static void run_copy(clef_backend *backend, operands *o) {
    backend->operations->copy(backend, heads_of(o->x), heads_of(o->out));
}

static double want_copy(const operands *o, size_t row, size_t column) {
    return o->x[row * STRIDE + column];
}

static void run_gate(clef_backend *backend, operands *o) {
    backend->operations->sigmoid_gate(backend, heads_of(o->x), heads_of(o->y));
}

static double want_gate(const operands *o, size_t row, size_t column) {
    return o->x[row * STRIDE + column] * sigmoid(o->y[row * STRIDE + column]);
}

static void run_l2(clef_backend *backend, operands *o) {
    backend->operations->l2_norm(backend, heads_of(o->x), 1e-6f, 0.5f);
}

static double want_l2(const operands *o, size_t row, size_t column) {
    const float *x = o->x + row * STRIDE + column / SIZE * HEAD_STRIDE;
    return x[column % SIZE] / sqrt(sum_of_squares(x, SIZE) + 1e-6) * 0.5;
}

static void run_gated_norm(clef_backend *backend, operands *o) {
    backend->operations->gated_norm(backend, heads_of(o->x), o->weight, 1e-6f, heads_of(o->y));
}

static double want_gated_norm(const operands *o, size_t row, size_t column) {
    const float *x = o->x + row * STRIDE + column / SIZE * HEAD_STRIDE;
    double gate = o->y[row * STRIDE + column];
    return o->weight[column % SIZE] * x[column % SIZE] /
           sqrt(sum_of_squares(x, SIZE) / SIZE + 1e-6) * gate * sigmoid(gate);
}

static void heads_follow_their_formulas(void **state) {
    (void)state;
    check(run_norm_rotate, want_norm_rotate, false, 4e-6);
    check(run_rotate, turned, false, 1e-6);
    check(run_rotate_in_place, turned, true, 1e-6);
    check(run_copy, want_copy, false, 0);
    check(run_gate, want_gate, true, 1e-6);
    check(run_l2, want_l2, true, 1e-6);
    check(run_gated_norm, want_gated_norm, true, 4e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_follow_their_formulas),
        cmocka_unit_test(heads_follow_their_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
