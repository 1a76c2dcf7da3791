/* The joint schema head: from final hidden rows to one logit per option.
 *
 * It works in two parts. While a record is computed slice by slice, _observe turns each step's
 * hidden rows into memory rows (kept in the sequence's pages) and adds up the spans that the head
 * pools. When the last slice is done, _decide reads memory and spans and gives the logits. */
#ifndef CLEF_MODEL_JOINT_HEAD_H
#define CLEF_MODEL_JOINT_HEAD_H

#include "model/decoder.h"

/* Half-open range of positions of a sequence. */
typedef struct clef_range {
    size_t begin;
    size_t end;
} clef_range;

/* What the head is asked about one record. Arrays are borrowed for the reading's life. */
typedef struct clef_head_task {
    const uint32_t *tokens; /* [token_count] the whole record */
    size_t token_count;
    size_t question_count;            /* Q, at least 1 */
    size_t option_total;              /* K: options of all questions */
    const unsigned char *types;       /* [Q]: 0 noul, 1 choice, 2 score */
    const size_t *option_counts;      /* [Q] */
    const clef_range *question_spans; /* [Q], none empty */
    const clef_range *option_spans;   /* [K], questions in order, none empty */
} clef_head_task;

/* Sums of the spans read so far. Spans in order: Q questions, K options, the last token. */
typedef struct clef_head_reading {
    clef_head_task task;
    size_t hidden_size;
    double *totals; /* owned; [Q + K + 1, H] */
} clef_head_reading;

/* CLEF_OUT_OF_MEMORY. */
clef_status clef_head_reading_create(const clef_network *network, const clef_head_task *task,
                                     clef_head_reading *reading, clef_error *error);
void clef_head_reading_release(clef_head_reading *reading);
/* Back to no token read, for the same task. */
void clef_head_reading_restart(clef_head_reading *reading);

/* Bytes that a reading holds, and that _decide takes while it runs, for a record of so many tokens,
 * questions and options. 0 without a head. */
uint64_t clef_head_reading_bytes(const clef_network *network, size_t questions, size_t options);
uint64_t clef_head_decide_bytes(const clef_network *network, size_t tokens, size_t questions,
                                size_t options);

/* Takes in the hidden rows of a step just run (workspace->normed): memory rows go to the slices'
 * pages, spans to the readings. readings [slices.count], NULL where nobody reads; parts is room for
 * the parts of spans in this step: at most one a row and one a slice, since spans do not overlap
 * but for the last token. Cannot fail. */
void clef_head_observe(const clef_pass *pass, clef_head_reading *const *readings,
                       clef_span_part *parts);

/* Logits [K] of a record whose tokens have all been observed; pages are the sequence's. Takes its
 * own scratch. CLEF_OUT_OF_MEMORY. */
clef_status clef_head_decide(const clef_network *network, clef_backend *backend,
                             const clef_head_reading *reading, float *const *pages,
                             const clef_trace *trace, float *logits, clef_error *error);

#endif
