/* Clients are threads that take the next request from one counter; a result belongs to the client
 * that took it until all have ended. */
#include "cli/bench_clients.h"

#include "base/clock.h"
#include "base/memory.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define JSON_BYTES ((size_t)64 << 20)

typedef struct pass_state {
    const clef_bench_pass *pass;
    clef_bench_result *results;
    clef_bench_outcome *outcome;
    clef_error *error; /* where status is not CLEF_OK */
    pthread_mutex_t lock;
    /* guarded by the lock */
    uint32_t next;
    clef_status status; /* of the pass; a failure ends it */
} pass_state;

/* ---- what servers answer ---- */

static clef_text string_of(const clef_json *value) {
    return value != NULL && value->type == CLEF_JSON_STRING ? value->text : (clef_text){NULL, 0};
}

/* The one sentence of an error body, in any of the forms that such servers use. */
static clef_text find_message(const clef_json *body) {
    static const char *const names[] = {"detail", "error", "message"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i += 1) {
        const clef_json *value = clef_json_member(body, names[i]);
        if (value != NULL && value->type == CLEF_JSON_ARRAY) {
            value = value->first;
        }
        clef_text text = string_of(value);
        text = text.bytes == NULL ? string_of(clef_json_member(value, "msg")) : text;
        text = text.bytes == NULL ? string_of(clef_json_member(value, "message")) : text;
        if (text.bytes != NULL) {
            return text;
        }
    }
    return (clef_text){NULL, 0};
}

clef_status clef_bench_explain_refusal(const clef_http_client *client, clef_error *error) {
    clef_arena arena = {.cap_bytes = JSON_BYTES};
    clef_json *body = NULL;
    clef_text message = {NULL, 0};
    if (clef_json_parse(clef_buffer_text(&client->body), &arena, &body, NULL) == CLEF_OK) {
        message = find_message(body);
    }
    clef_status status =
        clef_fail(error, CLEF_NETWORK, "http://%s answers with status %d%s%.*s",
                  client->server->url.authority, client->status, message.length > 0 ? ": " : "",
                  (int)(message.length < 500 ? message.length : 500), message.bytes);
    clef_arena_release(&arena);
    return status;
}

static clef_status fail_answer(const clef_http_client *client, const char *why, clef_error *error) {
    return clef_fail(error, CLEF_NETWORK, "what http://%s answers is no decision: %s",
                     client->server->url.authority, why);
}

/* Reads the body of a reply with status 200. */
static clef_status read_answer(const clef_http_client *client, const clef_bench_scenario *scenario,
                               clef_bench_result *result, clef_error *error) {
    clef_arena arena = {.cap_bytes = JSON_BYTES};
    clef_json *body = NULL;
    clef_error fault = {0};
    clef_status status = clef_json_parse(clef_buffer_text(&client->body), &arena, &body, &fault);
    body = status == CLEF_OK ? body : NULL;
    const clef_json *answers = clef_json_member(body, "answers");
    const clef_json *latency = clef_json_member(body, "latency_ms");
    const clef_json *tokens = clef_json_member(clef_json_member(body, "usage"), "input_tokens");
    result->model_ms = NAN;
    if (status != CLEF_OK) {
        status = fail_answer(client, fault.message, error);
    } else if (answers == NULL || answers->type != CLEF_JSON_OBJECT) {
        status = fail_answer(client, "it has no object \"answers\"", error);
    } else if (answers->count != scenario->question_count) {
        char why[80];
        snprintf(why, sizeof why, "%zu answers to %zu questions", answers->count,
                 scenario->question_count);
        status = fail_answer(client, why, error);
    } else {
        if (latency != NULL && latency->type == CLEF_JSON_NUMBER) {
            result->model_ms = clef_json_double(latency->text);
        }
        if (tokens != NULL) {
            (void)clef_json_unsigned(tokens, &result->input_tokens);
        }
        result->is_answered = true;
    }
    clef_arena_release(&arena);
    return status;
}

/* ---- a client ---- */

/* false when there is nothing left to do. */
static bool take_request(pass_state *state, uint32_t *index) {
    pthread_mutex_lock(&state->lock);
    bool has_more = state->status == CLEF_OK && state->next < state->pass->request_count;
    *index = state->next;
    state->next += has_more;
    pthread_mutex_unlock(&state->lock);
    return has_more;
}

static void note_refusal(pass_state *state, const clef_error *error) {
    pthread_mutex_lock(&state->lock);
    if (state->outcome->failed_count == 0) {
        state->outcome->first_failure = *error;
    }
    state->outcome->failed_count += 1;
    pthread_mutex_unlock(&state->lock);
}

static void note_failure(pass_state *state, clef_status status, const clef_error *error) {
    pthread_mutex_lock(&state->lock);
    if (state->status == CLEF_OK && state->error != NULL) {
        *state->error = *error;
    }
    state->status = state->status == CLEF_OK ? status : state->status;
    pthread_mutex_unlock(&state->lock);
}

static void ask_one(pass_state *state, clef_http_client *client, clef_buffer *body,
                    uint32_t index) {
    const clef_bench_pass *pass = state->pass;
    clef_bench_result *result = &state->results[index];
    clef_error error = {0};
    uint64_t ticket = pass->first_ticket;
    ticket = ticket == 0 ? 0 : ticket + index % pass->state_count;
    clef_buffer_clear(body);
    clef_bench_scenario_write(pass->scenario, ticket, body);
    clef_status status = clef_buffer_check(body, "a request", &error);
    uint64_t begin_ns = clef_clock_ns();
    if (status == CLEF_OK) {
        status = clef_http_client_ask(client, pass->path, clef_buffer_text(body), &error);
    }
    uint64_t end_ns = clef_clock_ns();
    if (status == CLEF_OK && client->status != 200) {
        (void)clef_bench_explain_refusal(client, &error);
        note_refusal(state, &error);
        return;
    }
    if (status == CLEF_OK) {
        status = read_answer(client, pass->scenario, result, &error);
        result->wall_ms = (double)(end_ns - begin_ns) * 1e-6;
    }
    if (status != CLEF_OK) {
        note_failure(state, status, &error);
    }
}

static void *run_client(void *context) {
    pass_state *state = context;
    clef_http_client client = {.server = state->pass->server, .stream = -1};
    clef_buffer body = {0};
    uint32_t index;
    while (take_request(state, &index)) {
        ask_one(state, &client, &body, index);
    }
    clef_buffer_release(&body);
    clef_http_client_close(&client);
    return NULL;
}

clef_status clef_bench_pass_run(const clef_bench_pass *pass, clef_bench_result *results,
                                clef_bench_outcome *outcome, clef_error *error) {
    pass_state state = {.pass = pass, .results = results, .outcome = outcome, .error = error};
    uint32_t started = 0;
    *outcome = (clef_bench_outcome){0};
    memset(results, 0, pass->request_count * sizeof *results);
    pthread_t *threads = clef_allocate(pass->client_count, sizeof *threads);
    if (threads == NULL) {
        return clef_fail_memory(error, pass->client_count * sizeof *threads, "the clients");
    }
    if (pthread_mutex_init(&state.lock, NULL) != 0) {
        clef_release(threads);
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    uint64_t begin_ns = clef_clock_ns();
    while (started < pass->client_count &&
           pthread_create(&threads[started], NULL, run_client, &state) == 0) {
        started += 1;
    }
    if (started < pass->client_count) {
        clef_error fault = {0};
        clef_fail(&fault, CLEF_OUT_OF_MEMORY, "cannot start client %u of %u", started + 1,
                  pass->client_count);
        note_failure(&state, CLEF_OUT_OF_MEMORY, &fault);
    }
    for (uint32_t i = 0; i < started; i += 1) {
        pthread_join(threads[i], NULL);
    }
    outcome->seconds = (double)(clef_clock_ns() - begin_ns) * 1e-9;
    pthread_mutex_destroy(&state.lock);
    clef_release(threads);
    return state.status;
}
