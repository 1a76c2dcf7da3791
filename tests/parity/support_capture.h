/* Everything that a trace of the forward pass shows, kept by the names of the recorded tensors:
 * "layers.2.linear_attn.g", "head.evidence_layers.0", "embeddings". Steps of one sequence follow
 * each other: the rows of a matrix that comes again are added below those before. */
#ifndef CLEF_PARITY_SUPPORT_CAPTURE_H
#define CLEF_PARITY_SUPPORT_CAPTURE_H

#include "support.h"

#include "model/trace.h"

typedef struct captured_matrix {
    char name[96];
    clef_matrix matrix; /* dense; data owned by the capture */
} captured_matrix;

typedef struct trace_capture {
    captured_matrix *items; /* owned */
    size_t count;
} trace_capture;

/* Zero-initialise a capture, hand out its trace, release it. */
clef_trace capture_trace(trace_capture *capture);
void release_capture(trace_capture *capture);

/* NULL when no matrix of that name was seen. */
const clef_matrix *captured(const trace_capture *capture, const char *name);

#endif
