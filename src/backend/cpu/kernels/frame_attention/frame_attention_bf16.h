/* Attention of one head inside one frame in bfloat16: out_i = Σ_j w_ij v_j / Σ_j w_ij with w_ij =
 * e^{scale · (q_i·k_j − m_i)}. Queries, keys, values and weights are rounded to bfloat16 (nearest,
 * ties to even; subnormal numbers count as zero); products of two are exact, and sums, exponentials
 * and the division are fp32. The divisor sums the rounded weights, so weights add up to one.
 *
 * Order: a score is one chain over pairs of the head's numbers, upward, starting from 0. Keys are
 * read in blocks of CLEF_ROUNDED_FRAME_KEYS from the first one on, with a running softmax: the new
 * maximum m' = max(m, scores of the block); where it grew, total and sum are scaled by e^{scale ·
 * (m − m')}; then a total goes on as one chain over pairs of keys, upward, and the sum of the
 * block's weights, a chain of its own, is added to the sum. At the end out = total / sum. Levels
 * without a dot product of pairs add the two products of a pair one after the other.
 * Each query is computed by itself, so those beside it cannot change a bit. */
#ifndef CLEF_KERNELS_FRAME_ATTENTION_BF16_H
#define CLEF_KERNELS_FRAME_ATTENTION_BF16_H

#include "backend/cpu/kernels/frame_attention/frame_attention.h"

#include <stdint.h>

/* Even. More keys in a block change the totals less often; scores must stay in cache. */
#define CLEF_ROUNDED_FRAME_KEYS 128

/* Numbers of a rounded key: whole pairs. */
static inline size_t clef_rounded_key_size(size_t size) {
    return (size + 1) / 2 * 2;
}

typedef struct clef_frame_attention_bf16 {
    const float *query; /* [rows, size] */
    size_t query_stride;
    size_t rows;           /* 1 … CLEF_FRAME_QUERIES */
    const uint16_t *key;   /* [keys, clef_rounded_key_size(size)] bfloat16, aligned to 4 bytes */
    const uint16_t *value; /* [(keys + 1) / 2, size, 2]: pairs of keys; aligned to 4 bytes. With an
                              odd number of keys the last ones of pairs are finite and not used */
    size_t keys;           /* 1 or more */
    size_t size;
    float scale; /* of the scores, above 0 */
    float *out;  /* [rows, size] */
    size_t out_stride;
} clef_frame_attention_bf16;

/* scratch: clef_frame_attention_bf16_scratch_floats() of the calling thread, aligned to 64 bytes.
 */
typedef void clef_frame_attention_bf16_kernel(const clef_frame_attention_bf16 *frame,
                                              float *scratch);

/* Turned queries and totals, the scores of a block, maximum and sum of each query; for levels
 * without dot products the keys or values of a block in fp32. */
static inline size_t clef_frame_attention_bf16_scratch_floats(size_t size) {
    return (2 * size + CLEF_ROUNDED_FRAME_KEYS + 2) * CLEF_FRAME_QUERIES +
           CLEF_ROUNDED_FRAME_KEYS * size;
}

/* Two neighbouring keys and their values, rounded to where attention reads them. */
typedef struct clef_frame_pair {
    const float *key[2], *value[2]; /* [size] each; the second ones NULL when there is one key */
    size_t size;
    uint16_t *rounded_key;   /* [one or two keys, clef_rounded_key_size(size)], filled with zeros */
    uint16_t *rounded_value; /* [size, 2], zeros for a second one that is not there */
} clef_frame_pair;

typedef void clef_round_frame_pair_kernel(const clef_frame_pair *pair);

#endif
