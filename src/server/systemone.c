/* From body to record where the request arrives (or in a thread of its own when it is long), from
 * record to answer in the worker, from answer to reply in the worker's thread. */
#include "server/systemone.h"

#include "base/json.h"
#include "server/encoding.h"
#include "server/models.h"
#include "server/reply.h"

#include <stdio.h>

static void reply_answer(clef_call *call, const clef_answer *answer) {
    const clef_server_options *options = &call->server->options;
    const clef_answer_style style = {
        .unrounded = options->unrounded,
        .confidence = options->confidence,
        .with_latency = true,
    };
    clef_answer_usage usage;
    clef_error error = {0};
    char *json = NULL;
    size_t bytes = 0;
    clef_answer_describe(answer, &usage);
    call->input_tokens = usage.input_tokens;
    call->cached_tokens = usage.cached_tokens;
    call->model_ns = (uint64_t)(usage.latency_ms * 1e6);
    if (clef_answer_json(answer, &style, &json, &bytes, &error) != CLEF_OK) {
        clef_call_fail(call, &error);
        return;
    }
    /* The text of the library becomes the body as it is. */
    clef_buffer body = {.bytes = json, .length = bytes, .capacity = bytes + 1};
    char header[64];
    snprintf(header, sizeof header, "x-clef-cached-tokens: %u\r\n", usage.cached_tokens);
    clef_call_reply(call, 200, "application/json", header, &body);
}

static void take_answer(clef_job *job, clef_status status, const clef_answer *answer,
                        const clef_error *error) {
    clef_call *call = (clef_call *)(void *)job;
    if (status == CLEF_OK) {
        reply_answer(call, answer);
    } else {
        clef_call_fail(call, error);
    }
}

/* Clients that speak to the wrong route get told where theirs is. */
void clef_systemone_add_hint(const clef_buffer *body, clef_error *error) {
    clef_arena arena = {0};
    clef_json *value = NULL;
    if (error->status != CLEF_BAD_REQUEST || body->length == 0 ||
        clef_json_parse(clef_buffer_text(body), &arena, &value, NULL) != CLEF_OK) {
        clef_arena_release(&arena);
        return;
    }
    size_t length = strlen(error->message);
    if (clef_json_member(value, "messages") != NULL &&
        clef_json_member(value, "questions") == NULL) {
        snprintf(error->message + length, sizeof error->message - length,
                 "; a body with messages belongs to POST /v1/chat/completions");
    }
    clef_arena_release(&arena);
}

static void encode(clef_encoder_task *task) {
    clef_call *call = clef_call_of_task(task);
    clef_server *server = call->server;
    clef_error error = {0};
    clef_buffer *body = &call->exchange->body;
    clef_record_options options = clef_call_record_options(call);
    clef_text text = {body->bytes == NULL ? "" : body->bytes, body->length};
    bool is_moved;
    clef_status status = clef_encoding_run(call, text, &options, &is_moved, &error);
    if (is_moved) {
        return;
    }
    if (status != CLEF_OK) {
        clef_systemone_add_hint(body, &error);
    }
    if (status == CLEF_OK && clef_models_refuse(call)) {
        return;
    }
    if (!server->options.logs_requests) {
        clef_buffer_release(body);
    }
    if (status == CLEF_OK) {
        call->job.record = call->record;
        call->job.answered = take_answer;
        status = clef_worker_submit(server->worker, &call->job, &error);
    }
    if (status != CLEF_OK) {
        clef_call_fail(call, &error);
    }
}

void clef_systemone_answer(clef_call *call) {
    call->task.run = encode;
    if (call->exchange->body.length <= CLEF_INLINE_BODY_BYTES) {
        encode(&call->task);
    } else {
        call->encoding_place = CLEF_ENCODING_ON_ENCODERS;
        clef_encoders_run(call->server->encoders, &call->task);
    }
}
