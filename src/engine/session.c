/* The session's life and its queue of records. Everything a step needs is taken when the session is
 * created; a sequence's state is taken when its record first runs. */
#include "engine/session_parts.h"

#include "base/memory.h"
#include "base/system_memory.h"

#include <stdio.h>

#define DEFAULT_ROWS 512
/* Records a step can share: short records have some sixty tokens at least. */
#define ROWS_PER_SLICE 16

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
    session->features = clef_allocate(slices, sizeof *session->features);
    session->tables = clef_allocate(slices, sizeof *session->tables);
    session->parts = clef_allocate(rows + slices, sizeof *session->parts);
    session->remaining = clef_allocate(slices, sizeof *session->remaining);
    session->shares = clef_allocate(slices, sizeof *session->shares);
    session->candidates = clef_allocate(slices, sizeof *session->candidates);
    session->free_sequences = clef_allocate(slices, sizeof(clef_sequence *));
    if (session->tokens == NULL || session->positions == NULL || session->slices == NULL ||
        session->readings == NULL || session->running == NULL || session->features == NULL ||
        session->tables == NULL || session->parts == NULL || session->remaining == NULL ||
        session->shares == NULL || session->candidates == NULL || session->free_sequences == NULL) {
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

/* A session that only queues and answers: it needs no weights and no scratch. */
static clef_status create_made(clef_model *model, clef_session **out, clef_error *error) {
    clef_session *session = clef_allocate(1, sizeof *session);
    if (session == NULL) {
        return clef_fail_memory(error, sizeof *session, "a session");
    }
    session->model = clef_model_share(model);
    session->has_made_answers = true;
    *out = session;
    return CLEF_OK;
}

/* Whether the model can decide, and the options can be honoured. */
static clef_status check_options(const clef_model *model, const clef_session_options *options,
                                 clef_error *error) {
    uint32_t rows = options == NULL ? 0 : options->rows_per_step;
    if (rows > CLEF_SESSION_ROW_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "%u rows in a step, over the limit of %d", rows,
                         CLEF_SESSION_ROW_LIMIT);
    }
    if (options != NULL && options->prefix_cache_directory != NULL &&
        options->prefix_cache_bytes == 0) {
        return clef_fail(error, CLEF_USAGE,
                         "the cache directory %s needs memory for a prefix cache beside it",
                         options->prefix_cache_directory);
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
    return check_memory(model, clef_session_rows(rows), error);
}

clef_status clef_session_create(clef_model *model, const clef_session_options *options,
                                clef_session **out, clef_error *error) {
    *out = NULL;
    if (options != NULL && options->made_answers) {
        return create_made(model, out, error);
    }
    clef_status status = check_options(model, options, error);
    if (status != CLEF_OK) {
        return status;
    }
    clef_session *session = clef_allocate(1, sizeof *session);
    if (session == NULL) {
        return clef_fail_memory(error, sizeof *session, "a session");
    }
    session->model = clef_model_share(model);
    session->row_limit = clef_session_rows(options == NULL ? 0 : options->rows_per_step);
    session->slice_limit = clef_session_slices(session->row_limit);
    session->state_byte_limit = options == NULL ? 0 : options->state_bytes;
    session->seen.byte_limit = options == NULL ? 0 : options->feature_cache_bytes;
    clef_page_pool_init(&session->pool, model->network.layout.page_floats);
    status = clef_cpu_backend_create(model->runtime->pool, model->runtime->level, &session->backend,
                                     error);
    if (status == CLEF_OK) {
        status = session->backend->operations->reserve(session->backend, session->row_limit,
                                                       clef_network_widest_input(&model->network),
                                                       error);
    }
    if (status == CLEF_OK) {
        status = take_memory(session, error);
    }
    if (status == CLEF_OK && options != NULL && options->prefix_cache_bytes > 0) {
        status = clef_session_cache_create(session, options, error);
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

clef_status clef_session_take_sequence(clef_session *session, clef_sequence **out,
                                       clef_error *error) {
    if (session->free_count > 0) {
        *out = session->free_sequences[--session->free_count];
        return CLEF_OK;
    }
    return clef_sequence_create(&session->model->network.layout, &session->pool, out, error);
}

void clef_session_keep_sequence(clef_session *session, clef_sequence *sequence) {
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

static void destroy_job(clef_session *session, clef_session_job *done) {
    session->state_bytes -= done->state_bytes;
    clef_session_keep_sequence(session, done->sequence);
    clef_head_reading_release(&done->reading);
    clef_session_forget_media(done);
    clef_record_close(done->record);
    clef_release(done);
}

void clef_session_close(clef_session *session) {
    if (session == NULL) {
        return;
    }
    while (session->first != NULL) {
        clef_session_job *next = session->first->next;
        destroy_job(session, session->first);
        session->first = next;
    }
    while (session->free_count > 0) {
        clef_sequence_destroy(session->free_sequences[--session->free_count]);
    }
    clef_release(session->free_sequences);
    clef_session_cache_release(session);
    clef_feature_cache_release(&session->seen);
    clef_page_pool_release(&session->pool);
    clef_weight_pages_close(session->weight_pages);
    clef_workspace_release(&session->workspace);
    clef_backend_destroy(session->backend);
    clef_release(session->tokens);
    clef_release(session->positions);
    clef_release(session->slices);
    clef_release(session->readings);
    clef_release(session->running);
    clef_release(session->features);
    clef_release(session->tables);
    clef_release(session->parts);
    clef_release(session->remaining);
    clef_release(session->shares);
    clef_release(session->candidates);
    clef_model_close(session->model);
    clef_release(session);
}

clef_status clef_session_submit(clef_session *session, clef_record *record,
                                clef_answer_callback *callback, void *context, clef_error *error) {
    if (record->model != session->model) {
        return clef_fail(error, CLEF_USAGE, "the record was encoded for another model");
    }
    clef_session_job *added = clef_allocate(1, sizeof *added);
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

void clef_session_finish_job(clef_session *session, clef_session_job *done, clef_status status,
                             clef_answer *answer, const clef_error *error) {
    clef_session_job **link = &session->first;
    clef_session_job *before = NULL;
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
    for (clef_session_job *of = session->first; of != NULL; of = of->next) {
        if (of->context == context) {
            clef_error error = {0};
            clef_status status = clef_fail(&error, CLEF_CANCELLED, "the record was cancelled");
            clef_session_finish_job(session, of, status, NULL, &error);
            return true;
        }
    }
    return false;
}

void clef_session_describe(const clef_session *session, clef_session_statistics *statistics) {
    uint64_t running = 0;
    for (const clef_session_job *of = session->first; of != NULL; of = of->next) {
        running += of->sequence != NULL;
    }
    const clef_network *network = &session->model->network;
    *statistics = (clef_session_statistics){
        .pending_records = session->job_count,
        .running_records = running,
        .steps = session->step_count,
        .computed_tokens = session->computed_tokens,
        .state_bytes = session->state_bytes,
        .cached_tokens = session->cached_tokens,
        .prefix_cache_entries = session->cache.count,
        .prefix_cache_bytes = session->has_cache ? clef_prefix_cache_bytes(&session->cache) : 0,
        .prefix_cache_hits = session->cache.hits,
        .prefix_cache_misses = session->cache.misses,
        .prefix_cache_evictions = session->cache.evictions,
        .feature_cache_entries = session->seen.count,
        .feature_cache_bytes = session->seen.bytes,
        .feature_cache_hits = session->seen.hits,
        .feature_cache_misses = session->seen.misses,
        .feature_cache_evictions = session->seen.evictions,
        .prefix_cache_directory_bytes =
            session->store == NULL ? 0 : clef_prefix_store_bytes(session->store),
        .scratch_bytes = clef_workspace_floats(network, session->row_limit) * sizeof(float)};
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
