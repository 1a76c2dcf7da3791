/* Attention inside a frame on vectors: the body of frame_attention_<level>.c, behind that level's
 * vector_<level>.h. Keys and values are read as they lie; queries are scaled instead of scores. */
#define KEYS CLEF_FRAME_KEYS

#include "backend/cpu/kernels/frame_attention/frame_attention_products.h"

static void scale_queries(const turned_queries *t, float scale) {
    vec factor = vec_set(scale);
    for (size_t n = 0; n < t->size; n++) {
        for (size_t i = 0; i < t->columns; i += LANES) {
            float *query = t->queries + n * QUERIES + i;
            vec_store(query, vec_mul(factor, vec_load(query)));
        }
    }
}

static void add_block(const clef_frame_attention *frame, const turned_queries *t, size_t first,
                      size_t count) {
    size_t at = first * frame->key_stride;
    multiply_keys(t, frame->key + at, frame->key_stride, count);
    weigh_block(t, count, first == 0, 1, false);
    multiply_values(t, frame->value + at, frame->key_stride, count, first == 0);
}

static void attend_frame(const clef_frame_attention *frame, float *scratch) {
    turned_queries turned =
        turn_queries(frame->query, frame->query_stride, frame->rows, frame->size, scratch);
    scale_queries(&turned, frame->scale);
    for (size_t first = 0; first < frame->keys; first += KEYS) {
        add_block(frame, &turned, first, block_keys(frame->keys, first));
    }
    turn_back(&turned, frame->rows, frame->out, frame->out_stride);
}
