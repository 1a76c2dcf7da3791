/* From logits to probabilities, and from probabilities to the response body. */
#ifndef CLEF_DECIDE_ANSWER_H
#define CLEF_DECIDE_ANSWER_H

#include "decide/prompt.h"

/* Softmax in fp32 over the options of each question. logits and probabilities: [option_count] of
 * the request, questions in order, options in prompt order. CLEF_INTERNAL when a logit is not
 * finite. */
clef_status clef_answer_probabilities(const clef_request *request, const float *logits,
                                      float *probabilities, clef_error *error);

/* What one question's answer says, unrounded. */
typedef struct clef_decision {
    size_t best;       /* index in prompt order: the largest probability; on a tie the first in
                          request order */
    double confidence; /* its probability */
    double score;      /* score questions: Σ i·p_i in index order */
} clef_decision;
clef_decision clef_answer_decide(const clef_question *question, const float *probabilities);

/* The double nearest to that decimal with four places which is nearest to the exact binary value,
 * ties to even; finite values below 2^38, larger ones come back as they are. */
double clef_answer_round(double value);

/* Zero is the reference's style. */
typedef struct clef_body_style {
    bool unrounded;           /* shortest decimals instead of four places */
    bool typesafe_confidence; /* confidence as distance from chance instead of the probability */
    bool has_latency;         /* add latency_ms */
    double latency_ms;
    const clef_prompt *truncation; /* non-NULL: add truncated, state_tokens, state_tokens_used */
} clef_body_style;

/* Appends the response body, compact JSON in the reference's key order. `style` may be NULL.
 * Failure, also of scratch, sticks in out. */
void clef_answer_write_body(const clef_request *request, const float *probabilities,
                            size_t input_tokens, const clef_body_style *style, clef_arena *scratch,
                            clef_buffer *out);

/* Appends the raw answer: model, input_ids, questions with spans, logits, probabilities. */
void clef_answer_write_raw(const clef_request *request, const clef_prompt *prompt,
                           const float *logits, const float *probabilities, clef_buffer *out);

/* Appends what `clef encode` prints: input_ids, spans, state_tokens; no model was run. */
void clef_answer_write_encoding(const clef_request *request, const clef_prompt *prompt,
                                clef_buffer *out);

#endif
