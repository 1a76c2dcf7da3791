/* Attention inside frames: packed frames of several sizes, keys head by head, against a plain
 * softmax in double; the same bits for any number of threads and for parts of a frame. */
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

static void run(unsigned threads, const clef_frame_part *parts, size_t count, operands *o,
                size_t first, size_t rows) {
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(threads, NULL, &backend, &error), &error);
    backend->operations->attend_frames(backend, parts, count, rows_of(o->query, first, rows),
                                       keys_of(o->key), keys_of(o->value),
                                       rows_of(o->out, first, rows));
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

static void frames_follow_the_formula(void **state) {
    (void)state;
    operands o = draw_operands();
    run(1, frames, FRAME_COUNT, &o, 0, ROWS);
    for (size_t f = 0; f < FRAME_COUNT; f++) {
        for (size_t row = frames[f].row; row < frames[f].row + frames[f].count; row++) {
            for (size_t c = 0; c < (size_t)HEADS * SIZE; c++) {
                double want = wanted(&o, &frames[f], row, c / SIZE, c % SIZE);
                double found = o.out[row * STRIDE + c];
                if (!(fabs(found - want) <= 2e-6)) {
                    fail_msg("row %zu, column %zu is %.9g, wanted %.9g", row, c, found, want);
                }
            }
        }
    }
    release_operands(&o);
}

static void threads_and_parts_change_no_bit(void **state) {
    (void)state;
    operands o = draw_operands();
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_follow_the_formula),
        cmocka_unit_test(threads_and_parts_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
