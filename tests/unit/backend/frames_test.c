/* Attention inside frames, in fp32 and in bfloat16: packed frames of several sizes, keys head by
 * head, against a plain softmax in double; the same bits for any number of threads and for parts of
 * a frame. */
#include "support.h"

#include "backend/backend.h"
#include "base/memory.h"

#include <math.h>

enum { ROWS = 200, HEADS = 3, SIZE = 20, STRIDE = HEADS * SIZE + 5, HEAD_STRIDE = ROWS * SIZE };

/* Frames of 4, 100 and 96 patches. */
static const clef_frame_part frames[] = {{0, 4, 0, 4}, {4, 100, 4, 100}, {104, 96, 104, 96}};
#define FRAME_COUNT (sizeof frames / sizeof frames[0])

static uint64_t seed = 1;

static float *draw(size_t count, float range) {
    float *numbers = clef_allocate(count, sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        numbers[i] = range * ((float)(seed >> 40) * 0x1p-23f - 1);
    }
    return numbers;
}

typedef struct operands {
    float *query, *out; /* [ROWS, STRIDE] */
    float *key, *value; /* [HEADS, ROWS, SIZE] */
    bool is_rounded;    /* to bfloat16 */
} operands;

static clef_heads rows_of(float *data, size_t first, size_t rows) {
    return (clef_heads){data + first * STRIDE, rows, STRIDE, HEADS, SIZE, SIZE};
}

static clef_heads keys_of(float *data) {
    return (clef_heads){data, ROWS, SIZE, HEADS, HEAD_STRIDE, SIZE};
}

static operands draw_operands(void) {
    return (operands){.query = draw((size_t)ROWS * STRIDE, 3),
                      .out = draw((size_t)ROWS * STRIDE, 1),
                      .key = draw((size_t)HEADS * HEAD_STRIDE, 2),
                      .value = draw((size_t)HEADS * HEAD_STRIDE, 1)};
}

static void release_operands(operands *o) {
    clef_release(o->query);
    clef_release(o->out);
    clef_release(o->key);
    clef_release(o->value);
}

static void round_numbers(float *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        numbers[i] = clef_float_of_bf16(clef_bf16_of_float(numbers[i]));
    }
}

/* Operands that their own rounding leaves as they are. */
static operands draw_rounded_operands(void) {
    operands o = draw_operands();
    o.is_rounded = true;
    round_numbers(o.query, (size_t)ROWS * STRIDE);
    round_numbers(o.key, (size_t)HEADS * HEAD_STRIDE);
    round_numbers(o.value, (size_t)HEADS * HEAD_STRIDE);
    return o;
}

/* Keys are rounded in two goes, as blocks of rows hand them over. */
static void run_rounded(clef_backend *backend, const clef_frame_part *parts, size_t count,
                        operands *o, size_t first, size_t rows) {
    const clef_operations *op = backend->operations;
    size_t numbers = (size_t)HEADS * HEAD_STRIDE;
    uint16_t *rounded = clef_allocate(2 * numbers, sizeof *rounded);
    assert_non_null(rounded);
    clef_rounded_frames to = {rounded, rounded + numbers, ROWS, HEADS, SIZE};
    clef_heads key = keys_of(o->key);
    clef_heads value = keys_of(o->value);
    key.rows = value.rows = 70;
    op->round_frames(backend, key, value, 0, to);
    key.data += 70 * SIZE;
    value.data += 70 * SIZE;
    key.rows = value.rows = ROWS - 70;
    op->round_frames(backend, key, value, 70, to);
    op->attend_rounded_frames(backend, parts, count, rows_of(o->query, first, rows), to,
                              rows_of(o->out, first, rows));
    clef_release(rounded);
}

static void run(unsigned threads, const clef_frame_part *parts, size_t count, operands *o,
                size_t first, size_t rows) {
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(threads_of(threads), NULL, &backend, &error), &error);
    if (o->is_rounded) {
        run_rounded(backend, parts, count, o, first, rows);
    } else {
        backend->operations->attend_frames(backend, parts, count, rows_of(o->query, first, rows),
                                           keys_of(o->key), keys_of(o->value),
                                           rows_of(o->out, first, rows));
    }
    clef_backend_destroy(backend);
}

/* One element by the formula. */
static double wanted(const operands *o, const clef_frame_part *frame, size_t row, size_t head,
                     size_t n) {
    double scores[ROWS];
    double highest = -INFINITY;
    double sum = 0;
    double total = 0;
    for (size_t j = 0; j < frame->key_count; j++) {
        const float *key = o->key + head * HEAD_STRIDE + (frame->key + j) * SIZE;
        scores[j] = 0;
        for (size_t i = 0; i < SIZE; i++) {
            scores[j] += (double)o->query[row * STRIDE + head * SIZE + i] * key[i] / sqrt(SIZE);
        }
        highest = fmax(highest, scores[j]);
    }
    for (size_t j = 0; j < frame->key_count; j++) {
        double weight = exp(scores[j] - highest);
        sum += weight;
        total += weight * o->value[head * HEAD_STRIDE + (frame->key + j) * SIZE + n];
    }
    return total / sum;
}

static void check_formula(operands o, double bound) {
    run(1, frames, FRAME_COUNT, &o, 0, ROWS);
    for (size_t f = 0; f < FRAME_COUNT; f++) {
        for (size_t row = frames[f].row; row < frames[f].row + frames[f].count; row++) {
            for (size_t c = 0; c < (size_t)HEADS * SIZE; c++) {
                double want = wanted(&o, &frames[f], row, c / SIZE, c % SIZE);
                double found = o.out[row * STRIDE + c];
                if (!(fabs(found - want) <= bound)) {
                    fail_msg("row %zu, column %zu is %.9g, wanted %.9g", row, c, found, want);
                }
            }
        }
    }
    release_operands(&o);
}

static void frames_follow_the_formula(void **state) {
    (void)state;
    check_formula(draw_operands(), 2e-6);
    /* A weight is rounded by at most 2^-8 of itself, and so is their sum; values are below 1. */
    check_formula(draw_rounded_operands(), 0x1p-7);
}

static void check_bits(operands o) {
    run(1, frames, FRAME_COUNT, &o, 0, ROWS);
    size_t bytes = (size_t)ROWS * STRIDE * sizeof *o.out;
    float *first = clef_allocate(1, bytes);
    assert_non_null(first);
    memcpy(first, o.out, bytes);
    run(3, frames, FRAME_COUNT, &o, 0, ROWS);
    assert_memory_equal(o.out, first, bytes);
    /* Rows 30 … 99 of the second frame alone, as a block of their own. */
    memset(o.out + (size_t)34 * STRIDE, 0, 70 * STRIDE * sizeof *o.out);
    const clef_frame_part part = {0, 70, 4, 100};
    run(2, &part, 1, &o, 34, 70);
    for (size_t row = 34; row < 104; row++) {
        assert_memory_equal(o.out + row * STRIDE, first + row * STRIDE,
                            (size_t)HEADS * SIZE * sizeof *first);
    }
    clef_release(first);
    release_operands(&o);
}

static void threads_and_parts_change_no_bit(void **state) {
    (void)state;
    check_bits(draw_operands());
    check_bits(draw_rounded_operands());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_follow_the_formula),
        cmocka_unit_test(threads_and_parts_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
