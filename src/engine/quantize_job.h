/* One run of quantising: what its steps share. */
#ifndef CLEF_ENGINE_QUANTIZE_JOB_H
#define CLEF_ENGINE_QUANTIZE_JOB_H

#include "base/staging.h"
#include "base/thread_pool.h"
#include "engine/quantize_plan.h"

typedef struct clef_quantize_job {
    const clef_quantize_options *options;
    const clef_quantize_plan *plan;
    clef_quantize_inputs *inputs; /* NULL: nothing is measured */
    clef_staging *staging;
    const char *output; /* as the caller calls it */
    clef_thread_pool *pool;
    uint64_t done_bytes, total_bytes;
    float *rows;       /* [threads of pool, row_floats] */
    size_t row_floats; /* CLEF_QUANTIZE_RUN widest rows, and scratch behind them */
    void *block;       /* CLEF_QUANTIZE_BLOCK bytes, or one row */
    float *scales;     /* of the rows in the block */
    clef_error *error;
} clef_quantize_job;

/* Bytes of quantised rows that are made, written and counted at a time. */
#define CLEF_QUANTIZE_BLOCK ((size_t)4 << 20)

/* Rows that a thread takes at a time. */
#define CLEF_QUANTIZE_RUN CLEF_REPACK_MEASURED_ROWS

/* Counts source bytes as done and asks the caller whether to stop: CLEF_CANCELLED. */
clef_status clef_quantize_job_advance(clef_quantize_job *job, uint64_t bytes);

/* Rows of an item that fill a block; at least one. */
size_t clef_quantize_block_rows(const clef_quantize_item *item);

/* Runs `run` for rows [first, first + count) of an item on all threads, CLEF_QUANTIZE_RUN at most
 * in a call. It gets the rows of the source widened to fp32, [count, columns], and scratch of the
 * thread, at least a row, and returns how many of them are good, from the first on. Returns the
 * first row that is not, or SIZE_MAX. */
typedef size_t clef_quantize_run(const clef_quantize_job *job, const clef_quantize_item *item,
                                 const void *context, size_t first, size_t count,
                                 const float *source, float *scratch);
size_t clef_quantize_job_rows(const clef_quantize_job *job, const clef_quantize_item *item,
                              size_t first, size_t count, clef_quantize_run *run,
                              const void *context);

/* Whether the rounding of an item was weighed by what it reads. */
static inline bool clef_quantize_is_measured(const clef_quantize_job *job,
                                             const clef_quantize_item *item) {
    return job->inputs != NULL && item->input != CLEF_LAYER_INPUT_NONE;
}

/* Writes all files of weights of the plan. CLEF_BAD_FILE for a value that is not finite;
 * CLEF_INTERNAL when a file cannot be written; CLEF_CANCELLED; CLEF_OUT_OF_MEMORY. `notes` go into
 * the header of each file. */
clef_status clef_quantize_write(clef_quantize_job *job, const clef_header_note *notes,
                                size_t note_count);

/* Opens what was written and compares all of it with the source. CLEF_VERIFY_FAILED;
 * CLEF_CANCELLED; CLEF_OUT_OF_MEMORY. */
clef_status clef_quantize_verify(clef_quantize_job *job, clef_runtime *runtime);

#endif
