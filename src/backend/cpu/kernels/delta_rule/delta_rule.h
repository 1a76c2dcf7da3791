/* The gated delta rule of one value head over at most CLEF_GRID consecutive positions.
 *
 * Recurrence (delta_step), S [key_size, value_size]:
 *   S ← e^g S;  δ = β(v - Sᵀk);  S ← S + k δᵀ;  out = Sᵀq
 * Chunk (delta_chunk), with G_i = Σ_{m≤i} g_m and D_ij = e^{G_i - G_j}:
 *   A_ij = β_i (k_i·k_j) D_ij for j < i;  (I + A) U = diag(β) V;  (I + A) W = diag(β e^G) K
 *   P_ij = (q_i·k_j) D_ij for j ≤ i;  V' = U - W S;  out = diag(e^G) Q S + P V'
 *   S ← e^{G_last} S + Σ_i e^{G_last - G_i} k_i V'_iᵀ
 * Both are the same in real arithmetic (the paper: Gated Delta Networks, section 3.3). D is always
 * the exponential of a difference: e^{G_i}·e^{-G_j} overflows.
 *
 * A chunk begins on the grid of its sequence, so a position always meets the same sums. scratch:
 * clef_delta_scratch_floats() of the calling thread. */
#ifndef CLEF_KERNELS_DELTA_RULE_H
#define CLEF_KERNELS_DELTA_RULE_H

#include <stddef.h>

typedef struct clef_delta_head {
    const float *query, *key; /* [rows, key_size], normalised, the query scaled */
    size_t key_stride;        /* elements between rows of query and of key */
    const float *value;       /* [rows, value_size] */
    size_t value_stride;
    const float *g, *beta; /* [rows] */
    size_t gate_stride;
    float *state; /* [key_size, value_size] */
    float *out;   /* [rows, value_size] */
    size_t out_stride;
    size_t rows;
    size_t key_size, value_size;
} clef_delta_head;

typedef void clef_delta_chunk_kernel(const clef_delta_head *head, float *scratch);
typedef void clef_delta_step_kernel(const clef_delta_head *head, float *scratch);

/* Scratch of both kernels, in floats. */
static inline size_t clef_delta_scratch_floats(size_t key_size, size_t value_size) {
    return 64 * (2 + 64 + 64 + 2 * key_size + value_size) + value_size;
}

#endif
