/* The state of one sequence, and checkpoints: immutable copies of it at a point of the grid.
 *
 * A checkpoint shares the full pages by reference and copies only the fixed part, because recurrent
 * state cannot be cut at a token afterwards. Restoring one and going on gives the same bits as
 * never having stopped. */
#ifndef CLEF_STATE_SEQUENCE_H
#define CLEF_STATE_SEQUENCE_H

#include "state/page_pool.h"
#include "state/state_layout.h"

typedef struct clef_sequence {
    const clef_state_layout *layout; /* borrowed for the sequence's life */
    clef_page_pool *pool;            /* borrowed for the sequence's life */
    float *fixed;                    /* owned; [layout->fixed_floats] */
    float **pages;                   /* owned array; [page_count] references */
    size_t page_count;
    size_t page_capacity;
    size_t position; /* tokens computed so far */
} clef_sequence;

typedef struct clef_checkpoint {
    clef_page_pool *pool;
    float *fixed;  /* owned */
    float **pages; /* owned array; [position / CLEF_GRID] references */
    size_t position;
} clef_checkpoint;

/* An empty sequence. CLEF_OUT_OF_MEMORY. */
clef_status clef_sequence_create(const clef_state_layout *layout, clef_page_pool *pool,
                                 clef_sequence **out, clef_error *error);
/* NULL is fine. */
void clef_sequence_destroy(clef_sequence *sequence);
/* Back to no tokens, keeping memory. */
void clef_sequence_reset(clef_sequence *sequence);

/* Makes sure that pages exist for positions up to `tokens`. CLEF_OUT_OF_MEMORY, the sequence
 * unchanged. */
clef_status clef_sequence_reserve(clef_sequence *sequence, size_t tokens, clef_error *error);

/* The next `count` positions as a slice whose first row in the step is `row`. Pages must be
 * reserved. The caller moves `position` on when the step is done. */
clef_slice clef_sequence_slice(const clef_sequence *sequence, size_t row, size_t count);

/* A checkpoint at the sequence's position, which must be a multiple of CLEF_GRID. CLEF_USAGE,
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_checkpoint_take(const clef_sequence *sequence, clef_checkpoint **out,
                                 clef_error *error);
void clef_checkpoint_destroy(clef_checkpoint *checkpoint);

/* Puts a sequence of the same layout and pool at the checkpoint. CLEF_OUT_OF_MEMORY, the sequence
 * then empty. */
clef_status clef_sequence_restore(clef_sequence *sequence, const clef_checkpoint *checkpoint,
                                  clef_error *error);

#endif
