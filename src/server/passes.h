/* A call that takes several passes through the model: one record after the other, so that each
 * finds what the one before has left, and only one is in memory. What the passes ask and what
 * becomes of their answers is the kind's. */
#ifndef CLEF_SERVER_PASSES_H
#define CLEF_SERVER_PASSES_H

#include "base/arena.h"
#include "base/json.h"
#include "server/call.h"

typedef struct clef_passes clef_passes;

typedef struct clef_pass_kind {
    /* Reads the body (parsed, an object): sets count, and request unless it is the body. */
    clef_status (*read)(clef_passes *passes, const clef_json *body, clef_error *error);
    /* What to say against the body once its request is known to be in order; may be NULL. */
    clef_status (*check)(const clef_passes *passes, clef_error *error);
    /* What the record of a pass takes of the request. */
    void (*choose)(const clef_passes *passes, size_t index, clef_record_options *options);
    /* Adds an answer: `body` is it as /v1/systemone says it. */
    clef_status (*take)(clef_passes *passes, size_t index, const clef_json *body,
                        clef_error *error);
    /* Writes the whole answer. */
    void (*finish)(const clef_passes *passes, clef_buffer *out);
    /* Whether passes encode so differently that the limits of each are checked before the first. */
    bool has_unlike_passes;
} clef_pass_kind;

/* The base of what a kind keeps; its first member. */
struct clef_passes {
    const clef_pass_kind *kind;
    clef_arena arena;      /* the body's tree, and what the kind takes from it */
    clef_text request;     /* the decision request that is encoded */
    clef_buffer copy;      /* where it lives when it is not the body itself */
    clef_record *first;    /* the record encoded first, whose pictures the others share */
    const char *place;     /* of the request in the body: "request", or "" */
    clef_buffer results;   /* JSON of the answers so far */
    size_t index, count;   /* passes done and wanted */
    uint32_t input_tokens; /* sums over the passes */
    uint32_t cached_tokens;
    double latency_ms;
    bool is_cut_allowed;                      /* what was cut is told */
    bool is_truncated;                        /* in any pass */
    uint32_t state_tokens, state_tokens_used; /* as sent; the fewest that a pass read */
};

/* Answers a call by passes; `bytes` is the size of the kind's struct, zeroed here. */
void clef_passes_answer(clef_call *call, const clef_pass_kind *kind, size_t bytes);
/* NULL is fine. */
void clef_passes_close(clef_passes *passes);

/* Refuses a field of the body: CLEF_BAD_REQUEST. */
clef_status clef_passes_refuse(clef_error *error, const char *field, const char *message);
/* `,"latency_ms":…` as answers have it. */
void clef_passes_write_latency(clef_buffer *out, double milliseconds);
/* `,"state_tokens":…,"state_tokens_used":…`, and `,"truncated":…`, when states may be cut. */
void clef_passes_write_state_tokens(const clef_passes *passes, clef_buffer *out);
void clef_passes_write_truncated(const clef_passes *passes, clef_buffer *out);

#endif
