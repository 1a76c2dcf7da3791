/* The backbone's forward pass: one step over packed slices of any number of sequences. */
#ifndef CLEF_MODEL_DECODER_H
#define CLEF_MODEL_DECODER_H

#include "model/trace.h"
#include "model/workspace.h"

/* Consecutive tokens of a sequence whose embeddings are replaced. */
typedef struct clef_feature_run {
    size_t position; /* of the first in its sequence */
    size_t count;
} clef_feature_run;

/* Feature rows of a sequence's pictures and videos (vision_tower.h), in the order of their runs. */
typedef struct clef_features {
    const clef_feature_run *runs; /* [run_count], upward */
    size_t run_count;
    clef_matrix rows; /* [Σ count, H] */
} clef_features;
/* A copy of a sequence's fixed state as it is behind the first `rows` rows of a slice. */
typedef struct clef_snapshot {
    size_t slice;
    size_t rows;  /* a multiple of CLEF_GRID, at least one, at most the slice's */
    float *fixed; /* [layout.fixed_floats], written by the step */
} clef_snapshot;

/* Rows of a step stand slice behind slice, without gaps. */
typedef struct clef_step {
    size_t rows;              /* at most workspace->row_limit */
    const uint32_t *tokens;   /* [rows] */
    const int32_t *positions; /* [3, rows]: time, height, width; equal for text */
    clef_slices slices;
    const clef_features *const *features; /* [slices.count], NULL: none; or NULL: text alone */
    const clef_snapshot *snapshots; /* [snapshot_count], in order of slices and rows, none twice */
    size_t snapshot_count;
    clef_slice *parts; /* [slices.count] scratch, when there are snapshots */
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
