/* The backbone's forward pass: one step over packed slices of any number of sequences. */
#ifndef CLEF_MODEL_DECODER_H
#define CLEF_MODEL_DECODER_H

#include "model/trace.h"
#include "model/workspace.h"

/* Rows of a step stand slice behind slice, without gaps. */
typedef struct clef_step {
    size_t rows;              /* at most workspace->row_limit */
    const uint32_t *tokens;   /* [rows] */
    const int32_t *positions; /* [3, rows]: time, height, width; equal for text */
    clef_slices slices;
} clef_step;

/* Somebody who is told where a pass stands: before each layer, and with the number of layers when
 * all are done. Costs nothing when absent. */
typedef struct clef_layer_watch {
    void (*begin)(void *context, size_t layer);
    void *context;
} clef_layer_watch;

/* Everything a block needs to compute one step. */
typedef struct clef_pass {
    const clef_network *network;
    clef_backend *backend;
    clef_workspace *workspace;
    clef_step step;
    const clef_trace *trace;       /* or NULL */
    const clef_layer_watch *watch; /* or NULL */
} clef_pass;

/* Runs all layers; the result [rows, H] after the final norm lies in workspace->normed, and the
 * sequences' states have moved on. Allocates nothing and cannot fail. */
void clef_decoder_run(const clef_pass *pass);

/* One decoder layer on the residual stream workspace->hidden; needs clef_decoder_begin first. */
void clef_decoder_layer(const clef_pass *pass, size_t layer);

/* Tables of the step that layers share: cosine and sine of its positions. */
void clef_decoder_begin(const clef_pass *pass);

/* The blocks of a layer: out [rows, H] from x [rows, H], before the residual addition. */
void clef_attention_block_run(const clef_pass *pass, size_t layer, clef_matrix x, clef_matrix out);
void clef_delta_block_run(const clef_pass *pass, size_t layer, clef_matrix x, clef_matrix out);
void clef_feed_forward_run(const clef_pass *pass, size_t layer, clef_matrix x, clef_matrix out);

#endif
