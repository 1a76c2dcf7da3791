/* What attention inside a frame in fp32, and in bfloat16 without a dot product of pairs, share on
 * vectors: queries turned, the two products of a block of keys, both in fp32, and the softmax
 * between them. Included behind a level's vector_<level>.h, with KEYS, those of a block, defined.
 *
 * Everything stands on its side: lanes are queries. Scores are K·Qᵀ and totals Vᵀ·Wᵀ, so keys and
 * values are read as they lie, one number at a time, and the softmax needs no sum across lanes. The
 * queries are turned once a call, the totals once at its end. */
#ifndef CLEF_KERNELS_FRAME_ATTENTION_PRODUCTS_H
#define CLEF_KERNELS_FRAME_ATTENTION_PRODUCTS_H

#define QUERIES CLEF_FRAME_QUERIES

#include "backend/cpu/kernels/frame_attention/frame_attention_turned.h"
#include "backend/cpu/kernels/vector/vector_math.h"
#include "backend/cpu/kernels/vector/vector_product.h"

/* To bfloat16. */
static inline vec round_lanes(vec v) {
    uint16_t half[LANES];
    vec_store_bf16(half, v);
    return vec_load_weights(CLEF_DTYPE_BF16, (const char *)half, 0, LANES);
}

/* Up to QUERIES rows, before the first key. */
static turned_queries turn_queries(const float *query, size_t stride, size_t rows, size_t size,
                                   float *scratch) {
    size_t columns = (rows + LANES - 1) / LANES * LANES;
    turned_queries turned = place_queries(size, size, columns, scratch);
    vec_transpose_matrix(query, stride, rows, size, turned.queries, QUERIES);
    begin_queries(&turned);
    return turned;
}

/* Scores of `count` keys; number n of key j at key + j·stride + n. */
static void multiply_keys(const turned_queries *t, const float *key, size_t stride, size_t count) {
    vec_multiply(&(vec_product){.a = key,
                                .a_row = stride,
                                .a_column = 1,
                                .b = t->queries,
                                .b_row = QUERIES,
                                .c = t->scores,
                                .c_row = QUERIES,
                                .rows = count,
                                .depth = t->size,
                                .columns = t->columns});
}

/* Totals of the first block, or those so far and of one more. Values lie as keys do. */
static void multiply_values(const turned_queries *t, const float *value, size_t stride,
                            size_t count, bool is_first) {
    vec_multiply(&(vec_product){.a = value,
                                .a_row = 1,
                                .a_column = stride,
                                .b = t->scores,
                                .b_row = QUERIES,
                                .c = t->totals,
                                .c_row = QUERIES,
                                .rows = t->size,
                                .depth = count,
                                .columns = t->columns,
                                .adds = !is_first});
}

/* Scores s of a block become weights e^{scale · (s - m')}, rounded to bfloat16 or not; sum and
 * totals follow. Inlined, so that a constant scale of 1 and numbers not rounded cost nothing. */
static inline __attribute__((always_inline)) void weigh_block(const turned_queries *t, size_t count,
                                                              bool is_first, const float scale,
                                                              const bool rounds) {
    vec factor = vec_set(scale);
    for (size_t i = 0; i < t->columns; i += LANES) {
        float *scores = t->scores + i;
        vec before = vec_load(t->maximum + i);
        vec highest = highest_score(scores, count, before);
        vec added = vec_zero();
        for (size_t j = 0; j < count; j++) {
            vec distance = vec_sub(vec_load(scores + j * QUERIES), highest);
            vec weight = vec_exp(vec_mul(factor, distance));
            weight = rounds ? round_lanes(weight) : weight;
            vec_store(scores + j * QUERIES, weight);
            added = vec_add(added, weight);
        }
        vec correction = vec_exp(vec_mul(factor, vec_sub(before, highest)));
        vec_store(t->maximum + i, highest);
        vec_store(t->sum + i, vec_fma(vec_load(t->sum + i), correction, added));
        if (!is_first) {
            shrink_totals(t, i, correction);
        }
    }
}

#endif
