/* Attention inside a frame in bfloat16 in plain C: query by query, block by block. */
#include "backend/cpu/kernel_table.h"

#include "tensor/dtype.h"

#include <math.h>

static float round_number(float x) {
    return clef_float_of_bf16(clef_bf16_of_float(x));
}

/* sum + the products of a pair, which are exact in fp32. */
static float add_pair(float sum, float a0, float b0, float a1, float b1) {
    return sum + (a1 * b1 + a0 * b0);
}

static float score(const clef_frame_attention_bf16 *frame, const float *query, size_t j) {
    const uint16_t *key = frame->key + j * clef_rounded_key_size(frame->size);
    float sum = 0;
    for (size_t n = 0; n < frame->size; n += 2) {
        float second = n + 1 < frame->size ? round_number(query[n + 1]) : 0;
        sum = add_pair(sum, round_number(query[n]), clef_float_of_bf16(key[n]), second,
                       clef_float_of_bf16(key[n + 1]));
    }
    return sum;
}

/* weights[0 … count) of keys from `first` on, rounded, and a zero behind them; returns the new
 * maximum. */
static float weigh(const clef_frame_attention_bf16 *frame, const float *query, size_t first,
                   size_t count, float maximum, float *weights) {
    for (size_t j = 0; j < count; j++) {
        weights[j] = score(frame, query, first + j);
        maximum = weights[j] > maximum ? weights[j] : maximum;
    }
    for (size_t j = 0; j < count; j++) {
        weights[j] = round_number(expf(frame->scale * (weights[j] - maximum)));
    }
    weights[count] = 0;
    return maximum;
}

/* Adds keys [first, first + count) to the running softmax of one query. */
static void add_block(const clef_frame_attention_bf16 *frame, const float *query, size_t first,
                      size_t count, float *maximum, float *sum, float *total) {
    float weights[CLEF_ROUNDED_FRAME_KEYS + 1];
    float highest = weigh(frame, query, first, count, *maximum, weights);
    float correction = expf(frame->scale * (*maximum - highest));
    float added = 0;
    for (size_t j = 0; j < count; j += 2) {
        added = add_pair(added, weights[j], 1, weights[j + 1], 1);
    }
    *sum = *sum * correction + added;
    for (size_t n = 0; n < frame->size; n++) {
        total[n] *= correction;
        for (size_t j = 0; j < count; j += 2) {
            const uint16_t *pair = frame->value + ((first + j) / 2 * frame->size + n) * 2;
            total[n] = add_pair(total[n], weights[j], clef_float_of_bf16(pair[0]), weights[j + 1],
                                clef_float_of_bf16(pair[1]));
        }
    }
    *maximum = highest;
}

void clef_frame_attention_bf16_reference(const clef_frame_attention_bf16 *frame, float *scratch) {
    (void)scratch;
    for (size_t row = 0; row < frame->rows; row++) {
        const float *query = frame->query + row * frame->query_stride;
        float *total = frame->out + row * frame->out_stride;
        float maximum = -INFINITY;
        float sum = 0;
        for (size_t n = 0; n < frame->size; n++) {
            total[n] = 0;
        }
        for (size_t first = 0; first < frame->keys; first += CLEF_ROUNDED_FRAME_KEYS) {
            size_t left = frame->keys - first;
            size_t count = left < CLEF_ROUNDED_FRAME_KEYS ? left : CLEF_ROUNDED_FRAME_KEYS;
            add_block(frame, query, first, count, &maximum, &sum, total);
        }
        for (size_t n = 0; n < frame->size; n++) {
            total[n] /= sum;
        }
    }
}

void clef_round_frame_pair_reference(const clef_frame_pair *pair) {
    size_t stride = clef_rounded_key_size(pair->size);
    for (size_t k = 0; k < 2 && pair->key[k] != NULL; k++) {
        uint16_t *key = pair->rounded_key + k * stride;
        key[stride - 1] = 0;
        for (size_t n = 0; n < pair->size; n++) {
            key[n] = clef_bf16_of_float(pair->key[k][n]);
        }
    }
    for (size_t n = 0; n < pair->size; n++) {
        pair->rounded_value[2 * n] = clef_bf16_of_float(pair->value[0][n]);
        pair->rounded_value[2 * n + 1] =
            pair->value[1] == NULL ? 0 : clef_bf16_of_float(pair->value[1][n]);
    }
}
