/* Fixed state in the middle of a step. Recurrent state cannot be cut at a token afterwards, but a
 * slice can be computed in parts where it is recurrent: up to the point, a copy, and on. Matrix
 * products and attention still see the whole slice, so a copy costs a copy and no more. */
#ifndef CLEF_MODEL_SNAPSHOT_H
#define CLEF_MODEL_SNAPSHOT_H

#include "model/decoder.h"

/* Slices of round `round`: of every slice the rows between its snapshots number round - 1 and
 * round, or its ends. Writes them to step->parts; none are left when the count is 0. Without
 * snapshots the step's own slices are round 0. */
clef_slices clef_step_round(const clef_step *step, size_t round);

/* Copies floats [offset, offset + count) of the fixed state into the snapshots that round `round`
 * has reached. */
void clef_step_copy(const clef_step *step, size_t round, size_t offset, size_t count);

#endif
