/* One row a path. A new route is a row here and a file with its handler. */
#include "server/routes.h"

#include "server/health.h"
#include "server/models.h"
#include "server/permute.h"
#include "server/reply.h"
#include "server/separate.h"
#include "server/systemone.h"

#include <stdio.h>

#define GET_ROUTE(route_path, route_name, key, handler)                                            \
    {                                                                                              \
        .path = (route_path), .name = (route_name), .methods = "GET, HEAD, OPTIONS",               \
        .needs_key = (key), .answer = (handler)                                                    \
    }
#define DECISION_ROUTE(route_path, route_name, handler)                                            \
    {                                                                                              \
        .path = (route_path), .name = (route_name), .methods = "POST, OPTIONS", .is_post = true,   \
        .needs_key = true, .is_compute = true, .answer = (handler)                                 \
    }

static const clef_route ROUTES[] = {
    DECISION_ROUTE("/v1/systemone", "systemone", clef_systemone_answer),
    DECISION_ROUTE("/systemone", "systemone", clef_systemone_answer),
    DECISION_ROUTE("/v1/v1/systemone", "systemone", clef_systemone_answer),
    DECISION_ROUTE("/v1/systemone/permute", "permute", clef_permute_answer),
    DECISION_ROUTE("/v1/systemone/separate", "separate", clef_separate_answer),
    GET_ROUTE("/v1/models", "models", true, clef_models_answer),
    GET_ROUTE("/models", "models", true, clef_models_answer),
    GET_ROUTE("/openapi.json", "openapi", false, clef_models_answer_openapi),
    GET_ROUTE("/healthz", "healthz", false, clef_health_answer_live),
    GET_ROUTE("/healthz/ready", "health", false, clef_health_answer_ready),
    GET_ROUTE("/health", "health", false, clef_health_answer_ready),
    GET_ROUTE("/v1/health", "health", false, clef_health_answer_ready),
    GET_ROUTE("/ready", "health", false, clef_health_answer_ready),
    GET_ROUTE("/metrics", "metrics", true, clef_health_answer_metrics),
};

static const clef_route *find_route(clef_text path) {
    for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i += 1) {
        if (clef_text_equals(path, clef_text_of(ROUTES[i].path))) {
            return &ROUTES[i];
        }
    }
    return NULL;
}

const char *clef_route_name(const clef_call *call) {
    return call->route != NULL ? call->route->name : "unknown";
}

static bool starts_with(clef_text text, const char *start) {
    size_t length = strlen(start);
    return text.length >= length && memcmp(text.bytes, start, length) == 0;
}

/* Whether the key guards a path, whether or not there is such a route. */
static bool is_guarded(const clef_call *call) {
    clef_text path = call->exchange->head->path;
    if (call->route != NULL) {
        bool is_open = call->route->answer == clef_health_answer_metrics &&
                       call->server->options.has_open_metrics;
        return call->route->needs_key && !is_open;
    }
    return starts_with(path, "/v1");
}

static void answer_preflight(clef_call *call) {
    clef_buffer body = {0};
    char lines[96];
    snprintf(lines, sizeof lines, "allow: %s\r\naccess-control-max-age: 86400\r\n",
             call->route != NULL ? call->route->methods : "GET, HEAD, POST, OPTIONS");
    clef_call_reply(call, 204, "", lines, &body);
}

static void refuse_method(clef_call *call) {
    clef_text method = call->exchange->head->method;
    const clef_route *route = call->route;
    clef_buffer body = {0};
    char lines[64];
    snprintf(lines, sizeof lines, "allow: %s\r\n", route->methods);
    clef_buffer_append_format(&body,
                              route->is_generation
                                  ? "{\"error\":{\"message\":\"%s takes %s, not %.*s\",\"type\":"
                                    "\"invalid_request_error\",\"param\":null,\"code\":null}}"
                                  : "{\"detail\":\"%s takes %s, not %.*s\"}",
                              route->path, route->is_post ? "POST" : "GET",
                              (int)(method.length < 32 ? method.length : 32), method.bytes);
    call->refusal = "method";
    clef_call_reply(call, 405, "application/json", lines, &body);
}

static bool takes_method(const clef_route *route, clef_text method) {
    if (route->is_post) {
        return clef_text_equals(method, CLEF_TEXT("POST"));
    }
    return clef_text_equals(method, CLEF_TEXT("GET")) ||
           clef_text_equals(method, CLEF_TEXT("HEAD"));
}

static void refuse_path(clef_call *call) {
    clef_text path = call->exchange->head->path;
    call->is_generation = starts_with(path, "/v1/chat") || starts_with(path, "/v1/completions");
    clef_call_refuse(call, 404, "not_found",
                     "there is no %.*s here; decisions are answered by POST /v1/systemone",
                     (int)(path.length < 200 ? path.length : 200), path.bytes);
}

/* 503 for work that cannot be done now; true when it was refused. */
static bool refuse_busy(clef_call *call) {
    clef_server *server = call->server;
    if (clef_server_is_stopping(server)) {
        clef_call_refuse(call, 503, "stopping", "the server is stopping");
        return true;
    }
    if (clef_server_phase(server) != CLEF_WORKER_READY) {
        clef_call_refuse(call, 503, "loading", "the model is being made ready; try again later");
        return true;
    }
    if (server->place_count >= server->options.limits.request_count) {
        clef_call_refuse(call, 503, "queue_full",
                         "%u requests are queued or running already; try again later",
                         server->options.limits.request_count);
        return true;
    }
    return false;
}

void clef_routes_check(clef_call *call) {
    const clef_http_head *head = call->exchange->head;
    call->route = find_route(head->path);
    call->is_generation = call->route != NULL && call->route->is_generation;
    if (clef_text_equals(head->method, CLEF_TEXT("OPTIONS"))) {
        answer_preflight(call);
    } else if (is_guarded(call) &&
               !clef_api_keys_allow(&call->server->keys, head, call->key_scope)) {
        clef_call_refuse(call, 401, "unauthorized",
                         "missing or invalid API key; send Authorization: Bearer <CLEF_API_KEY>");
    } else if (call->route == NULL) {
        refuse_path(call);
    } else if (!takes_method(call->route, head->method)) {
        refuse_method(call);
    } else if (call->route->is_compute) {
        (void)refuse_busy(call);
    }
}

void clef_routes_answer(clef_call *call) {
    clef_server *server = call->server;
    if (call->route->is_compute) {
        if (refuse_busy(call)) {
            return;
        }
        call->has_place = true;
        server->place_count += 1;
    }
    call->route->answer(call);
}
