/* Inputs of attention inside a frame: head sizes of the towers there are and odd ones, key counts
 * around the blocks, scores from flat to steep. */
#include "kernel_case.h"

#include "base/memory.h"
#include "support.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 5, 15, 16, 17, 33, 63, 64};
static const size_t sizes[] = {4, 16, 20, 64, 72, 100};
static const size_t key_counts[] = {1, 4, 24, 63, 64, 65, 128, 204};
static const double spreads[] = {2,
                                 9}; /* of queries: the larger one gives weights down to e^-150 */

typedef struct arguments {
    clef_frame_attention frame;
    float *scratch;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

static void draw_frame(kernel_input *input, size_t rows, size_t size, size_t keys, double spread) {
    arguments *a = arguments_of(input);
    clef_frame_attention *f = &a->frame;
    *f = (clef_frame_attention){
        .rows = rows, .size = size, .keys = keys, .scale = 1.0f / sqrtf((float)size)};
    f->query_stride = size + kernel_choose(input, 3);
    f->key_stride = size + kernel_choose(input, 3);
    f->out_stride = size + kernel_choose(input, 3);
    f->query = kernel_matrix(input, KERNEL_READ, rows, size, f->query_stride, spread).data;
    f->key = kernel_matrix(input, KERNEL_READ, keys, size, f->key_stride, 3).data;
    f->value = kernel_matrix(input, KERNEL_READ, keys, size, f->key_stride, 2).data;
    f->out = kernel_matrix(input, KERNEL_WRITE, rows, size, f->out_stride, 0).data;
    a->scratch = kernel_bytes(input, KERNEL_SCRATCH,
                              clef_frame_attention_scratch_floats(size) * sizeof(float));
    input->formula_bound = (double)(keys + 12) * 0x1p-24;
    input->operations = 4.0 * (double)(rows * keys * size);
    snprintf(input->label, sizeof input->label, "rows %zu, size %zu, keys %zu, queries to %g", rows,
             size, keys, spread);
}

static void draw(kernel_input *input, size_t index) {
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t size = KERNEL_PICK(&index, sizes);
    size_t keys = KERNEL_PICK(&index, key_counts);
    draw_frame(input, rows, size, keys, spreads[index]);
}

static void draw_timing(kernel_input *input, size_t index) {
    static const size_t shapes[][3] = {{64, 72, 1024}, {64, 64, 1024}, {24, 72, 24}};
    draw_frame(input, shapes[index][0], shapes[index][1], shapes[index][2], 2);
}

/* Scores of one query; returns the largest. `spread` is the largest sum of absolute products behind
 * one: an error of a score is a relative error of its weight. */
static double score_keys(const clef_frame_attention *f, const float *query, double *scores,
                         double *spread) {
    double highest = -INFINITY;
    *spread = 0;
    for (size_t j = 0; j < f->keys; j++) {
        double magnitude = 0;
        scores[j] = 0;
        for (size_t n = 0; n < f->size; n++) {
            double term = (double)query[n] * f->key[j * f->key_stride + n] * f->scale;
            scores[j] += term;
            magnitude += fabs(term);
        }
        highest = fmax(highest, scores[j]);
        *spread = fmax(*spread, magnitude);
    }
    return highest;
}

static void expect_query(kernel_input *input, const clef_frame_attention *f, size_t row,
                         double *scores) {
    double spread;
    double whole = 0;
    double highest = score_keys(f, f->query + row * f->query_stride, scores, &spread);
    for (size_t j = 0; j < f->keys; j++) {
        scores[j] = exp(scores[j] - highest);
        whole += scores[j];
    }
    for (size_t n = 0; n < f->size; n++) {
        double value = 0;
        double magnitude = 0;
        for (size_t j = 0; j < f->keys; j++) {
            double term = scores[j] / whole * f->value[j * f->key_stride + n];
            value += term;
            magnitude += fabs(term);
        }
        kernel_expect(input, f->out + row * f->out_stride + n, value,
                      magnitude * (1 + 2 * spread) + KERNEL_NEGLIGIBLE);
    }
}

static void expect(kernel_input *input) {
    const clef_frame_attention *f = &arguments_of(input)->frame;
    double *scores = clef_allocate(f->keys, sizeof *scores);
    assert_non_null(scores);
    for (size_t row = 0; row < f->rows; row++) {
        expect_query(input, f, row, scores);
    }
    clef_release(scores);
}

static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_frame_attention_kernel *)kernel)(&a->frame, a->scratch);
}

const kernel_contract contract_of_frame_attention = {
    .input_count = 9 * 6 * 8 * 2,
    .draw = draw,
    .timing_count = 3,
    .draw_timing = draw_timing,
    .expect = expect,
    .run = run,
};
