/* Which records share a step: a pure function of what they have left. */
#ifndef CLEF_ENGINE_SCHEDULE_H
#define CLEF_ENGINE_SCHEDULE_H

#include <stddef.h>

/* Shares `row_budget` rows (a multiple of the grid) among records, oldest first. remaining[i] > 0
 * is what record i has left; counts[i] receives its rows in this step: all of them or a multiple of
 * the grid. A record too long for the rest leaves a quarter of the budget to those behind it, and
 * one too long for three quarters of a step up to those three quarters, when the next one ends with
 * them: a short record that comes while a long one runs ends in the next step. At most slice_limit
 * records get rows. Returns the number of records looked at; counts beyond are not set. */
size_t clef_schedule_share(const size_t *remaining, size_t count, size_t row_budget,
                           size_t slice_limit, size_t *counts);

#endif
