/* The text about tensors that are missing, misshapen or unknown: one line for all that differ only
 * in their layer, bounded in length. Knows names and shapes, decides nothing. */
#ifndef CLEF_MODEL_TENSOR_REPORT_H
#define CLEF_MODEL_TENSOR_REPORT_H

#include "base/buffer.h"
#include "model/tensor_names.h"

typedef enum clef_tensor_fault {
    CLEF_TENSOR_FAULT_MISSING, /* demanded, not stored */
    CLEF_TENSOR_FAULT_SHAPE,   /* stored with another shape */
    CLEF_TENSOR_FAULT_TYPE,    /* stored with a type that is no weight */
    CLEF_TENSOR_FAULT_SCALES,  /* quantised, without scales that fit */
    CLEF_TENSOR_FAULT_UNKNOWN, /* stored, not demanded */
} clef_tensor_fault;

typedef struct clef_tensor_finding {
    clef_tensor_fault fault;
    const clef_tensor_demand *demand; /* NULL when unknown */
    const clef_stored_tensor *stored; /* NULL when missing; of scales: themselves */
} clef_tensor_finding;

/* Appends a section per fault, each a line of its own after a line break: what fits no demand
 * first, what is missing last. Stops in time to stay below `limit` bytes in all and says how many
 * tensors are not shown. Failure sticks in out. */
void clef_tensor_report_write(clef_buffer *out, const clef_tensor_finding *findings, size_t count,
                              size_t limit);

#endif
