/* What a session and others that run steps have in common. */
#ifndef CLEF_ENGINE_SESSION_H
#define CLEF_ENGINE_SESSION_H

#include "backend/backend.h"

#define CLEF_SESSION_ROW_LIMIT 65536

/* Rows a step holds: the default for 0, else rounded up to the grid. */
size_t clef_session_rows(uint32_t rows_per_step);

/* Slices that a step of so many rows holds at most. */
size_t clef_session_slices(size_t rows);

/* Text positions of a step of `rows` rows: all three axes count the tokens. positions [3, rows] */
void clef_session_fill_positions(clef_slices slices, size_t rows, int32_t *positions);

#endif
