/* Where the parts of a sequence's state lie.
 *
 * fixed:  per delta layer the matrices S [NV, DK, DV] and the convolution's tail [taps - 1,
 * channels] a page: CLEF_GRID positions of what grows: per full-attention layer keys and values
 * [CLEF_GRID, NKV·D] each, and the head's memory rows [CLEF_GRID, W] All fp32; offsets in floats.
 * Knows layers as numbers, not as weights. */
#ifndef CLEF_STATE_LAYOUT_H
#define CLEF_STATE_LAYOUT_H

#include "backend/backend.h"

typedef struct clef_layer_state {
    bool is_full_attention;
    size_t key_offset, value_offset;   /* full attention: in a page */
    size_t matrix_offset, tail_offset; /* delta rule: in the fixed part */
} clef_layer_state;

typedef struct clef_state_layout {
    clef_layer_state *layers; /* owned; [layer_count] */
    size_t layer_count;
    size_t fixed_floats;
    size_t page_floats;
    size_t memory_offset; /* in a page */
    size_t memory_width;  /* W; 0 without a head */
} clef_state_layout;

/* What a layout is made from. */
typedef struct clef_state_sizes {
    size_t layer_count;
    const bool *is_full_attention; /* [layer_count], borrowed during the call */
    clef_delta_shape delta;
    size_t convolution_rows; /* taps - 1 */
    size_t convolution_channels;
    size_t key_value_columns; /* NKV·D */
    size_t memory_width;
} clef_state_sizes;

/* CLEF_OUT_OF_MEMORY. Released with _release. */
clef_status clef_state_layout_create(const clef_state_sizes *sizes, clef_state_layout *layout,
                                     clef_error *error);
void clef_state_layout_release(clef_state_layout *layout);

/* Bytes of one sequence of `tokens` tokens. */
uint64_t clef_state_layout_bytes(const clef_state_layout *layout, size_t tokens);

#endif
