/* A stage to run a network on without a session: backend, workspace and one sequence, and the steps
 * that a test wants to see one by one. */
#ifndef CLEF_PARITY_SUPPORT_STAGE_H
#define CLEF_PARITY_SUPPORT_STAGE_H

#include "support.h"

#include "engine/handles.h"
#include "model/joint_head.h"
#include "state/sequence.h"

typedef struct test_stage {
    const clef_network *network; /* borrowed */
    clef_backend *backend;
    clef_workspace workspace;
    clef_page_pool pool;
    clef_sequence *sequence;
    clef_slice slice;      /* of the running step */
    int32_t *positions;    /* [3, row_limit] */
    clef_span_part *parts; /* [row_limit + 1] */
} test_stage;

/* The random model of awkward size, in fp32. Closed with clef_model_close. */
clef_model *open_tiny_model(void);

/* Steps of at most row_limit rows. thread_count 0: all CPUs; level NULL: the best there is. */
void open_stage(test_stage *stage, const clef_network *network, size_t row_limit,
                unsigned thread_count, const char *level);
void close_stage(test_stage *stage);

/* The sequence's next `rows` tokens as a pass of one slice. Row 0 stands at rotary position
 * sequence->position + shift. */
clef_pass begin_step(test_stage *stage, const uint32_t *tokens, size_t rows, size_t shift,
                     const clef_trace *trace);
/* Moves the sequence on. */
void end_step(test_stage *stage);

/* All tokens through the backbone in steps of at most step_rows, observed by a reading when it is
 * not NULL. hidden [count, H] receives the rows after the final norm. */
void run_tokens(test_stage *stage, const uint32_t *tokens, size_t count, size_t step_rows,
                const clef_trace *trace, clef_head_reading *reading, float *hidden);

/* Calls test(context, level) for every level of kernels that this machine has. */
void for_each_level(void (*test)(void *context, const char *level), void *context);

#endif
