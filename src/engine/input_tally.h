/* Summing up what one matrix reads: the products x_i·x_j of its input columns over the rows of many
 * steps, as weights/repack_measured.h uses them. Knows rows, not where they come from. */
#ifndef CLEF_ENGINE_INPUT_TALLY_H
#define CLEF_ENGINE_INPUT_TALLY_H

#include "backend/backend.h"
#include "weights/repack_measured.h"

typedef struct clef_input_tally {
    clef_input_sums sums; /* of the arrays below */
    float *values;        /* owned; until the end only the lower triangle of each block */
    float *importance;    /* owned */
} clef_input_tally;

/* Room that tallies share, for inputs of at most `columns` columns and steps of `rows` rows. */
typedef struct clef_tally_scratch {
    float *transposed; /* owned; [columns, rows] */
    float *band;       /* owned */
} clef_tally_scratch;

/* Floats that a tally, or the scratch, takes. */
size_t clef_input_tally_floats(size_t columns);
size_t clef_tally_scratch_floats(size_t columns, size_t rows);

/* CLEF_OUT_OF_MEMORY. Zeroed ones may be released. */
clef_status clef_input_tally_create(size_t columns, clef_input_tally *tally, clef_error *error);
void clef_input_tally_release(clef_input_tally *tally);
clef_status clef_tally_scratch_create(size_t columns, size_t rows, clef_tally_scratch *scratch,
                                      clef_error *error);
void clef_tally_scratch_release(clef_tally_scratch *scratch);

/* Back to no rows. */
void clef_input_tally_restart(clef_input_tally *tally);
/* Adds the rows of x, on the threads of the backend; their number changes no bit. */
void clef_input_tally_add(clef_input_tally *tally, clef_backend *backend, clef_matrix x,
                          const clef_tally_scratch *scratch);

typedef enum clef_tally_result {
    CLEF_TALLY_GOOD,
    CLEF_TALLY_EMPTY,      /* no row had anything but zeros */
    CLEF_TALLY_NOT_FINITE, /* an input was infinite or no number, or nearly so */
} clef_tally_result;

/* Completes the sums; tally->sums is good when the result is. */
clef_tally_result clef_input_tally_finish(clef_input_tally *tally);

#endif
