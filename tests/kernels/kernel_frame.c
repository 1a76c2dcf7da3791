/* Attention inside a frame by its formula, in double, with what an error of it is relative to. */
#include "kernel_frame.h"

#include "base/memory.h"
#include "support.h"

#include <math.h>
#include <stdio.h>

void frame_describe(kernel_input *input, const frame_sizes *sizes) {
    input->operations = 4.0 * (double)(sizes->rows * sizes->keys * sizes->size);
    snprintf(input->label, sizeof input->label, "rows %zu, size %zu, keys %zu, queries to %g",
             sizes->rows, sizes->size, sizes->keys, sizes->spread);
}

/* Scores of one query; returns the largest. `magnitude` is the largest sum of absolute products
 * behind one. */
static double score_keys(const clef_frame_attention *f, const float *query, double *scores,
                         double *magnitude) {
    double highest = -INFINITY;
    *magnitude = 0;
    for (size_t j = 0; j < f->keys; j++) {
        double sum = 0;
        scores[j] = 0;
        for (size_t n = 0; n < f->size; n++) {
            double term = (double)query[n] * f->key[j * f->key_stride + n] * f->scale;
            scores[j] += term;
            sum += fabs(term);
        }
        highest = fmax(highest, scores[j]);
        *magnitude = fmax(*magnitude, sum);
    }
    return highest;
}

static void expect_query(kernel_input *input, const clef_frame_attention *f, size_t row,
                         double score_error, double *scores) {
    double behind_scores;
    double whole = 0;
    double highest = score_keys(f, f->query + row * f->query_stride, scores, &behind_scores);
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
                      magnitude * (1 + score_error * behind_scores) + KERNEL_NEGLIGIBLE);
    }
}

void frame_expect(kernel_input *input, const clef_frame_attention *frame, double score_error) {
    double *scores = clef_allocate(frame->keys, sizeof *scores);
    assert_non_null(scores);
    for (size_t row = 0; row < frame->rows; row++) {
        expect_query(input, frame, row, score_error, scores);
    }
    clef_release(scores);
}
