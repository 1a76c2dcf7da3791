/* The server's life, and the five calls of the protocol. Everything of the loop's thread needs no
 * lock; what other threads ask about stands behind one. */
#include "server/call.h"

#include "base/clock.h"
#include "base/memory.h"
#include "server/passes.h"
#include "server/reply.h"
#include "server/routes.h"

#define DRAIN_TICK_MS 100

bool clef_server_is_stopping(clef_server *server) {
    pthread_mutex_lock(&server->lock);
    bool is_stopping = server->is_stopping;
    pthread_mutex_unlock(&server->lock);
    return is_stopping;
}

clef_worker_phase clef_server_phase(clef_server *server) {
    clef_worker_report report;
    clef_worker_describe(server->worker, &report);
    return report.phase;
}

/* ---- the calls of the protocol ---- */

static clef_call *create_call(clef_server *server, clef_http_exchange *exchange) {
    clef_call *call = clef_allocate(1, sizeof *call);
    if (call != NULL) {
        call->server = server;
        call->exchange = exchange;
        exchange->call = call;
        clef_call_choose_id(call);
    }
    return call;
}

/* Without memory for a call there is none for a reply: failed buffers make the protocol send what
 * it keeps ready for this. */
static void reply_without_memory(clef_http_exchange *exchange) {
    clef_buffer headers = {.has_failed = true};
    clef_buffer body = {0};
    clef_http_reply(exchange, 503, &headers, &body);
}

static void on_head(void *context, clef_http_exchange *exchange) {
    clef_call *call = create_call(context, exchange);
    if (call == NULL) {
        reply_without_memory(exchange);
    } else {
        clef_routes_check(call);
    }
}

static void on_request(void *context, clef_http_exchange *exchange) {
    (void)context;
    clef_routes_answer(clef_call_of(exchange));
}

static void on_refuse(void *context, clef_http_exchange *exchange, int status, const char *reason) {
    clef_server *server = context;
    clef_call *call = clef_call_of(exchange);
    if (call == NULL) {
        call = create_call(server, exchange);
    }
    if (call == NULL) {
        reply_without_memory(exchange);
    } else if (status == 413) {
        clef_call_refuse(call, status, "too_large",
                         "the request body is over the limit of %llu bytes",
                         (unsigned long long)server->options.limits.body_bytes);
    } else {
        const char *label = status == 408   ? "too_slow"
                            : status == 503 ? "memory"
                            : status == 431 ? "headers"
                                            : "malformed";
        clef_call_refuse(call, status, label, "%s", reason);
    }
}

static void on_gone(void *context, clef_http_exchange *exchange) {
    clef_server *server = context;
    clef_call *call = clef_call_of(exchange);
    if (call != NULL) {
        call->has_left = true;
        pthread_mutex_lock(&server->lock);
        call->is_abandoned = true;
        pthread_mutex_unlock(&server->lock);
        clef_worker_cancel(server->worker, &call->job);
    }
}

static clef_request_numbers numbers_of(const clef_call *call, uint64_t now_ns) {
    const clef_http_exchange *exchange = call->exchange;
    const clef_job *job = &call->job;
    bool was_answered = exchange->status == 200 && call->input_tokens > 0;
    bool was_lost = call->has_left || !exchange->is_delivered;
    const char *phase = exchange->status == 0     ? "receiving"
                        : job->queued_ns == 0     ? "encoding"
                        : job->started_ns == 0    ? "queued"
                        : call->input_tokens == 0 ? "running"
                                                  : "replying";
    return (clef_request_numbers){
        .route = clef_route_name(call),
        .status = was_lost ? 0 : exchange->status,
        .seconds = (double)(now_ns - exchange->begin_ns) / 1e9,
        .model_seconds = was_answered ? (double)call->model_ns / 1e9 : -1.0,
        .queue_seconds =
            job->started_ns > 0 ? (double)(job->started_ns - job->queued_ns) / 1e9 : -1.0,
        .input_tokens = was_answered ? call->input_tokens : 0,
        .cached_tokens = was_answered ? call->cached_tokens : 0,
        .refusal = was_lost ? NULL : call->refusal,
        .cancelled_phase = was_lost ? phase : NULL,
    };
}

static void log_call(clef_server *server, const clef_call *call,
                     const clef_request_numbers *numbers) {
    const clef_http_exchange *exchange = call->exchange;
    const clef_access_line line = {
        .request_id = call->request_id,
        .method = exchange->head->method,
        .path = exchange->head->path,
        .status = numbers->status,
        .reply_bytes = exchange->reply_bytes,
        .milliseconds = numbers->seconds * 1e3,
        .queue_ms = numbers->queue_seconds * 1e3,
        .model_ms = numbers->model_seconds * 1e3,
        .input_tokens = numbers->input_tokens,
        .cached_tokens = numbers->cached_tokens,
        .body = server->options.logs_requests ? clef_buffer_text(&exchange->body)
                                              : (clef_text){NULL, 0},
    };
    clef_access_log_add(&server->log, &line);
    clef_access_log_flush(&server->log);
}

static void on_finish(void *context, clef_http_exchange *exchange) {
    clef_server *server = context;
    clef_call *call = clef_call_of(exchange);
    if (call == NULL) {
        return;
    }
    clef_request_numbers numbers = numbers_of(call, clef_clock_ns());
    clef_metrics_add(&server->metrics, &numbers);
    if (server->options.log_path != NULL) {
        log_call(server, call, &numbers);
    }
    server->place_count -= call->has_place;
    clef_record_close(call->record);
    clef_passes_close(call->passes);
    clef_release(call);
    exchange->call = NULL;
}

/* ---- life ---- */

static clef_status prepare(clef_server *server, clef_error *error) {
    const clef_server_options *options = &server->options;
    if (pthread_mutex_init(&server->lock, NULL) != 0) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    server->has_lock = true;
    clef_buffer header = {0};
    size_t length;
    clef_buffer_append_format(&header, "%s@%s", options->model_label, options->model_revision);
    server->model_header = clef_buffer_take(&header, &length);
    if (server->model_header == NULL) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < options->api_key_count; i += 1) {
        clef_status status = clef_api_keys_add(&server->keys, options->api_keys[i], error);
        if (status != CLEF_OK) {
            return status;
        }
    }
    if (options->log_path != NULL) {
        return clef_access_log_open(&server->log, options->log_path, error);
    }
    return CLEF_OK;
}

clef_status clef_server_create(const clef_server_options *options, clef_server **out,
                               clef_error *error) {
    *out = NULL;
    clef_server *server = clef_allocate(1, sizeof *server);
    if (server == NULL) {
        return clef_fail_memory(error, sizeof *server, "a server");
    }
    server->options = *options;
    server->started_ns = clef_clock_ns();
    const clef_http_application application = {
        .context = server,
        .head = on_head,
        .request = on_request,
        .refuse = on_refuse,
        .gone = on_gone,
        .finish = on_finish,
    };
    clef_status status = prepare(server, error);
    if (status == CLEF_OK) {
        status =
            clef_http_create(options->host == NULL ? "127.0.0.1" : options->host, options->port,
                             &options->limits, &application, &server->http, error);
    }
    if (status != CLEF_OK) {
        clef_server_close(server);
        return status;
    }
    *out = server;
    return CLEF_OK;
}

const char *clef_server_addresses(const clef_server *server) {
    return clef_http_addresses(server->http);
}

clef_status clef_server_start(clef_server *server, clef_model *model, const char *cpu_level,
                              clef_error *error) {
    const clef_worker_options options = {
        .session = server->options.session,
        .record = server->options.record,
        .warms_up = server->options.warms_up,
        .request_limit = server->options.limits.request_count,
        .queue_seconds = server->options.limits.queue_seconds,
        .started = server->options.started,
        .context = server->options.context,
    };
    server->model = model;
    server->cpu_level = cpu_level;
    clef_status status = clef_encoders_create(CLEF_ENCODER_THREADS, &server->encoders, error);
    if (status == CLEF_OK && server->options.record.remote_images != NULL) {
        status = clef_encoders_create(CLEF_FETCHER_THREADS, &server->fetchers, error);
    }
    if (status == CLEF_OK) {
        status = clef_worker_create(model, &options, &server->worker, error);
    }
    /* Last, so that whoever connects finds everything in place. */
    return status == CLEF_OK ? clef_http_start(server->http, error) : status;
}

void clef_server_stop(clef_server *server) {
    pthread_mutex_lock(&server->lock);
    server->is_stopping = true;
    pthread_mutex_unlock(&server->lock);
    clef_http_stop(server->http);
    (void)clef_http_wait_idle(server->http, server->options.limits.drain_seconds * 1000);
    pthread_mutex_lock(&server->lock);
    server->has_ended = true;
    pthread_mutex_unlock(&server->lock);
    clef_worker_stop(server->worker);
    /* Everything owed is answered now; what clients do not take is cut off. */
    (void)clef_http_wait_idle(server->http, DRAIN_TICK_MS * 10);
}

void clef_server_close(clef_server *server) {
    if (server == NULL) {
        return;
    }
    /* Each hands work to the others: first the threads end, that of the connections last, so that
     * everything owed is answered; then goes what they share. */
    clef_encoders_stop(server->encoders);
    clef_encoders_stop(server->fetchers);
    clef_worker_end(server->worker);
    clef_http_close(server->http);
    clef_encoders_close(server->encoders);
    clef_encoders_close(server->fetchers);
    clef_worker_close(server->worker);
    clef_access_log_close(&server->log);
    if (server->has_lock) {
        pthread_mutex_destroy(&server->lock);
    }
    clef_release(server->model_header);
    clef_release(server);
}

void clef_server_reopen_log(clef_server *server) {
    clef_access_log_reopen(&server->log);
}
