/* Attention inside a frame in bfloat16 on vectors without a dot product of pairs: the body of
 * frame_attention_bf16_<level>.c, behind that level's vector_<level>.h. Rounded numbers are widened
 * to fp32 and multiplied there. */
#define KEYS CLEF_ROUNDED_FRAME_KEYS

#include "backend/cpu/kernels/frame_attention/frame_attention_products.h"

static void round_queries(const turned_queries *t) {
    for (size_t n = 0; n < t->size; n++) {
        for (size_t i = 0; i < t->columns; i += LANES) {
            float *query = t->queries + n * QUERIES + i;
            vec_store(query, round_lanes(vec_load(query)));
        }
    }
}

static void widen_keys(const clef_frame_attention_bf16 *frame, size_t first, size_t count,
                       float *out) {
    size_t stride = clef_rounded_key_size(frame->size);
    for (size_t j = 0; j < count; j++) {
        const char *key = (const char *)(frame->key + (first + j) * stride);
        for (size_t n = 0; n < frame->size; n += LANES) {
            size_t left = frame->size - n;
            vec_store_mask(vec_first(left), out + j * frame->size + n,
                           vec_load_weights(CLEF_DTYPE_BF16, key, n, left));
        }
    }
}

static void widen_values(const clef_frame_attention_bf16 *frame, size_t first, size_t count,
                         float *out) {
    for (size_t j = 0; j < count; j++) {
        const uint16_t *pairs = frame->value + (first + j) / 2 * frame->size * 2 + (first + j) % 2;
        for (size_t n = 0; n < frame->size; n++) {
            out[j * frame->size + n] = clef_float_of_bf16(pairs[2 * n]);
        }
    }
}

/* Keys, then values of a block are widened into the same place, so that it stays in cache. */
static void add_block(const clef_frame_attention_bf16 *frame, const turned_queries *t, size_t first,
                      size_t count) {
    float *widened = t->rest; /* [KEYS, size] */
    widen_keys(frame, first, count, widened);
    multiply_keys(t, widened, frame->size, count);
    weigh_block(t, count, first == 0, frame->scale, true);
    widen_values(frame, first, count, widened);
    multiply_values(t, widened, frame->size, count, first == 0);
}

static void attend_rounded_frame(const clef_frame_attention_bf16 *frame, float *scratch) {
    turned_queries turned =
        turn_queries(frame->query, frame->query_stride, frame->rows, frame->size, scratch);
    round_queries(&turned);
    for (size_t first = 0; first < frame->keys; first += KEYS) {
        add_block(frame, &turned, first, block_keys(frame->keys, first));
    }
    turn_back(&turned, frame->rows, frame->out, frame->out_stride);
}
