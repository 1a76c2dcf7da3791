/* Attention on vectors whose lanes are queries: the running softmax of some queries on their way
 * through the blocks of keys, and the totals turned back into rows. Included behind a level's
 * vector_<level>.h, with QUERIES, the queries that are turned together (whole vectors), and KEYS,
 * those of a block, defined. */
#ifndef CLEF_KERNELS_FRAME_ATTENTION_TURNED_H
#define CLEF_KERNELS_FRAME_ATTENTION_TURNED_H

#include "base/size.h"

#include <math.h>
#include <stdbool.h>

typedef struct turned_queries {
    size_t size;    /* of a head */
    size_t columns; /* queries in whole vectors; those behind the last are zeros */
    float *queries; /* [depth, QUERIES] */
    float *totals;  /* [size, QUERIES]; the first block of keys writes them */
    float *scores;  /* [KEYS, QUERIES], then weights */
    float *maximum; /* [QUERIES] of the scores, as they come from the product */
    float *sum;     /* [QUERIES] of the weights */
    float *rest;    /* of the scratch */
} turned_queries;

/* `depth` vectors of queries stand in the product with a key. */
static turned_queries place_queries(size_t depth, size_t size, size_t columns, float *scratch) {
    turned_queries t = {.size = size, .columns = columns, .queries = scratch};
    t.totals = t.queries + depth * QUERIES;
    t.scores = t.totals + size * QUERIES;
    t.maximum = t.scores + (size_t)KEYS * QUERIES;
    t.sum = t.maximum + QUERIES;
    t.rest = t.sum + QUERIES;
    return t;
}

/* Before the first key. */
static void begin_queries(const turned_queries *t) {
    for (size_t i = 0; i < t->columns; i += LANES) {
        vec_store(t->maximum + i, vec_set(-INFINITY));
        vec_store(t->sum + i, vec_zero());
    }
}

/* Keys of the block from key `first` on. */
static size_t block_keys(size_t keys, size_t first) {
    return clef_size_smaller(keys - first, KEYS);
}

/* The largest of `count` scores of each lane and of `highest`. Four chains hide the latency; a
 * maximum is the same in any order. */
static vec highest_score(const float *scores, size_t count, vec highest) {
    vec best[4] = {highest, highest, highest, highest};
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (size_t c = 0; c < 4; c++) {
            best[c] = vec_max(best[c], vec_load(scores + (j + c) * QUERIES));
        }
    }
    for (; j < count; j++) {
        best[0] = vec_max(best[0], vec_load(scores + j * QUERIES));
    }
    return vec_max(vec_max(best[0], best[1]), vec_max(best[2], best[3]));
}

/* Totals of LANES queries from column i on, where the maximum grew. */
static void shrink_totals(const turned_queries *t, size_t i, vec correction) {
    for (size_t n = 0; n < t->size; n++) {
        float *total = t->totals + n * QUERIES + i;
        vec_store(total, vec_mul(correction, vec_load(total)));
    }
}

/* out[i, n] = totals[n, i] / sum[i]; out [rows, size]. */
static void turn_back(const turned_queries *t, size_t rows, float *out, size_t out_stride) {
    for (size_t i = 0; i < rows; i += LANES) {
        vec factor = vec_div(vec_set(1.0f), vec_load(t->sum + i));
        size_t count = clef_size_smaller(rows - i, LANES);
        for (size_t n = 0; n < t->size; n += LANES) {
            vec square[LANES];
            for (size_t k = 0; k < LANES; k++) {
                square[k] = n + k < t->size
                                ? vec_mul(factor, vec_load(t->totals + (n + k) * QUERIES + i))
                                : vec_zero();
            }
            vec_transpose(square);
            vec_mask mask = vec_first(t->size - n);
            for (size_t r = 0; r < count; r++) {
                vec_store_mask(mask, out + (i + r) * out_stride + n, square[r]);
            }
        }
    }
}

#endif
