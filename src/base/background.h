/* One thread beside the caller's, for one slow thing at a time (writing files). Computation is
 * shared out elsewhere (thread_pool.h). */
#ifndef CLEF_BASE_BACKGROUND_H
#define CLEF_BASE_BACKGROUND_H

#include "base/error.h"

#include <stdbool.h>

typedef struct clef_background clef_background;

/* The thread handles no signals. CLEF_OUT_OF_MEMORY. */
clef_status clef_background_create(clef_background **out, clef_error *error);
/* Waits for what is running. NULL is fine. */
void clef_background_close(clef_background *background);

/* Runs task(context) on the thread. Nothing may be running. What the task has written may be read
 * once _is_busy has said false, or _wait has returned. */
void clef_background_start(clef_background *background, void (*task)(void *context), void *context);
bool clef_background_is_busy(clef_background *background);
void clef_background_wait(clef_background *background);

#endif
