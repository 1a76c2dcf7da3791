/* Attention inside a frame in plain C: query by query, block by block. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

static float dot(const float *a, const float *b, size_t size) {
    double sum = 0;
    for (size_t n = 0; n < size; n++) {
        sum += (double)a[n] * b[n];
    }
    return (float)sum;
}

/* Adds keys [first, first + count) to the running softmax of one query. */
static void add_block(const clef_frame_attention *frame, const float *query, size_t first,
                      size_t count, float *maximum, float *sum, float *total) {
    float scores[CLEF_FRAME_KEYS];
    float highest = *maximum;
    for (size_t j = 0; j < count; j++) {
        const float *key = frame->key + (first + j) * frame->key_stride;
        scores[j] = dot(query, key, frame->size) * frame->scale;
        highest = scores[j] > highest ? scores[j] : highest;
    }
    float correction = expf(*maximum - highest);
    *sum *= correction;
    for (size_t n = 0; n < frame->size; n++) {
        total[n] *= correction;
    }
    for (size_t j = 0; j < count; j++) {
        const float *value = frame->value + (first + j) * frame->key_stride;
        float weight = expf(scores[j] - highest);
        *sum += weight;
        for (size_t n = 0; n < frame->size; n++) {
            total[n] += weight * value[n];
        }
    }
    *maximum = highest;
}

void clef_frame_attention_reference(const clef_frame_attention *frame, float *scratch) {
    (void)scratch;
    for (size_t row = 0; row < frame->rows; row++) {
        const float *query = frame->query + row * frame->query_stride;
        float *total = frame->out + row * frame->out_stride;
        float maximum = -INFINITY;
        float sum = 0;
        for (size_t n = 0; n < frame->size; n++) {
            total[n] = 0;
        }
        for (size_t first = 0; first < frame->keys; first += CLEF_FRAME_KEYS) {
            size_t left = frame->keys - first;
            add_block(frame, query, first, left < CLEF_FRAME_KEYS ? left : CLEF_FRAME_KEYS,
                      &maximum, &sum, total);
        }
        for (size_t n = 0; n < frame->size; n++) {
            total[n] /= sum;
        }
    }
}
