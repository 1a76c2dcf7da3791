/* What the contracts of attention inside a frame share, however their numbers are stored: the
 * formula of frame_attention.h in double, and how an input is described. */
#ifndef CLEF_TEST_KERNEL_FRAME_H
#define CLEF_TEST_KERNEL_FRAME_H

#include "kernel_case.h"

/* Ranges of queries: the larger one gives weights down to e^-150. */
static const double frame_spreads[] = {2, 9};

typedef struct frame_sizes {
    size_t rows, size, keys;
    double spread; /* of the queries */
} frame_sizes;

/* Label and operations. */
void frame_describe(kernel_input *input, const frame_sizes *sizes);

/* States what must stand in frame->out, given the numbers as they are multiplied. An error of a
 * score is a relative error of its weight: score_error times the sum of absolute products behind
 * it, in units of the input's bound. */
void frame_expect(kernel_input *input, const clef_frame_attention *frame, double score_error);

#endif
