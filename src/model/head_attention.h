/* Parts that the layers of the joint head share: multi-head attention over the memory rows or over
 * the fields, the two-layer network with GELU, and memory for one decision. */
#ifndef CLEF_MODEL_HEAD_ATTENTION_H
#define CLEF_MODEL_HEAD_ATTENTION_H

#include "model/network.h"
#include "model/trace.h"

/* Memory rows taken at once: keys and values of a tile are projected together, then read block by
 * block on the grid. */
#define CLEF_HEAD_TILE 512

/* One decision's tools. */
typedef struct clef_head_run {
    const clef_network *network;
    clef_backend *backend;
    float *const *pages; /* of the record's sequence */
    size_t token_count;  /* T */
    const clef_trace *trace;
    clef_arena arena;   /* every matrix of the decision */
    clef_status status; /* sticks at the first failure */
    clef_error *error;
    clef_matrix memory;    /* [CLEF_HEAD_TILE, W] */
    clef_matrix keys;      /* [CLEF_HEAD_TILE, 2·W]: keys, then values */
    clef_matrix projected; /* [rows, 3·W] */
    clef_matrix total;     /* [rows, W] */
    clef_matrix expanded;  /* [rows, max(F, W)] */
    float *maximum, *sum;  /* [rows, heads] */
} clef_head_run;

/* A matrix of zeros in the arena; data NULL, and the status set, when memory is short. */
clef_matrix clef_head_matrix(clef_head_run *run, size_t rows, size_t columns);

/* Takes what the functions below need for at most `rows` rows. Sets the status. */
void clef_head_prepare(clef_head_run *run, size_t rows);

/* out = MHA(queries, M, M), or MHA(queries, LN(M), LN(M)) when a norm is given. [rows, W] */
void clef_head_attend_memory(clef_head_run *run, const clef_head_attention_weights *weights,
                             clef_matrix queries, const clef_layer_norm_weights *norm,
                             clef_matrix out);

/* out = MHA(x, x, x). [rows, W] */
void clef_head_attend_self(clef_head_run *run, const clef_head_attention_weights *weights,
                           clef_matrix x, clef_matrix out);

/* out = gelu(x·expandᵀ + b)·contractᵀ + b. */
void clef_head_feed_forward(clef_head_run *run, const clef_affine *expand,
                            const clef_affine *contract, clef_matrix x, clef_matrix out);

#endif
