/* None of these waits for anything: they are answered where they arrive. */
#include "server/health.h"

#include "server/reply.h"

void clef_health_answer_live(clef_call *call) {
    clef_buffer body = {0};
    clef_buffer_append_string(&body, "{\"status\":\"ok\"}");
    clef_call_reply(call, 200, "application/json", "", &body);
}

/* How far the way to readiness has been gone. */
static void append_loading(clef_worker_phase phase, clef_buffer *out) {
    bool is_warming = phase == CLEF_WORKER_WARMING;
    clef_buffer_append_format(out, "{\"status\":\"loading\",\"phase\":\"%s\",\"progress\":%s}",
                              is_warming ? "warm-up" : "session", is_warming ? "0.5" : "0.1");
}

void clef_health_answer_ready(clef_call *call) {
    clef_server *server = call->server;
    clef_worker_phase phase = clef_server_phase(server);
    clef_buffer body = {0};
    int status = 503;
    if (clef_server_is_stopping(server)) {
        clef_buffer_append_string(&body, "{\"status\":\"stopping\"}");
    } else if (phase != CLEF_WORKER_READY) {
        append_loading(phase, &body);
    } else {
        clef_worker_report report;
        clef_worker_describe(server->worker, &report);
        clef_buffer_append_format(&body, "{\"status\":\"ok\",\"workers\":1,\"queued\":%zu}",
                                  report.waiting_count);
        status = 200;
    }
    clef_call_reply(call, status, "application/json",
                    status == 200 ? "" : "retry-after: 1\r\nretry-after-ms: 1000\r\n", &body);
}

void clef_health_answer_metrics(clef_call *call) {
    clef_server *server = call->server;
    clef_worker_report report;
    clef_model_facts facts;
    clef_buffer body = {0};
    clef_worker_describe(server->worker, &report);
    clef_model_describe(server->model, &facts);
    const clef_metrics_moment moment = {
        .queue_depth = report.waiting_count,
        .in_flight = report.running_count,
        .connection_count = clef_http_connection_count(server->http),
        .computed_tokens = report.session.computed_tokens,
        .cache_entries = report.session.prefix_cache_entries,
        .cache_bytes = report.session.prefix_cache_bytes,
        .cache_hits = report.session.prefix_cache_hits,
        .cache_misses = report.session.prefix_cache_misses,
        .cache_evictions = report.session.prefix_cache_evictions,
        .feature_entries = report.session.feature_cache_entries,
        .feature_bytes = report.session.feature_cache_bytes,
        .feature_hits = report.session.feature_cache_hits,
        .feature_misses = report.session.feature_cache_misses,
        .feature_evictions = report.session.feature_cache_evictions,
        .step_count = report.session.steps,
        .state_bytes = report.session.state_bytes,
        .scratch_bytes = report.session.scratch_bytes,
        .mapped_bytes = facts.mapped_bytes,
        .media_bytes = facts.media_bytes,
        .version = clef_version(),
        .model = server->options.model_label,
        .revision = server->options.model_revision,
        .backend = "cpu",
        .level = server->cpu_level,
    };
    clef_metrics_write(&server->metrics, &moment, &body);
    clef_call_reply(call, 200, "text/plain; version=0.0.4; charset=utf-8", "", &body);
}
