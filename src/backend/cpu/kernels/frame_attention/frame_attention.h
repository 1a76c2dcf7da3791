/* Attention of one head inside one frame of a picture, without mask: out_i = Σ_j w_ij v_j with
 * w_i = softmax_j(scale · q_i·k_j) over all keys of the frame.
 *
 * Keys are read in blocks of CLEF_FRAME_KEYS from the first one on, with a running softmax: for
 * each block the new maximum m' = max(m, scores); total and sum are scaled by e^{m - m'}; then sum
 * += Σ_j e^{s_j - m'} and total += Σ_j e^{s_j - m'} v_j, j upward; at the end out = total / sum.
 * Each query is computed by itself, so those beside it cannot change a bit. */
#ifndef CLEF_KERNELS_FRAME_ATTENTION_H
#define CLEF_KERNELS_FRAME_ATTENTION_H

#include <stddef.h>

#define CLEF_FRAME_KEYS    64
#define CLEF_FRAME_QUERIES 64 /* most queries of one call */

typedef struct clef_frame_attention {
    const float *query; /* [rows, size] */
    size_t query_stride;
    size_t rows;              /* 1 … CLEF_FRAME_QUERIES */
    const float *key, *value; /* [keys, size] with key_stride elements between keys */
    size_t key_stride;
    size_t keys; /* 1 or more */
    size_t size;
    float scale; /* of the scores */
    float *out;  /* [rows, size] */
    size_t out_stride;
} clef_frame_attention;

/* scratch: clef_frame_attention_scratch_floats() of the calling thread, aligned to 64 bytes. */
typedef void clef_frame_attention_kernel(const clef_frame_attention *frame, float *scratch);

/* Turned queries and totals, the scores of a block, maximum and sum of each query. */
static inline size_t clef_frame_attention_scratch_floats(size_t size) {
    return (2 * size + CLEF_FRAME_KEYS + 2) * CLEF_FRAME_QUERIES;
}

#endif
