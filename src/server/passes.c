/* Encoding happens on a thread of the encoders, the answer comes on the engine's; each hands over
 * to the other and never waits. */
#include "server/passes.h"

#include "base/memory.h"
#include "server/encoding.h"
#include "server/models.h"
#include "server/reply.h"
#include "server/systemone.h"

#include <math.h>
#include <stdio.h>

clef_status clef_passes_refuse(clef_error *error, const char *field, const char *message) {
    clef_fail(error, CLEF_BAD_REQUEST, "%s", message);
    clef_error_set_kind(error, "value_error", 0);
    clef_error_set_place(error, "%s", field);
    return CLEF_BAD_REQUEST;
}

void clef_passes_write_latency(clef_buffer *out, double milliseconds) {
    clef_buffer_append_string(out, ",\"latency_ms\":");
    clef_json_write_double(out, floor(milliseconds * 10.0 + 0.5) / 10.0);
}

void clef_passes_write_state_tokens(const clef_passes *passes, clef_buffer *out) {
    if (passes->is_cut_allowed) {
        clef_buffer_append_format(out, ",\"state_tokens\":%u,\"state_tokens_used\":%u",
                                  passes->state_tokens, passes->state_tokens_used);
    }
}

void clef_passes_write_truncated(const clef_passes *passes, clef_buffer *out) {
    if (passes->is_cut_allowed) {
        clef_buffer_append_format(out, ",\"truncated\":%s",
                                  passes->is_truncated ? "true" : "false");
    }
}

void clef_passes_close(clef_passes *passes) {
    if (passes != NULL) {
        clef_arena_release(&passes->arena);
        clef_buffer_release(&passes->copy);
        clef_buffer_release(&passes->results);
        clef_record_close(passes->first);
        clef_release(passes);
    }
}

static void reply_whole(clef_call *call) {
    clef_passes *passes = call->passes;
    clef_buffer body = {0};
    char line[48];
    call->input_tokens = passes->input_tokens;
    call->cached_tokens = passes->cached_tokens;
    call->model_ns = (uint64_t)(passes->latency_ms * 1e6);
    snprintf(line, sizeof line, "x-clef-cached-tokens: %u\r\n", passes->cached_tokens);
    passes->kind->finish(passes, &body);
    clef_call_reply(call, 200, "application/json", line, &body);
}

static void add_usage(clef_passes *passes, const clef_answer_usage *usage) {
    bool is_first = passes->index == 0;
    passes->input_tokens += usage->input_tokens;
    passes->cached_tokens += usage->cached_tokens;
    passes->latency_ms += usage->latency_ms;
    passes->is_truncated = passes->is_truncated || usage->is_truncated;
    passes->state_tokens = usage->state_tokens;
    if (is_first || usage->state_tokens_used < passes->state_tokens_used) {
        passes->state_tokens_used = usage->state_tokens_used;
    }
}

/* The answer as text, as a tree, and into what the kind makes of it. */
static clef_status add_answer(clef_call *call, const clef_answer *answer, clef_error *error) {
    clef_passes *passes = call->passes;
    const clef_server_options *options = &call->server->options;
    const clef_answer_style style = {
        .unrounded = options->unrounded, .confidence = options->confidence, .with_latency = true};
    char *json = NULL;
    size_t bytes = 0;
    clef_arena scratch = {0};
    clef_json *body = NULL;
    clef_answer_usage usage;
    clef_answer_describe(answer, &usage);
    clef_status status = clef_answer_json(answer, &style, &json, &bytes, error);
    if (status == CLEF_OK) {
        status = clef_json_parse((clef_text){json, bytes}, &scratch, &body, error);
    }
    if (status == CLEF_OK) {
        add_usage(passes, &usage);
        status = passes->kind->take(passes, passes->index, body, error);
    }
    if (status == CLEF_OK) {
        status = clef_buffer_check(&passes->results, "the answers", error);
    }
    clef_arena_release(&scratch);
    clef_text_free(json);
    return status;
}

static void run_pass(clef_encoder_task *task);

/* Gives up the record of a pass; the first one stays as long as the call. */
static void drop_record(clef_call *call) {
    if (call->passes->first == NULL) {
        call->passes->first = call->record;
    } else {
        clef_record_close(call->record);
    }
    call->record = NULL;
}

static void take_answer(clef_job *job, clef_status status, const clef_answer *answer,
                        const clef_error *error) {
    clef_call *call = (clef_call *)(void *)job;
    clef_passes *passes = call->passes;
    clef_error own = {0};
    if (status != CLEF_OK) {
        clef_call_fail(call, error);
        return;
    }
    if (add_answer(call, answer, &own) != CLEF_OK) {
        clef_call_fail(call, &own);
        return;
    }
    drop_record(call);
    passes->index += 1;
    if (passes->index == passes->count) {
        reply_whole(call);
        return;
    }
    call->task.run = run_pass;
    clef_encoding_run_patiently(call);
}

/* The place of an error is one in the request, which may be a part of the body. */
static void set_outer_place(const clef_passes *passes, clef_error *error) {
    char place[CLEF_ERROR_PLACE_BYTES];
    if (passes->place[0] == '\0') {
        return;
    }
    memcpy(place, error->place, sizeof place);
    error->place[0] = '\0';
    clef_error_set_place(error, place[0] == '\0' ? "%s" : "%s" CLEF_PLACE_SEPARATOR "%s",
                         passes->place, place);
}

static clef_status encode_pass(clef_call *call, size_t index, clef_error *error) {
    clef_passes *passes = call->passes;
    clef_record_options options = clef_call_record_options(call);
    bool is_moved;
    passes->kind->choose(passes, index, &options);
    options.media_record = passes->first;
    clef_status status = clef_encoding_run(call, passes->request, &options, &is_moved, error);
    if (status != CLEF_OK) {
        set_outer_place(passes, error);
    }
    return status;
}

static void run_pass(clef_encoder_task *task) {
    clef_call *call = clef_call_of_task(task);
    clef_error error = {0};
    clef_status status =
        call->record == NULL ? encode_pass(call, call->passes->index, &error) : CLEF_OK;
    if (status == CLEF_OK) {
        call->job.record = call->record;
        call->job.answered = take_answer;
        status = clef_worker_submit(call->server->worker, &call->job, &error);
    }
    if (status != CLEF_OK) {
        clef_call_fail(call, &error);
    }
}

/* Every limit is checked before the model works; the record of the first pass stays. */
static clef_status check_passes(clef_call *call, clef_error *error) {
    clef_passes *passes = call->passes;
    clef_status status = CLEF_OK;
    size_t first = passes->kind->has_unlike_passes ? passes->count : 1;
    for (size_t i = first; i > 0 && status == CLEF_OK; i -= 1) {
        if (call->record != NULL) {
            drop_record(call);
        }
        status = encode_pass(call, i - 1, error);
    }
    if (status == CLEF_OK && passes->kind->check != NULL) {
        status = passes->kind->check(passes, error);
    }
    return status;
}

static clef_status read_body(clef_call *call, clef_error *error) {
    clef_passes *passes = call->passes;
    clef_json *body = NULL;
    passes->request = clef_buffer_text(&call->exchange->body);
    if (passes->request.bytes == NULL) {
        passes->request = CLEF_TEXT("");
    }
    clef_status status = clef_json_parse(passes->request, &passes->arena, &body, error);
    if (status == CLEF_OK && body->type != CLEF_JSON_OBJECT) {
        return clef_passes_refuse(error, "", "the request must be a JSON object");
    }
    return status == CLEF_OK ? passes->kind->read(passes, body, error) : status;
}

static void begin_passes(clef_encoder_task *task) {
    clef_call *call = clef_call_of_task(task);
    clef_error error = {0};
    clef_status status = read_body(call, &error);
    if (status == CLEF_OK) {
        status = check_passes(call, &error);
    }
    if (status != CLEF_OK) {
        clef_systemone_add_hint(&call->exchange->body, &error);
        clef_call_fail(call, &error);
        return;
    }
    if (!clef_models_refuse(call)) {
        run_pass(task);
    }
}

void clef_passes_answer(clef_call *call, const clef_pass_kind *kind, size_t bytes) {
    clef_error error = {0};
    call->passes = clef_allocate(1, bytes);
    if (call->passes == NULL) {
        clef_fail_memory(&error, bytes, "the passes of a call");
        clef_call_fail(call, &error);
        return;
    }
    call->passes->kind = kind;
    call->passes->place = "";
    call->passes->is_cut_allowed = call->server->options.record.truncate;
    call->task.run = begin_passes;
    /* Even a small body may mean many records. */
    clef_encoding_run_patiently(call);
}
