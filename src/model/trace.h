/* A tap on the forward pass: tests and tools see intermediate matrices by name. Costs nothing when
 * absent. */
#ifndef CLEF_MODEL_TRACE_H
#define CLEF_MODEL_TRACE_H

#include "tensor/matrix.h"

typedef struct clef_trace {
    /* part "layers", "head", "head.layers" …; layer -1 when there is none; the matrix is borrowed
     * during the call. */
    void (*record)(void *context, const char *part, int layer, const char *name,
                   clef_matrix matrix);
    void *context;
} clef_trace;

static inline void clef_trace_matrix(const clef_trace *trace, const char *part, int layer,
                                     const char *name, clef_matrix matrix) {
    if (trace != NULL) {
        trace->record(trace->context, part, layer, name, matrix);
    }
}

#endif
