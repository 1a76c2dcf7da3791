/* A question that long work asks now and then: whether anybody still wants it. */
#ifndef CLEF_BASE_STOP_H
#define CLEF_BASE_STOP_H

#include "base/error.h"

#include <stdbool.h>

/* Zero-initialised: nobody stops it. */
typedef struct clef_stop {
    bool (*is_wanted)(void *context); /* any thread; may be NULL */
    void *context;
} clef_stop;

static inline bool clef_stop_is_wanted(const clef_stop *stop) {
    return stop->is_wanted != NULL && stop->is_wanted(stop->context);
}

/* CLEF_CANCELLED. */
static inline clef_status clef_stop_fail(clef_error *error) {
    return clef_fail(error, CLEF_CANCELLED, "nobody waits for the answer any more");
}

#endif
