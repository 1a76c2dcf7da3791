/* Activations of one step: sized once for a number of rows, reused by every layer of every step. */
#ifndef CLEF_MODEL_WORKSPACE_H
#define CLEF_MODEL_WORKSPACE_H

#include "model/network.h"

typedef struct clef_workspace {
    size_t row_limit;
    float *floats; /* owned */
    size_t float_count;
    float *block;             /* rest of floats, for the matrices of one block */
    size_t block_used;        /* floats of it in use */
    clef_matrix hidden;       /* [row_limit, H] residual stream */
    clef_matrix normed;       /* [row_limit, H] */
    clef_matrix mixed;        /* [row_limit, H] */
    clef_matrix cosine, sine; /* [row_limit, rotary_size / 2] */
} clef_workspace;

/* Floats that `row_limit` rows of this network need. */
size_t clef_workspace_floats(const clef_network *network, size_t row_limit);

/* CLEF_OUT_OF_MEMORY. */
clef_status clef_workspace_create(const clef_network *network, size_t row_limit,
                                  clef_workspace *workspace, clef_error *error);
void clef_workspace_release(clef_workspace *workspace);

/* A matrix for the running block; valid until clef_workspace_begin_block. Sizes were summed up when
 * the workspace was created. */
clef_matrix clef_workspace_take(clef_workspace *workspace, size_t rows, size_t columns);
void clef_workspace_begin_block(clef_workspace *workspace);

#endif
