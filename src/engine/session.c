/* The session: a queue of records, packed steps over them, answers. Everything a step needs was
 * taken when the session was created; a sequence's state is taken when its record first runs. */
#include "engine/session.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/system_memory.h"
#include "engine/handles.h"
#include "engine/schedule.h"
#include "engine/weight_pages.h"
#include "state/sequence.h"

#include <stdio.h>

#define DEFAULT_ROWS 512
/* Records a step can share: short records have some sixty tokens at least. */
#define ROWS_PER_SLICE 16

/* One submitted record. */
typedef struct job {
    struct job *next;
    clef_record *record;
    clef_answer_callback *callback;
    void *context;
    clef_sequence *sequence; /* once it runs */
    uint64_t state_bytes;    /* once it runs: what its whole state takes */
    clef_head_reading reading;
    uint64_t started_ns;
} job;

struct clef_session {
    clef_model *model;
    clef_backend *backend;
    clef_workspace workspace;
    clef_weight_pages *weight_pages; /* or NULL */
    clef_page_pool pool;
    job *first, *last; /* oldest first */
    size_t job_count;
    uint64_t state_bytes, state_byte_limit; /* of running jobs; limit 0: none */
    clef_sequence **free_sequences;         /* [slice_limit], free_count of them */
    size_t free_count;
    size_t row_limit, slice_limit;
    uint32_t *tokens;             /* [row_limit] */
    int32_t *positions;           /* [3 * row_limit] */
    clef_slice *slices;           /* [slice_limit] */
    clef_head_reading **readings; /* [slice_limit] */
    job **running;                /* [slice_limit], who owns each slice */
    clef_span_part *parts;        /* [row_limit + slice_limit] */
    size_t *remaining, *shares;   /* [slice_limit] */
    uint64_t step_count, computed_tokens;
};

size_t clef_session_rows(uint32_t rows_per_step) {
    size_t rows = rows_per_step == 0 ? DEFAULT_ROWS : rows_per_step;
    return (rows + CLEF_GRID - 1) / CLEF_GRID * CLEF_GRID;
}

size_t clef_session_slices(size_t rows) {
    return rows / ROWS_PER_SLICE;
}

static clef_status take_memory(clef_session *session, clef_error *error) {
    size_t rows = session->row_limit;
    size_t slices = session->slice_limit;
    session->tokens = clef_allocate(rows, sizeof *session->tokens);
    session->positions = clef_allocate(3 * rows, sizeof *session->positions);
    session->slices = clef_allocate(slices, sizeof *session->slices);
    session->readings = clef_allocate(slices, sizeof *session->readings);
    session->running = clef_allocate(slices, sizeof *session->running);
    session->parts = clef_allocate(rows + slices, sizeof *session->parts);
    session->remaining = clef_allocate(slices, sizeof *session->remaining);
    session->shares = clef_allocate(slices, sizeof *session->shares);
    session->free_sequences = clef_allocate(slices, sizeof(clef_sequence *));
    if (session->tokens == NULL || session->positions == NULL || session->slices == NULL ||
        session->readings == NULL || session->running == NULL || session->parts == NULL ||
        session->remaining == NULL || session->shares == NULL || session->free_sequences == NULL) {
        return clef_fail_memory(error, rows * sizeof *session->parts, "the lists of a session");
    }
    return clef_workspace_create(&session->model->network, rows, &session->workspace, error);
}

/* Activations are written, so they count; mapped weights do not, since the system can drop them. */
static clef_status check_memory(const clef_model *model, size_t rows, clef_error *error) {
    uint64_t needed = clef_model_session_bytes(model, rows);
    char what[48];
    snprintf(what, sizeof what, "a step of %zu rows", rows);
    return clef_system_memory_require(needed, what, error);
}

clef_status clef_session_create(clef_model *model, const clef_session_options *options,
                                clef_session **out, clef_error *error) {
    *out = NULL;
    uint32_t rows = options == NULL ? 0 : options->rows_per_step;
    if (rows > CLEF_SESSION_ROW_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "%u rows in a step, over the limit of %d", rows,
                         CLEF_SESSION_ROW_LIMIT);
    }
    if (model->is_tokenizer_only) {
        return clef_fail(error, CLEF_USAGE, "the model was opened for its tokenizer only");
    }
    if (!model->network.has_head) {
        return clef_fail(error, CLEF_USAGE,
                         "%s has no joint head (joint_head_config.json, joint_head.safetensors), "
                         "so it cannot decide",
                         model->directory);
    }
    clef_status status = check_memory(model, clef_session_rows(rows), error);
    if (status != CLEF_OK) {
        return status;
    }
    clef_session *session = clef_allocate(1, sizeof *session);
    if (session == NULL) {
        return clef_fail_memory(error, sizeof *session, "a session");
    }
    session->model = clef_model_share(model);
    session->row_limit = clef_session_rows(rows);
    session->slice_limit = clef_session_slices(session->row_limit);
    session->state_byte_limit = options == NULL ? 0 : options->state_bytes;
    clef_page_pool_init(&session->pool, model->network.layout.page_floats);
    status = clef_cpu_backend_create(model->runtime->thread_count, model->runtime->level,
                                     &session->backend, error);
    if (status == CLEF_OK) {
        status = session->backend->operations->reserve(session->backend, session->row_limit,
                                                       clef_network_widest_input(&model->network),
                                                       error);
    }
    if (status == CLEF_OK) {
        status = take_memory(session, error);
    }
    if (status == CLEF_OK) {
        status = clef_weight_pages_create(model, model->network.config.layer_count,
                                          &session->weight_pages, error);
    }
    if (status != CLEF_OK) {
        clef_session_close(session);
        return status;
    }
    *out = session;
    return CLEF_OK;
}

/* ---- jobs ---- */

static void keep_sequence(clef_session *session, clef_sequence *sequence) {
    if (sequence == NULL) {
        return;
    }
    if (session->free_count < session->slice_limit) {
        clef_sequence_reset(sequence);
        session->free_sequences[session->free_count++] = sequence;
    } else {
        clef_sequence_destroy(sequence);
    }
}

static void destroy_job(clef_session *session, job *done) {
    session->state_bytes -= done->state_bytes;
    keep_sequence(session, done->sequence);
    clef_head_reading_release(&done->reading);
    clef_record_close(done->record);
    clef_release(done);
}

void clef_session_close(clef_session *session) {
    if (session == NULL) {
        return;
    }
    while (session->first != NULL) {
        job *next = session->first->next;
        destroy_job(session, session->first);
        session->first = next;
    }
    while (session->free_count > 0) {
        clef_sequence_destroy(session->free_sequences[--session->free_count]);
    }
    clef_release(session->free_sequences);
    clef_page_pool_release(&session->pool);
    clef_weight_pages_close(session->weight_pages);
    clef_workspace_release(&session->workspace);
    clef_backend_destroy(session->backend);
    clef_release(session->tokens);
    clef_release(session->positions);
    clef_release(session->slices);
    clef_release(session->readings);
    clef_release(session->running);
    clef_release(session->parts);
    clef_release(session->remaining);
    clef_release(session->shares);
    clef_model_close(session->model);
    clef_release(session);
}

clef_status clef_session_submit(clef_session *session, clef_record *record,
                                clef_answer_callback *callback, void *context, clef_error *error) {
    if (record->model != session->model) {
        return clef_fail(error, CLEF_USAGE, "the record was encoded for another model");
    }
    job *added = clef_allocate(1, sizeof *added);
    if (added == NULL) {
        return clef_fail_memory(error, sizeof *added, "a queued record");
    }
    added->record = clef_record_share(record);
    added->callback = callback;
    added->context = context;
    if (session->last == NULL) {
        session->first = added;
    } else {
        session->last->next = added;
    }
    session->last = added;
    session->job_count++;
    return CLEF_OK;
}

/* Takes a job out of the queue, tells its owner, and forgets it. */
static void finish_job(clef_session *session, job *done, clef_status status, clef_answer *answer,
                       const clef_error *error) {
    job **link = &session->first;
    job *before = NULL;
    while (*link != done) {
        before = *link;
        link = &(*link)->next;
    }
    *link = done->next;
    if (session->last == done) {
        session->last = before;
    }
    session->job_count--;
    clef_answer_callback *callback = done->callback;
    void *context = done->context;
    destroy_job(session, done);
    callback(context, status, answer, error);
}

bool clef_session_cancel(clef_session *session, const void *context) {
    for (job *of = session->first; of != NULL; of = of->next) {
        if (of->context == context) {
            clef_error error = {0};
            clef_status status = clef_fail(&error, CLEF_CANCELLED, "the record was cancelled");
            finish_job(session, of, status, NULL, &error);
            return true;
        }
    }
    return false;
}

void clef_session_describe(const clef_session *session, clef_session_statistics *statistics) {
    uint64_t running = 0;
    for (const job *of = session->first; of != NULL; of = of->next) {
        running += of->sequence != NULL;
    }
    const clef_network *network = &session->model->network;
    *statistics = (clef_session_statistics){
        .pending_records = session->job_count,
        .running_records = running,
        .steps = session->step_count,
        .computed_tokens = session->computed_tokens,
        .state_bytes = session->state_bytes,
        .scratch_bytes = clef_workspace_floats(network, session->row_limit) * sizeof(float)};
}

/* ---- a step ---- */

/* Whether a record that has not begun may take the state it needs: the whole of it at once, so that
 * none runs dry half-way. It waits while others hold the memory. */
static bool must_wait(const clef_session *session, uint64_t needed) {
    return session->state_byte_limit != 0 && session->state_bytes > 0 &&
           session->state_bytes + needed > session->state_byte_limit;
}

/* State for a record that runs for the first time. */
static clef_status start_job(clef_session *session, job *of, uint64_t needed, clef_error *error) {
    const clef_network *network = &session->model->network;
    if (session->state_byte_limit != 0 && needed > session->state_byte_limit) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY,
                         "a record of %zu tokens needs %llu bytes of state, over the limit of %llu",
                         of->record->task.token_count, (unsigned long long)needed,
                         (unsigned long long)session->state_byte_limit);
    }
    clef_status status = CLEF_OK;
    if (session->free_count > 0) {
        of->sequence = session->free_sequences[--session->free_count];
    } else {
        status = clef_sequence_create(&network->layout, &session->pool, &of->sequence, error);
    }
    if (status == CLEF_OK) {
        status = clef_sequence_reserve(of->sequence, of->record->task.token_count, error);
    }
    if (status == CLEF_OK) {
        status = clef_head_reading_create(network, &of->record->task, &of->reading, error);
    }
    of->state_bytes = needed;
    session->state_bytes += needed;
    of->started_ns = clef_clock_ns();
    return status;
}

/* Adds the next `rows` tokens of a record to the step as slice number `slice`. */
static void add_slice(clef_session *session, job *of, size_t slice, size_t row, size_t rows) {
    clef_sequence *sequence = of->sequence;
    const uint32_t *tokens = of->record->task.tokens + sequence->position;
    memcpy(session->tokens + row, tokens, rows * sizeof *tokens);
    session->slices[slice] = clef_sequence_slice(sequence, row, rows);
    session->readings[slice] = &of->reading;
    session->running[slice] = of;
}

void clef_session_fill_positions(clef_slices slices, size_t rows, int32_t *positions) {
    for (size_t s = 0; s < slices.count; s++) {
        const clef_slice *slice = &slices.items[s];
        for (size_t i = 0; i < slice->count; i++) {
            for (size_t axis = 0; axis < 3; axis++) {
                positions[axis * rows + slice->row + i] = (int32_t)(slice->position + i);
            }
        }
    }
}

/* Forms the step: shares out rows and lists slices. A record that cannot get memory fails alone;
 * one that must wait keeps those behind it waiting too, so that long records get their turn.
 * Returns the number of slices; *rows receives the rows. */
static size_t form_step(clef_session *session, size_t *rows) {
    size_t candidates = 0;
    for (job *of = session->first; of != NULL && candidates < session->slice_limit; of = of->next) {
        size_t position = of->sequence == NULL ? 0 : of->sequence->position;
        session->remaining[candidates++] = of->record->task.token_count - position;
    }
    size_t shared = clef_schedule_share(session->remaining, candidates, session->row_limit,
                                        session->slice_limit, session->shares);
    size_t slices = 0;
    *rows = 0;
    job *of = session->first;
    for (size_t i = 0; i < shared; i++) {
        job *next = of->next;
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
            finish_job(session, of, status, NULL, &error);
        } else if (count > 0) {
            add_slice(session, of, slices++, *rows, count);
            *rows += count;
        }
        of = next;
    }
    clef_session_fill_positions((clef_slices){session->slices, slices}, *rows, session->positions);
    return slices;
}

/* The head's turn: all tokens of the record have been read. */
static void answer_job(clef_session *session, job *of) {
    clef_error error = {0};
    clef_answer *answer = NULL;
    size_t options = of->record->task.option_total;
    float *logits = clef_allocate(options, sizeof *logits);
    clef_status status =
        logits == NULL ? clef_fail_memory(&error, options * sizeof *logits, "logits")
                       : clef_head_decide(&session->model->network, session->backend, &of->reading,
                                          of->sequence->pages, NULL, logits, &error);
    if (status == CLEF_OK) {
        double latency_ms = (double)(clef_clock_ns() - of->started_ns) / 1e6;
        status = clef_answer_create(of->record, logits, latency_ms, &answer, &error);
    }
    clef_release(logits);
    finish_job(session, of, status, answer, &error);
}

clef_status clef_session_step(clef_session *session, size_t *pending, clef_error *error) {
    (void)error;
    size_t rows;
    size_t slices = form_step(session, &rows);
    if (slices > 0) {
        clef_pass pass = {.network = &session->model->network,
                          .backend = session->backend,
                          .workspace = &session->workspace,
                          .step = {.rows = rows,
                                   .tokens = session->tokens,
                                   .positions = session->positions,
                                   .slices = {session->slices, slices}},
                          .watch = clef_weight_pages_begin(session->weight_pages)};
        clef_decoder_run(&pass);
        clef_head_observe(&pass, session->readings, session->parts);
        session->step_count++;
        session->computed_tokens += rows;
    }
    for (size_t s = 0; s < slices; s++) {
        job *of = session->running[s];
        of->sequence->position += session->slices[s].count;
        if (of->sequence->position == of->record->task.token_count) {
            answer_job(session, of);
        }
    }
    if (pending != NULL) {
        *pending = session->job_count;
    }
    return CLEF_OK;
}

/* ---- one record ---- */

typedef struct waiting {
    bool is_done;
    clef_status status;
    clef_answer *answer;
    clef_error *error; /* the caller's, or NULL */
} waiting;

static void take_answer(void *context, clef_status status, clef_answer *answer,
                        const clef_error *error) {
    waiting *wait = context;
    wait->is_done = true;
    wait->status = status;
    wait->answer = answer;
    if (status != CLEF_OK && wait->error != NULL) {
        *wait->error = *error;
    }
}

clef_status clef_session_decide(clef_session *session, clef_record *record, clef_answer **answer,
                                clef_error *error) {
    waiting wait = {.error = error};
    *answer = NULL;
    clef_status status = clef_session_submit(session, record, take_answer, &wait, error);
    while (status == CLEF_OK && !wait.is_done) {
        status = clef_session_step(session, NULL, error);
    }
    *answer = wait.answer;
    return status == CLEF_OK ? wait.status : status;
}
