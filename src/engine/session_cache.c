/* Kept states in a session: where a record resumes, for whose state it waits, and which of its own
 * are kept on its way.
 *
 * A record may resume only where its head has pooled nothing yet: the sums of its spans are then
 * zero, as they are at the start. Spans of questions and options stand behind the state. */
#include "engine/session_parts.h"

#include "base/clock.h"
#include "base/memory.h"

clef_status clef_session_cache_create(clef_session *session, const clef_session_options *options,
                                      clef_error *error) {
    size_t limit = session->row_limit / CLEF_GRID;
    session->snapshots = clef_allocate(limit, sizeof *session->snapshots);
    session->snapshot_points = clef_allocate(limit, sizeof *session->snapshot_points);
    session->slice_parts = clef_allocate(session->slice_limit, sizeof *session->slice_parts);
    if (session->snapshots == NULL || session->snapshot_points == NULL ||
        session->slice_parts == NULL) {
        return clef_fail_memory(error, limit * sizeof *session->snapshots, "a prefix cache");
    }
    uint64_t seed = clef_clock_ns() ^ (uint64_t)(uintptr_t)session;
    session->has_cache = true;
    clef_status status = clef_prefix_cache_create(
        &session->model->network.layout, &session->pool, options->prefix_cache_bytes,
        options->prefix_cache_entries, seed, &session->cache, error);
    return status == CLEF_OK ? clef_session_open_store(session, options, error) : status;
}

void clef_session_cache_release(clef_session *session) {
    if (session->store != NULL) {
        clef_prefix_store_finish(session->store, &session->cache);
        clef_prefix_store_close(session->store);
    }
    clef_prefix_cache_release(&session->cache);
    clef_release(session->snapshots);
    clef_release(session->snapshot_points);
    clef_release(session->slice_parts);
}

static clef_prefix_key key_of(const clef_record *record) {
    return (clef_prefix_key){record->task.tokens, record->task.token_count, record->cache_salt,
                             record->cache_salt_begin};
}

/* ---- where to resume, and where to keep ---- */

/* Tokens that stand before everything the head pools: before all spans and the last token. */
static size_t head_begin(const clef_head_task *task) {
    size_t begin = task->token_count - 1;
    for (size_t i = 0; i < task->question_count; i++) {
        begin = task->question_spans[i].begin < begin ? task->question_spans[i].begin : begin;
    }
    for (size_t i = 0; i < task->option_total; i++) {
        begin = task->option_spans[i].begin < begin ? task->option_spans[i].begin : begin;
    }
    return begin;
}

static void choose_points(const clef_session *session, clef_session_job *of, size_t known) {
    const clef_record *record = of->record;
    clef_prefix_lengths lengths = {
        .fixed_end = record->prompt.prefix_tokens,
        .media_end = record->prompt.media_end,
        .state_end = record->prompt.state_tokens_used,
        .head_begin = head_begin(&record->task),
        .resumed = of->reach,
        .known = known,
    };
    of->point_count = clef_prefix_policy_points(&lengths, of->points);
    while (of->point_count > 0 &&
           !clef_prefix_cache_fits(&session->cache, of->points[of->point_count - 1].position)) {
        of->point_count--;
    }
}

static bool has_same_salt(const clef_record *a, const clef_record *b) {
    return a->cache_salt_begin == b->cache_salt_begin &&
           clef_digest_equals(&a->cache_salt, &b->cache_salt);
}

/* Tokens at the start that two records have in common, down to the grid. */
static size_t common_tokens(const clef_record *a, const clef_record *b, size_t limit) {
    size_t common = 0;
    limit = limit < a->task.token_count ? limit : a->task.token_count;
    while (common + CLEF_GRID <= limit && memcmp(a->task.tokens + common, b->task.tokens + common,
                                                 CLEF_GRID * sizeof *a->task.tokens) == 0) {
        common += CLEF_GRID;
    }
    return common;
}

bool clef_session_plan_job(clef_session *session, clef_session_job *of,
                           clef_session_job *const *candidates, size_t count) {
    if (!session->has_cache) {
        return true;
    }
    const clef_record *record = of->record;
    clef_prefix_key key = key_of(record);
    size_t limit = head_begin(&record->task);
    size_t known;
    of->reach = clef_prefix_cache_reach(&session->cache, &key, limit, &known);
    if (session->store != NULL && !of->has_asked_store) {
        of->has_asked_store = true;
        clef_prefix_store_load(session->store, &session->cache, &key, limit, of->reach);
        of->reach = clef_prefix_cache_reach(&session->cache, &key, limit, &known);
    }
    clef_session_job *leader = NULL;
    size_t best = of->reach;
    for (size_t i = 0; i < count; i++) {
        clef_session_job *other = candidates[i];
        size_t position = other->sequence == NULL ? other->reach : other->sequence->position;
        if (has_same_salt(record, other->record)) {
            size_t common = common_tokens(other->record, record, limit);
            if (common > best && common > position &&
                clef_prefix_cache_fits(&session->cache, common)) {
                best = common;
                leader = other;
            }
        }
    }
    if (leader != NULL) {
        size_t before = leader->point_count;
        leader->point_count =
            clef_prefix_policy_add(leader->points, leader->point_count, best, false);
        if (leader->point_count > before || before < CLEF_PREFIX_POINT_LIMIT) {
            return false;
        }
    }
    choose_points(session, of, known);
    return true;
}

clef_status clef_session_resume_job(clef_session *session, clef_session_job *of,
                                    clef_error *error) {
    if (!session->has_cache) {
        return CLEF_OK;
    }
    clef_prefix_key key = key_of(of->record);
    clef_status status = clef_prefix_cache_resume(
        &session->cache, &key, head_begin(&of->record->task), of->sequence, error);
    of->cached_tokens = of->sequence->position;
    return status;
}

/* ---- keeping ---- */

void clef_session_ask_snapshots(clef_session *session, const clef_session_job *of, size_t slice) {
    const clef_slice *within = &session->slices[slice];
    for (size_t i = 0; i < of->point_count; i++) {
        size_t position = of->points[i].position;
        if (position > within->position && position <= within->position + within->count) {
            float *fixed = clef_prefix_cache_take_fixed(&session->cache);
            if (fixed == NULL) {
                return; /* then less is kept */
            }
            session->snapshots[session->snapshot_count] =
                (clef_snapshot){slice, position - within->position, fixed};
            session->snapshot_points[session->snapshot_count++] = of->points[i];
        }
    }
}

void clef_session_keep_snapshots(clef_session *session) {
    for (size_t i = 0; i < session->snapshot_count; i++) {
        const clef_snapshot *snapshot = &session->snapshots[i];
        const clef_session_job *of = session->running[snapshot->slice];
        clef_prefix_key key = key_of(of->record);
        (void)clef_prefix_cache_put(&session->cache, &key, session->snapshot_points[i],
                                    snapshot->fixed, of->sequence->pages);
    }
    session->snapshot_count = 0;
}

bool clef_session_drop_kept(clef_session *session) {
    bool has_dropped = false;
    while (session->has_cache && clef_prefix_cache_evict(&session->cache)) {
        has_dropped = true;
    }
    clef_page_pool_trim(&session->pool, 0);
    while (clef_feature_cache_evict(&session->seen)) {
        has_dropped = true;
    }
    return has_dropped;
}

void clef_session_tend_cache(clef_session *session) {
    if (!session->has_cache) {
        return;
    }
    if (session->store != NULL) {
        (void)clef_prefix_store_save(session->store, &session->cache);
    }
    uint64_t used = clef_prefix_cache_bytes(&session->cache);
    uint64_t limit = session->cache.byte_limit;
    size_t page_bytes = session->pool.page_floats * sizeof(float);
    clef_page_pool_trim(&session->pool, used < limit ? (limit - used) / page_bytes : 0);
}

/* ---- warming ---- */

/* The fixed text as one slice of its own. */
static void run_fixed_text(clef_session *session, clef_sequence *sequence,
                           const clef_token_list *tokens, size_t rows) {
    memcpy(session->tokens, tokens->ids, rows * sizeof *session->tokens);
    session->slices[0] = clef_sequence_slice(sequence, 0, rows);
    session->readings[0] = NULL;
    session->features[0] = NULL;
    session->tables[0] = NULL;
    session->snapshot_count = 0;
    size_t position = rows / CLEF_GRID * CLEF_GRID;
    float *fixed =
        session->has_cache && position > 0 ? clef_prefix_cache_take_fixed(&session->cache) : NULL;
    if (fixed != NULL) {
        session->snapshots[session->snapshot_count++] = (clef_snapshot){0, position, fixed};
    }
    clef_session_run(session, 1, rows);
    if (fixed != NULL) {
        clef_prefix_key key = {tokens->ids, tokens->count, {{0}}, SIZE_MAX};
        (void)clef_prefix_cache_put(&session->cache, &key, (clef_prefix_point){position, false},
                                    fixed, sequence->pages);
    }
}

clef_status clef_session_warm(clef_session *session, clef_error *error) {
    clef_token_list tokens = {0};
    clef_sequence *sequence = NULL;
    if (session->has_made_answers) {
        return CLEF_OK; /* nothing is computed there */
    }
    if (session->job_count > 0) {
        return clef_fail(error, CLEF_USAGE, "%zu records are pending while the session is warmed",
                         session->job_count);
    }
    if (session->model->tokenizer == NULL) {
        return clef_fail(error, CLEF_USAGE, "the model %s was made for measuring and reads no text",
                         session->model->directory);
    }
    clef_status status = clef_prompt_encode_prefix(session->model->tokenizer, &tokens, error);
    size_t rows = tokens.count < session->row_limit ? tokens.count : session->row_limit;
    if (status == CLEF_OK) {
        status = clef_session_take_sequence(session, &sequence, error);
    }
    if (status == CLEF_OK) {
        status = clef_sequence_reserve(sequence, rows, error);
    }
    if (status == CLEF_OK) {
        run_fixed_text(session, sequence, &tokens, rows);
    }
    clef_session_keep_sequence(session, sequence);
    clef_session_tend_cache(session);
    clef_token_list_release(&tokens);
    return status;
}
