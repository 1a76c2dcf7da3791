/* The insides of a session, for the files that share it: session.c (life, queue), session_step.c
 * (packed steps and answers), session_media.c (pictures and videos), session_cache.c (kept states),
 * session_store.c (those on disk). */
#ifndef CLEF_ENGINE_SESSION_PARTS_H
#define CLEF_ENGINE_SESSION_PARTS_H

#include "engine/handles.h"
#include "engine/session.h"
#include "engine/weight_pages.h"
#include "state/feature_cache.h"
#include "state/prefix_store.h"

/* One submitted record. */
typedef struct clef_session_job {
    struct clef_session_job *next;
    clef_record *record;
    clef_answer_callback *callback;
    void *context;
    clef_sequence *sequence; /* once it runs */
    uint64_t state_bytes;    /* once it runs: what its whole state takes */
    clef_head_reading reading;
    clef_features features; /* of its media; rows are owned, and there while it needs them */
    uint64_t started_ns;
    /* With a prefix cache: */
    size_t reach;         /* before it runs: tokens that a kept state would give it */
    size_t cached_tokens; /* once it runs: those it was given */
    clef_prefix_point points[CLEF_PREFIX_POINT_LIMIT]; /* where its state will be kept */
    size_t point_count;
    bool has_asked_store;
} clef_session_job;

struct clef_session {
    clef_model *model;
    clef_backend *backend;
    clef_workspace workspace;
    clef_weight_pages *weight_pages; /* or NULL */
    clef_page_pool pool;
    clef_session_job *first, *last; /* oldest first */
    size_t job_count;
    uint64_t state_bytes, state_byte_limit; /* of running jobs; limit 0: none */
    clef_sequence **free_sequences;         /* [slice_limit], free_count of them */
    size_t free_count;
    size_t row_limit, slice_limit;
    uint32_t *tokens;             /* [row_limit] */
    int32_t *positions;           /* [3 * row_limit] */
    clef_slice *slices;           /* [slice_limit] */
    clef_head_reading **readings; /* [slice_limit] */
    clef_session_job **running;   /* [slice_limit], who owns each slice */
    /* [slice_limit], of each slice's record; NULL: text alone */
    const clef_features **features;
    const clef_position_table **tables;
    clef_span_part *parts;         /* [row_limit + slice_limit] */
    clef_session_job **candidates; /* [slice_limit], who may share the step */
    size_t *remaining, *shares;    /* [slice_limit], of the candidates */
    uint64_t step_count, computed_tokens, cached_tokens;
    bool has_made_answers;
    bool has_cache;
    clef_prefix_cache cache;
    clef_feature_cache seen;            /* pictures and videos, whatever their records say */
    clef_prefix_store *store;           /* owned; NULL without a directory */
    clef_snapshot *snapshots;           /* [row_limit / CLEF_GRID] of a step */
    clef_prefix_point *snapshot_points; /* [row_limit / CLEF_GRID] */
    size_t snapshot_count;
    clef_slice *slice_parts; /* [slice_limit] */
};

/* ---- session.c ---- */

/* Takes a job out of the queue, tells its owner, and forgets it. */
void clef_session_finish_job(clef_session *session, clef_session_job *done, clef_status status,
                             clef_answer *answer, const clef_error *error);

/* An empty sequence, used before or new. CLEF_OUT_OF_MEMORY. */
clef_status clef_session_take_sequence(clef_session *session, clef_sequence **out,
                                       clef_error *error);
/* The way back; NULL is fine. */
void clef_session_keep_sequence(clef_session *session, clef_sequence *sequence);

/* ---- session_media.c ---- */

/* Features of a record's media, kept or computed, for a job whose sequence is in place; nothing
 * when a kept state has brought it behind them. CLEF_OUT_OF_MEMORY. */
clef_status clef_session_see_media(clef_session *session, clef_session_job *of, clef_error *error);
/* Gives the features back. */
void clef_session_forget_media(clef_session_job *of);

/* ---- session_step.c ---- */

/* Runs the first `slices` slices, `rows` rows in all, with the snapshots that were asked for. */
void clef_session_run(clef_session *session, size_t slices, size_t rows);

/* ---- session_cache.c: all of it does nothing in a session without a cache ---- */

/* CLEF_OUT_OF_MEMORY. */
clef_status clef_session_cache_create(clef_session *session, const clef_session_options *options,
                                      clef_error *error);
void clef_session_cache_release(clef_session *session);

/* For a job that does not run yet: how far a kept state would bring it, and where its own is worth
 * keeping. False when it should wait, because one of the `count` candidates before it will soon
 * have a state that brings it further. */
bool clef_session_plan_job(clef_session *session, clef_session_job *of,
                           clef_session_job *const *candidates, size_t count);

/* Puts the empty sequence of a job at the longest kept state it may go on from.
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_session_resume_job(clef_session *session, clef_session_job *of, clef_error *error);

/* Asks the step for the states that a slice passes and that its job wants kept. */
void clef_session_ask_snapshots(clef_session *session, const clef_session_job *of, size_t slice);
/* Behind the step, before positions move on: keeps them. */
void clef_session_keep_snapshots(clef_session *session);

/* Gives up all kept states and features, so that a record can have the memory; false when there
 * were none. */
bool clef_session_drop_kept(clef_session *session);

/* Behind every step: writes go on, and free pages that would take the cache over its budget go
 * back to the system. */
void clef_session_tend_cache(clef_session *session);

/* ---- session_store.c ---- */

/* Opens the directory of a session with a cache. Statuses of clef_session_create. */
clef_status clef_session_open_store(clef_session *session, const clef_session_options *options,
                                    clef_error *error);

#endif
