/* A step: rows shared out among records, one pass over them, answers for those that are read to
 * their end. Which records share a step is decided in schedule.h. */
#include "engine/session_parts.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/made_answers.h"
#include "engine/schedule.h"
#include "model/media_positions.h"

/* Queued records looked at for each one that a step can hold: some of them may be waiting for a
 * state that one before them will leave. */
#define LOOKED_AT_SHARE 8

/* Whether a record that has not begun may take the state it needs: the whole of it at once, so that
 * none runs dry half-way. It waits while others hold the memory. */
static bool must_wait(const clef_session *session, uint64_t needed) {
    return session->state_byte_limit != 0 && session->state_bytes > 0 &&
           session->state_bytes + needed > session->state_byte_limit;
}

static clef_status take_state(clef_session *session, clef_session_job *of, clef_error *error) {
    const clef_head_task *task = &of->record->task;
    clef_status status = clef_session_take_sequence(session, &of->sequence, error);
    if (status == CLEF_OK) {
        status = clef_session_resume_job(session, of, error);
    }
    if (status == CLEF_OK) {
        status = clef_sequence_reserve(of->sequence, task->token_count, error);
    }
    if (status == CLEF_OK) {
        status = clef_head_reading_create(&session->model->network, task, &of->reading, error);
    }
    if (status == CLEF_OK) {
        status = clef_session_see_media(session, of, error);
    }
    if (status != CLEF_OK) {
        clef_head_reading_release(&of->reading);
        clef_session_keep_sequence(session, of->sequence);
        of->sequence = NULL;
    }
    return status;
}

/* State for a record that runs for the first time. What is kept for later records never makes one
 * fail that is here. */
static clef_status start_job(clef_session *session, clef_session_job *of, uint64_t needed,
                             clef_error *error) {
    if (session->state_byte_limit != 0 && needed > session->state_byte_limit) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY,
                         "a record of %zu tokens needs %llu bytes of state, over the limit of %llu",
                         of->record->task.token_count, (unsigned long long)needed,
                         (unsigned long long)session->state_byte_limit);
    }
    of->started_ns = clef_clock_ns(); /* the vision tower counts as the record's work */
    clef_status status = take_state(session, of, error);
    if (status == CLEF_OUT_OF_MEMORY && clef_session_drop_kept(session)) {
        status = take_state(session, of, error);
    }
    if (status == CLEF_OK) {
        of->state_bytes = needed;
        session->state_bytes += needed;
        session->cached_tokens += of->cached_tokens;
    }
    return status;
}

/* Adds the next `rows` tokens of a record to the step as slice number `slice`. */
static void add_slice(clef_session *session, clef_session_job *of, size_t slice, size_t row,
                      size_t rows) {
    clef_sequence *sequence = of->sequence;
    const uint32_t *tokens = of->record->task.tokens + sequence->position;
    memcpy(session->tokens + row, tokens, rows * sizeof *tokens);
    session->slices[slice] = clef_sequence_slice(sequence, row, rows);
    session->readings[slice] = &of->reading;
    session->running[slice] = of;
    session->features[slice] = of->features.rows.data == NULL ? NULL : &of->features;
    session->tables[slice] =
        of->record->media.table.positions == NULL ? NULL : &of->record->media.table;
    clef_session_ask_snapshots(session, of, slice);
}

void clef_session_fill_positions(clef_slices slices, size_t rows, int32_t *positions) {
    for (size_t s = 0; s < slices.count; s++) {
        clef_positions_fill(NULL, &slices.items[s], rows, positions);
    }
}

/* Lists records that may share the step, oldest first, and what each has left. */
static size_t list_candidates(clef_session *session) {
    size_t count = 0;
    size_t looked_at = 0;
    for (clef_session_job *of = session->first; of != NULL && count < session->slice_limit &&
                                                looked_at < LOOKED_AT_SHARE * session->slice_limit;
         of = of->next, looked_at++) {
        size_t position;
        if (of->sequence != NULL) {
            position = of->sequence->position;
        } else if (clef_session_plan_job(session, of, session->candidates, count)) {
            position = of->reach;
        } else {
            continue;
        }
        session->remaining[count] = of->record->task.token_count - position;
        session->candidates[count++] = of;
    }
    return count;
}

/* The share of a record that has begun elsewhere than was foreseen: still all it has left, or a
 * multiple of the grid. */
static size_t fit_share(const clef_session_job *of, size_t share) {
    size_t left = of->record->task.token_count - of->sequence->position;
    return share >= left ? left : share / CLEF_GRID * CLEF_GRID;
}

/* Forms the step: shares out rows and lists slices. A record that cannot get memory fails alone;
 * one that must wait keeps those behind it waiting too, so that long records get their turn.
 * Returns the number of slices; *rows receives the rows. */
static size_t form_step(clef_session *session, size_t *rows) {
    size_t candidates = list_candidates(session);
    size_t shared = clef_schedule_share(session->remaining, candidates, session->row_limit,
                                        session->slice_limit, session->shares);
    size_t slices = 0;
    *rows = 0;
    session->snapshot_count = 0;
    for (size_t i = 0; i < shared; i++) {
        clef_session_job *of = session->candidates[i];
        size_t count = session->shares[i];
        clef_error error = {0};
        clef_status status = CLEF_OK;
        if (count > 0 && of->sequence == NULL) {
            uint64_t needed = clef_state_layout_bytes(&session->model->network.layout,
                                                      of->record->task.token_count);
            if (must_wait(session, needed)) {
                break;
            }
            status = start_job(session, of, needed, &error);
        }
        if (status != CLEF_OK) {
            clef_session_finish_job(session, of, status, NULL, &error);
            continue;
        }
        count = count == 0 ? 0 : fit_share(of, count);
        if (count > 0) {
            add_slice(session, of, slices++, *rows, count);
            *rows += count;
        }
    }
    return slices;
}

void clef_session_run(clef_session *session, size_t slices, size_t rows) {
    for (size_t s = 0; s < slices; s++) {
        clef_positions_fill(session->tables[s], &session->slices[s], rows, session->positions);
    }
    clef_pass pass = {.network = &session->model->network,
                      .backend = session->backend,
                      .workspace = &session->workspace,
                      .step = {.rows = rows,
                               .tokens = session->tokens,
                               .positions = session->positions,
                               .slices = {session->slices, slices},
                               .features = session->features,
                               .snapshots = session->snapshots,
                               .snapshot_count = session->snapshot_count,
                               .parts = session->slice_parts},
                      .watch = clef_weight_pages_begin(session->weight_pages)};
    clef_decoder_run(&pass);
    clef_head_observe(&pass, session->readings, session->parts);
    session->step_count++;
    session->computed_tokens += rows;
}

/* The answer from logits that were computed, or the failure to compute them. Releases the logits.
 */
static void answer_from(clef_session *session, clef_session_job *of, float *logits,
                        clef_status status, clef_error *error) {
    clef_answer *answer = NULL;
    if (status == CLEF_OK) {
        double latency_ms = (double)(clef_clock_ns() - of->started_ns) / 1e6;
        status =
            clef_answer_create(of->record, logits, latency_ms, of->cached_tokens, &answer, error);
    }
    clef_release(logits);
    clef_session_finish_job(session, of, status, answer, error);
}

/* The head's turn: all tokens of the record have been read. */
static void answer_job(clef_session *session, clef_session_job *of) {
    clef_error error = {0};
    size_t options = of->record->task.option_total;
    float *logits = clef_allocate(options, sizeof *logits);
    clef_status status =
        logits == NULL ? clef_fail_memory(&error, options * sizeof *logits, "logits")
                       : clef_head_decide(&session->model->network, session->backend, &of->reading,
                                          of->sequence->pages, NULL, logits, &error);
    answer_from(session, of, logits, status, &error);
}

/* Answers everything that is queued, without a model. */
static void answer_made(clef_session *session) {
    while (session->first != NULL) {
        clef_session_job *of = session->first;
        clef_error error = {0};
        size_t options = of->record->task.option_total;
        float *logits = clef_allocate(options, sizeof *logits);
        clef_status status = CLEF_OK;
        of->started_ns = clef_clock_ns();
        if (logits == NULL) {
            status = clef_fail_memory(&error, options * sizeof *logits, "logits");
        } else {
            clef_made_answers_fill(of->record, logits);
        }
        answer_from(session, of, logits, status, &error);
    }
    session->step_count++;
}

clef_status clef_session_step(clef_session *session, size_t *pending, clef_error *error) {
    (void)error;
    if (session->has_made_answers) {
        answer_made(session);
    }
    size_t rows = 0;
    size_t slices = session->has_made_answers ? 0 : form_step(session, &rows);
    if (slices > 0) {
        clef_session_run(session, slices, rows);
        clef_session_keep_snapshots(session);
    }
    for (size_t s = 0; s < slices; s++) {
        clef_session_job *of = session->running[s];
        of->sequence->position += session->slices[s].count;
        if (of->sequence->position >= of->record->prompt.media_end) {
            clef_session_forget_media(of);
        }
        if (of->sequence->position == of->record->task.token_count) {
            answer_job(session, of);
        }
    }
    clef_session_tend_cache(session);
    if (pending != NULL) {
        *pending = session->job_count;
    }
    return CLEF_OK;
}
