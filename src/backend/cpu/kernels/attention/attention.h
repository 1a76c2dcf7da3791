/* One block of keys of an attention with a running softmax, for one key head and the query heads
 * that share it. For each query row: new maximum m' = max(m, scores); total and sum are scaled by
 * e^{m - m'}; then sum += Σ_j e^{s_j - m'} and total += Σ_j e^{s_j - m'} v_j, j upward.
 *
 * Query i sees the first min(keys, visible + i/heads·visible_step) keys of the block; the first
 * block of a row must show at least one key. Start: maximum = -infinity, sum = 0, total = 0. */
#ifndef CLEF_KERNELS_ATTENTION_H
#define CLEF_KERNELS_ATTENTION_H

#include <stddef.h>

typedef struct clef_attention_block {
    const float *query; /* [rows, heads, size]: row stride and head stride below */
    size_t query_row_stride, query_head_stride;
    size_t rows, heads;
    const float *key, *value; /* [keys, size] with key_stride elements between keys */
    size_t key_stride;
    size_t keys; /* at most 64 */
    size_t size;
    ptrdiff_t visible;      /* keys that row 0 sees, may be ≤ 0 (none) */
    ptrdiff_t visible_step; /* 1: each row sees one more (causal); 0: all the same */
    float scale;            /* of the scores */
    float *maximum, *sum;   /* [rows, heads] with state_stride elements between rows */
    size_t state_stride;
    float *total; /* [rows, heads, size] */
    size_t total_row_stride, total_head_stride;
} clef_attention_block;

/* scratch: clef_attention_scratch_floats() of the calling thread, aligned to 64 bytes. */
typedef void clef_attention_block_kernel(const clef_attention_block *block, float *scratch);

static inline size_t clef_attention_scratch_floats(size_t size) {
    return 64 * size;
}

#endif
