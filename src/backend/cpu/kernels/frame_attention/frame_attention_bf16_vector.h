/* Attention inside a frame in bfloat16 on vectors without a dot product of pairs: the body of
 * frame_attention_bf16_<level>.c, behind that level's vector_<level>.h. Rounded numbers are widened
 * to fp32 and multiplied there; lanes are queries. */
#include "backend/cpu/kernels/frame_attention/frame_attention_turn.h"
#include "backend/cpu/kernels/vector/vector_math.h"
#include "backend/cpu/kernels/vector/vector_product.h"

#include <math.h>

#define QUERIES CLEF_FRAME_QUERIES
#define KEYS    CLEF_ROUNDED_FRAME_KEYS

typedef struct turned_frame {
    size_t columns; /* queries, rounded up to whole vectors; those behind the last are zeros */
    float *queries; /* [size, QUERIES], rounded */
    float *totals;  /* [size, QUERIES] */
    float *scores;  /* [KEYS, QUERIES] */
    float *widened; /* [KEYS, size] keys, or values */
    float *maximum; /* [QUERIES] of the scores, not scaled */
    float *sum;     /* [QUERIES] */
} turned_frame;

static vec round_lanes(vec v) {
    uint16_t half[LANES];
    vec_store_bf16(half, v);
    return vec_load_weights(CLEF_DTYPE_BF16, (const char *)half, 0, LANES);
}

static turned_frame turn_queries(const clef_frame_attention_bf16 *frame, float *scratch) {
    turned_frame turned = {.columns = (frame->rows + LANES - 1) / LANES * LANES};
    turned.queries = scratch;
    turned.totals = turned.queries + frame->size * QUERIES;
    turned.scores = turned.totals + frame->size * QUERIES;
    turned.maximum = turned.scores + (size_t)KEYS * QUERIES;
    turned.sum = turned.maximum + QUERIES;
    turned.widened = turned.sum + QUERIES;
    vec_transpose_matrix(frame->query, frame->query_stride, frame->rows, frame->size,
                         turned.queries, QUERIES);
    for (size_t i = 0; i < turned.columns; i += LANES) {
        vec_store(turned.maximum + i, vec_set(-INFINITY));
        vec_store(turned.sum + i, vec_zero());
        for (size_t n = 0; n < frame->size; n++) {
            float *query = turned.queries + n * QUERIES + i;
            vec_store(query, round_lanes(vec_load(query)));
            vec_store(turned.totals + n * QUERIES + i, vec_zero());
        }
    }
    return turned;
}

/* Scores of LANES queries from column i on become rounded weights; sum and totals follow. */
static void weigh_scores(const turned_frame *turned, size_t i, size_t count, size_t size,
                         float scale) {
    float *scores = turned->scores + i;
    vec before = vec_load(turned->maximum + i);
    vec highest = before;
    vec factor = vec_set(scale);
    vec added = vec_zero();
    for (size_t j = 0; j < count; j++) {
        highest = vec_max(highest, vec_load(scores + j * QUERIES));
    }
    for (size_t j = 0; j < count; j++) {
        vec distance = vec_sub(vec_load(scores + j * QUERIES), highest);
        vec weight = round_lanes(vec_exp(vec_mul(factor, distance)));
        vec_store(scores + j * QUERIES, weight);
        added = vec_add(added, weight);
    }
    vec correction = vec_exp(vec_mul(factor, vec_sub(before, highest)));
    vec_store(turned->maximum + i, highest);
    vec_store(turned->sum + i, vec_fma(vec_load(turned->sum + i), correction, added));
    for (size_t n = 0; n < size; n++) {
        float *total = turned->totals + n * QUERIES + i;
        vec_store(total, vec_mul(correction, vec_load(total)));
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

static void add_block(const clef_frame_attention_bf16 *frame, const turned_frame *turned,
                      size_t first, size_t count) {
    widen_keys(frame, first, count, turned->widened);
    vec_multiply(&(vec_product){.a = turned->widened,
                                .a_row = frame->size,
                                .a_column = 1,
                                .b = turned->queries,
                                .b_row = QUERIES,
                                .c = turned->scores,
                                .c_row = QUERIES,
                                .rows = count,
                                .depth = frame->size,
                                .columns = turned->columns});
    for (size_t i = 0; i < turned->columns; i += LANES) {
        weigh_scores(turned, i, count, frame->size, frame->scale);
    }
    widen_values(frame, first, count, turned->widened);
    vec_multiply(&(vec_product){.a = turned->widened,
                                .a_row = 1,
                                .a_column = frame->size,
                                .b = turned->scores,
                                .b_row = QUERIES,
                                .c = turned->totals,
                                .c_row = QUERIES,
                                .rows = frame->size,
                                .depth = count,
                                .columns = turned->columns,
                                .adds = true});
}

static void attend_rounded_frame(const clef_frame_attention_bf16 *frame, float *scratch) {
    turned_frame turned = turn_queries(frame, scratch);
    for (size_t first = 0; first < frame->keys; first += KEYS) {
        size_t left = frame->keys - first;
        add_block(frame, &turned, first, left < KEYS ? left : KEYS);
    }
    turn_back(&(frame_totals){.totals = turned.totals,
                              .sums = turned.sum,
                              .totals_stride = QUERIES,
                              .rows = frame->rows,
                              .size = frame->size,
                              .out = frame->out,
                              .out_stride = frame->out_stride});
}
