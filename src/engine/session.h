/* Sizes of a session that others ask about. */
#ifndef CLEF_ENGINE_SESSION_H
#define CLEF_ENGINE_SESSION_H

#include <stddef.h>
#include <stdint.h>

/* Rows a step holds: the default for 0, else rounded up to the grid. */
size_t clef_session_rows(uint32_t rows_per_step);

#endif
