/* Attention inside a frame in bfloat16 with the dot-product instruction.
 *
 * As in fp32, lanes are queries: scores are K·Qᵀ and totals Vᵀ·Wᵀ, so a pair of a key's numbers, or
 * of two keys' values, is read as it lies and meets 32 queries at once. Queries are taken 32 at a
 * time: their pairs, the scores of a block and the totals then fit into the first-level cache
 * beside what streams through. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#define QUERIES (2 * LANES)
#define KEYS    CLEF_ROUNDED_FRAME_KEYS

#include "backend/cpu/kernels/frame_attention/frame_attention_turned.h"

/* sum += the two products of each pair. Not the intrinsic: gcc 12 copies the sum for each use. */
static inline vec add_products(vec sum, vec a, vec b) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}

static inline vec vec_of_pairs(__m512i pairs) {
    return _mm512_castsi512_ps(pairs);
}

/* ---- products ---- */

/* c[m, i] = start + Σ_k a[m, k] · b[k, i] over pairs, i < QUERIES; a[m, k] at a + m·a_row +
 * k·a_column; start is c itself or 0. */
typedef struct pair_product {
    const uint32_t *a;
    size_t a_row, a_column;
    const float *b; /* [depth, QUERIES] pairs */
    float *c;       /* [rows, QUERIES] */
    size_t rows, depth;
    bool adds;
} pair_product;

/* `rows` is a constant where this is inlined, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_tile(const pair_product *p, size_t m,
                                                                const size_t rows) {
    vec low[TILE_ROWS], high[TILE_ROWS];
    float *c = p->c + m * QUERIES;
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        low[r] = p->adds ? vec_load(c + r * QUERIES) : vec_zero();
        high[r] = p->adds ? vec_load(c + r * QUERIES + LANES) : vec_zero();
    }
    const uint32_t *a = p->a + m * p->a_row;
    const float *b = p->b;
    size_t a_row = p->a_row, a_column = p->a_column;
    for (size_t k = p->depth; k > 0; k--) {
        vec b_low = vec_load(b);
        vec b_high = vec_load(b + LANES);
#pragma GCC unroll 12
        for (size_t r = 0; r < rows; r++) {
            vec pair = vec_of_pairs(_mm512_set1_epi32((int)a[r * a_row]));
            low[r] = add_products(low[r], b_low, pair);
            high[r] = add_products(high[r], b_high, pair);
        }
        a += a_column;
        b += QUERIES;
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < rows; r++) {
        vec_store(c + r * QUERIES, low[r]);
        vec_store(c + r * QUERIES + LANES, high[r]);
    }
}

/* Functions of their own: with others around them the sums lose their registers. */
static __attribute__((noinline)) void multiply_twelve(const pair_product *p, size_t m) {
    multiply_tile(p, m, TILE_ROWS);
}

static __attribute__((noinline)) void multiply_eight(const pair_product *p, size_t m) {
    multiply_tile(p, m, 8);
}

static __attribute__((noinline)) void multiply_four(const pair_product *p, size_t m) {
    multiply_tile(p, m, 4);
}

static __attribute__((noinline)) void multiply_one(const pair_product *p, size_t m) {
    multiply_tile(p, m, 1);
}

static void multiply(const pair_product *p) {
    size_t m = 0;
    for (; m + TILE_ROWS <= p->rows; m += TILE_ROWS) {
        multiply_twelve(p, m);
    }
    for (; m + 8 <= p->rows; m += 8) {
        multiply_eight(p, m);
    }
    for (; m + 4 <= p->rows; m += 4) {
        multiply_four(p, m);
    }
    for (; m < p->rows; m++) {
        multiply_one(p, m);
    }
}

/* ---- softmax ---- */

/* 2^x for x ≤ 0 within 3e-6, where rounding a weight costs up to 4e-3: 2^n times the polynomial of
 * degree 4 that is 1 at 0 and has the smallest largest error on |r| ≤ ½. */
static inline vec power_of_two(vec x) {
    vec n = vec_round(x);
    vec r = vec_sub(x, n);
    vec p = vec_set(0.00958287539f);
    p = vec_fma(p, r, vec_set(0.0559064825f));
    p = vec_fma(p, r, vec_set(0.240240986f));
    p = vec_fma(p, r, vec_set(0.693124187f));
    p = vec_fma(p, r, vec_set(1.0f));
    return vec_scale(p, n);
}

/* Scores of LANES queries become pairs of weights in place; returns their sum. An odd last key has
 * a neighbour of weight 0. */
static vec weigh_scores(float *scores, size_t count, vec highest, vec exponent) {
    static const uint16_t order[2 * LANES] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                              21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                              11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i interleave = _mm512_loadu_si512(order);
    vec ones = vec_of_pairs(_mm512_set1_epi32(0x3F803F80));
    vec added = vec_zero();
    for (size_t j = 0; j < count; j += 2) {
        const float *score = scores + j * QUERIES;
        vec first = power_of_two(vec_mul(vec_sub(vec_load(score), highest), exponent));
        vec second = vec_zero();
        if (j + 1 < count) {
            second = power_of_two(vec_mul(vec_sub(vec_load(score + QUERIES), highest), exponent));
        }
        __m512i both = (__m512i)_mm512_cvtne2ps_pbh(second, first);
        vec pairs = vec_of_pairs(_mm512_permutexvar_epi16(interleave, both));
        vec_store(scores + j / 2 * QUERIES, pairs);
        added = add_products(added, pairs, ones);
    }
    return added;
}

/* Weights of a block's `count` scores. A correction of 1 is left out: it would change no bit. */
static void weigh_block(const turned_queries *t, size_t count, bool is_first, vec exponent) {
    for (size_t i = 0; i < QUERIES; i += LANES) {
        vec before = vec_load(t->maximum + i);
        vec highest = highest_score(t->scores + i, count, before);
        if (!is_first && vec_less(before, highest) != 0) {
            vec correction = power_of_two(vec_mul(vec_sub(before, highest), exponent));
            vec_store(t->sum + i, vec_mul(vec_load(t->sum + i), correction));
            shrink_totals(t, i, correction);
        }
        vec_store(t->maximum + i, highest);
        vec added = weigh_scores(t->scores + i, count, highest, exponent);
        vec_store(t->sum + i, vec_add(vec_load(t->sum + i), added));
    }
}

/* ---- keys ---- */

/* A key meets the queries in pairs of its numbers, values meet the weights in pairs of keys. */
static void add_block(const clef_frame_attention_bf16 *frame, const turned_queries *t, size_t first,
                      size_t count) {
    const uint32_t *keys = (const uint32_t *)(const void *)frame->key;
    const uint32_t *values = (const uint32_t *)(const void *)frame->value;
    size_t pairs = clef_rounded_key_size(frame->size) / 2;
    multiply(&(pair_product){.a = keys + first * pairs,
                             .a_row = pairs,
                             .a_column = 1,
                             .b = t->queries,
                             .c = t->scores,
                             .rows = count,
                             .depth = pairs});
    weigh_block(t, count, first == 0, vec_set(frame->scale * 1.44269504088896340736f));
    multiply(&(pair_product){.a = values + first / 2 * frame->size,
                             .a_row = 1,
                             .a_column = frame->size,
                             .b = t->scores,
                             .c = t->totals,
                             .rows = frame->size,
                             .depth = (count + 1) / 2,
                             .adds = first > 0});
}

/* Pairs of up to LANES rows of queries, turned. */
static void turn_queries(const float *query, size_t stride, size_t rows, size_t size, float *out) {
    for (size_t n = 0; n < size; n += 2 * LANES) {
        size_t left = size - n;
        vec square[LANES];
        for (size_t r = 0; r < LANES; r++) {
            vec_mask low = vec_first(r < rows ? left : 0);
            vec_mask high = vec_first(r < rows && left > LANES ? left - LANES : 0);
            const float *from = query + (r < rows ? r * stride + n : 0);
            square[r] = vec_of_pairs((__m512i)_mm512_cvtne2ps_pbh(vec_load_mask(high, from + LANES),
                                                                  vec_load_mask(low, from)));
        }
        vec_transpose(square);
        for (size_t k = 0; k < LANES && 2 * k < left; k++) {
            vec_store(out + (n / 2 + k) * QUERIES, square[k]);
        }
    }
}

/* Up to QUERIES rows from `row` on over all keys. */
static void attend_rows(const clef_frame_attention_bf16 *frame, const turned_queries *t,
                        size_t row) {
    size_t rows = frame->rows - row < QUERIES ? frame->rows - row : QUERIES;
    for (size_t i = 0; i < QUERIES; i += LANES) {
        size_t first = i < rows ? row + i : row;
        turn_queries(frame->query + first * frame->query_stride, frame->query_stride,
                     i < rows ? rows - i : 0, frame->size, t->queries + i);
    }
    begin_queries(t);
    for (size_t first = 0; first < frame->keys; first += KEYS) {
        add_block(frame, t, first, block_keys(frame->keys, first));
    }
    turn_back(t, rows, frame->out + row * frame->out_stride, frame->out_stride);
}

void clef_frame_attention_bf16_avx512bf16(const clef_frame_attention_bf16 *frame, float *scratch) {
    size_t pairs = clef_rounded_key_size(frame->size) / 2;
    turned_queries turned = place_queries(pairs, frame->size, QUERIES, scratch);
    for (size_t row = 0; row < frame->rows; row += QUERIES) {
        attend_rows(frame, &turned, row);
    }
}

/* ---- rounding ---- */

static void round_key(const float *key, size_t size, uint16_t *out) {
    for (size_t n = 0; n < size; n += LANES) {
        __m256i half = (__m256i)_mm512_cvtneps_pbh(vec_load_mask(vec_first(size - n), key + n));
        _mm256_mask_storeu_epi16(out + n, vec_first(clef_rounded_key_size(size) - n), half);
    }
}

void clef_round_frame_pair_avx512bf16(const clef_frame_pair *pair) {
    size_t size = pair->size;
    round_key(pair->key[0], size, pair->rounded_key);
    if (pair->key[1] != NULL) {
        round_key(pair->key[1], size, pair->rounded_key + clef_rounded_key_size(size));
    }
    for (size_t n = 0; n < size; n += LANES) {
        vec_mask mask = vec_first(size - n);
        vec second = pair->value[1] == NULL ? vec_zero() : vec_load_mask(mask, pair->value[1] + n);
        __m256i low = (__m256i)_mm512_cvtneps_pbh(vec_load_mask(mask, pair->value[0] + n));
        __m256i high = (__m256i)_mm512_cvtneps_pbh(second);
        __m512i both = _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                                       _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
        _mm512_mask_storeu_epi32(pair->rounded_value + 2 * n, mask, both);
    }
}
