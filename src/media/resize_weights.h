/* Weights of the bicubic filter along one axis, as whole numbers. */
#ifndef CLEF_MEDIA_RESIZE_WEIGHTS_H
#define CLEF_MEDIA_RESIZE_WEIGHTS_H

#include "media/resize.h"

/* out[i] = clamp((2^(precision − 1) + Σ_j weights[i, j] · in[first[i] + j]) >> precision) */
typedef struct clef_resize_weights {
    uint32_t *first;    /* owned: [out_length] */
    uint32_t *count;    /* owned: [out_length], at most `row` */
    int32_t *weights;   /* owned: [out_length, row] */
    size_t row;         /* weights kept for each output */
    unsigned precision; /* bits behind the point */
} clef_resize_weights;

/* Lengths ≥ 1. CLEF_OUT_OF_MEMORY leaves nothing behind. */
clef_status clef_resize_weights_create(uint32_t in_length, uint32_t out_length,
                                       clef_resize_rule rule, clef_resize_weights *weights,
                                       clef_error *error);
void clef_resize_weights_release(clef_resize_weights *weights);

#endif
