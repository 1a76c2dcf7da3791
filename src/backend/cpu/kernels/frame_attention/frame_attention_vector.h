/* Attention inside a frame on vectors: the body of frame_attention_<level>.c, behind that level's
 * vector_<level>.h.
 *
 * Everything stands on its side: lanes are queries. Scores are K·Qᵀ and totals Vᵀ·Wᵀ, so keys and
 * values are read as they lie, one number at a time, and the softmax needs no sum across lanes. The
 * queries are turned once a call, the totals once at its end. */
#include "backend/cpu/kernels/frame_attention/frame_attention_turn.h"
#include "backend/cpu/kernels/vector/vector_math.h"
#include "backend/cpu/kernels/vector/vector_product.h"

#include <math.h>

#define QUERIES CLEF_FRAME_QUERIES

typedef struct turned_frame {
    size_t columns; /* queries, rounded up to whole vectors; those behind the last are zeros */
    float *queries; /* [size, QUERIES], times scale */
    float *totals;  /* [size, QUERIES] */
    float *scores;  /* [CLEF_FRAME_KEYS, QUERIES] */
    float *maximum; /* [QUERIES] */
    float *sum;     /* [QUERIES] */
} turned_frame;

static turned_frame turn_queries(const clef_frame_attention *frame, float *scratch) {
    turned_frame turned = {.columns = (frame->rows + LANES - 1) / LANES * LANES};
    turned.queries = scratch;
    turned.totals = turned.queries + frame->size * QUERIES;
    turned.scores = turned.totals + frame->size * QUERIES;
    turned.maximum = turned.scores + CLEF_FRAME_KEYS * QUERIES;
    turned.sum = turned.maximum + QUERIES;
    vec_transpose_matrix(frame->query, frame->query_stride, frame->rows, frame->size,
                         turned.queries, QUERIES);
    vec scale = vec_set(frame->scale);
    for (size_t i = 0; i < turned.columns; i += LANES) {
        vec_store(turned.maximum + i, vec_set(-INFINITY));
        vec_store(turned.sum + i, vec_zero());
        for (size_t n = 0; n < frame->size; n++) {
            float *query = turned.queries + n * QUERIES + i;
            vec_store(query, vec_mul(scale, vec_load(query)));
            vec_store(turned.totals + n * QUERIES + i, vec_zero());
        }
    }
    return turned;
}

/* The largest of `count` scores of each lane and of `highest`. Four chains hide the latency; a
 * maximum is the same in any order. */
static vec highest_score(const float *scores, size_t count, vec highest) {
    vec best[4] = {highest, highest, highest, highest};
    for (size_t j = 0; j < count; j++) {
        best[j % 4] = vec_max(best[j % 4], vec_load(scores + j * QUERIES));
    }
    return vec_max(vec_max(best[0], best[1]), vec_max(best[2], best[3]));
}

/* Scores of LANES queries from column i on become weights e^{s - m'}; sum and totals follow. */
static void weigh_scores(const turned_frame *turned, size_t i, size_t count, size_t size) {
    float *scores = turned->scores + i;
    vec before = vec_load(turned->maximum + i);
    vec highest = highest_score(scores, count, before);
    vec added = vec_zero();
    for (size_t j = 0; j < count; j++) {
        vec weight = vec_exp(vec_sub(vec_load(scores + j * QUERIES), highest));
        vec_store(scores + j * QUERIES, weight);
        added = vec_add(added, weight);
    }
    vec correction = vec_exp(vec_sub(before, highest));
    vec_store(turned->maximum + i, highest);
    vec_store(turned->sum + i, vec_fma(vec_load(turned->sum + i), correction, added));
    for (size_t n = 0; n < size; n++) {
        float *total = turned->totals + n * QUERIES + i;
        vec_store(total, vec_mul(correction, vec_load(total)));
    }
}

static void add_block(const clef_frame_attention *frame, const turned_frame *turned, size_t first,
                      size_t count) {
    vec_multiply(&(vec_product){.a = frame->key + first * frame->key_stride,
                                .a_row = frame->key_stride,
                                .a_column = 1,
                                .b = turned->queries,
                                .b_row = QUERIES,
                                .c = turned->scores,
                                .c_row = QUERIES,
                                .rows = count,
                                .depth = frame->size,
                                .columns = turned->columns});
    for (size_t i = 0; i < turned->columns; i += LANES) {
        weigh_scores(turned, i, count, frame->size);
    }
    vec_multiply(&(vec_product){.a = frame->value + first * frame->key_stride,
                                .a_row = 1,
                                .a_column = frame->key_stride,
                                .b = turned->scores,
                                .b_row = QUERIES,
                                .c = turned->totals,
                                .c_row = QUERIES,
                                .rows = frame->size,
                                .depth = count,
                                .columns = turned->columns,
                                .adds = true});
}

static void attend_frame(const clef_frame_attention *frame, float *scratch) {
    turned_frame turned = turn_queries(frame, scratch);
    for (size_t first = 0; first < frame->keys; first += CLEF_FRAME_KEYS) {
        size_t left = frame->keys - first;
        add_block(frame, &turned, first, left < CLEF_FRAME_KEYS ? left : CLEF_FRAME_KEYS);
    }
    turn_back(&(frame_totals){.totals = turned.totals,
                              .sums = turned.sum,
                              .totals_stride = QUERIES,
                              .rows = frame->rows,
                              .size = frame->size,
                              .out = frame->out,
                              .out_stride = frame->out_stride});
}
