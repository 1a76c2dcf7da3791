/* Threads for large bodies: parsing and encoding megabytes must not keep the sockets waiting. Knows
 * nothing of what the work is. */
#ifndef CLEF_SERVER_ENCODERS_H
#define CLEF_SERVER_ENCODERS_H

#include "base/error.h"

#include <stdbool.h>

typedef struct clef_encoders clef_encoders;

/* A piece of work. Part of what it works on, so that handing it over cannot fail. */
typedef struct clef_encoder_task {
    struct clef_encoder_task *next;
    void (*run)(struct clef_encoder_task *task);
} clef_encoder_task;

clef_status clef_encoders_create(size_t thread_count, clef_encoders **encoders, clef_error *error);
/* Runs what was handed over, and ends the threads. NULL is fine. */
void clef_encoders_stop(clef_encoders *encoders);
void clef_encoders_close(clef_encoders *encoders);
/* Runs a task on some thread; after the stop, on the caller's. */
void clef_encoders_run(clef_encoders *encoders, clef_encoder_task *task);

#endif
