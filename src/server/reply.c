/* The shapes of http-api, section 11. Texts for clients hold no path and nothing of the machine. */
#include "server/reply.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/error_json.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>

static bool is_visible(clef_text text) {
    for (size_t i = 0; i < text.length; i += 1) {
        if (text.bytes[i] <= ' ' || text.bytes[i] > '~') {
            return false;
        }
    }
    return true;
}

void clef_call_choose_id(clef_call *call) {
    clef_text sent = clef_http_head_field(call->exchange->head, "x-typesafe-request-id");
    if (sent.length > 0 && sent.length <= CLEF_REQUEST_ID_BYTES && is_visible(sent)) {
        memcpy(call->request_id, sent.bytes, sent.length);
        call->request_id[sent.length] = '\0';
        return;
    }
    static const char digits[] = "0123456789abcdef";
    unsigned char random[16];
    clef_random_fill(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i += 1) {
        call->request_id[2 * i] = digits[random[i] >> 4];
        call->request_id[2 * i + 1] = digits[random[i] & 15];
    }
    call->request_id[2 * sizeof random] = '\0';
}

/* What a page of another origin may send is what it asks for. */
static void append_echo(const clef_http_head *head, const char *asked, const char *allowed,
                        clef_buffer *out) {
    clef_text value = clef_http_head_field(head, asked);
    if (value.length > 0) {
        clef_buffer_append_string(out, allowed);
        clef_buffer_append_text(out, value);
        clef_buffer_append_string(out, "\r\n");
    }
}

void clef_call_append_headers(clef_call *call, clef_buffer *out) {
    const clef_http_head *head = call->exchange->head;
    uint64_t took_us = (clef_clock_ns() - call->exchange->begin_ns) / 1000;
    clef_buffer_append_format(out,
                              "x-typesafe-request-id: %s\r\n"
                              "server-timing: app;dur=%llu.%llu\r\n"
                              "x-clef-model: %s\r\n"
                              "access-control-allow-origin: *\r\n"
                              "access-control-expose-headers: x-typesafe-request-id, "
                              "server-timing, x-clef-model\r\n",
                              call->request_id, (unsigned long long)(took_us / 1000),
                              (unsigned long long)(took_us % 1000 / 100),
                              call->server->model_header);
    append_echo(head, "access-control-request-method", "access-control-allow-methods: ", out);
    append_echo(head, "access-control-request-headers", "access-control-allow-headers: ", out);
}

void clef_call_reply(clef_call *call, int status, const char *content_type, const char *more,
                     clef_buffer *body) {
    clef_buffer headers = {0};
    if (content_type[0] != '\0') {
        clef_buffer_append_format(&headers, "content-type: %s\r\n", content_type);
    }
    clef_call_append_headers(call, &headers);
    clef_buffer_append_string(&headers, more);
    clef_http_reply(call->exchange, status, &headers, body);
}

/* The header lines that belong to a refusal. */
static const char *lines_of(int status) {
    switch (status) {
    case 401:
        return "www-authenticate: Bearer\r\n";
    case 408:
    case 503:
        return "retry-after: 1\r\nretry-after-ms: 1000\r\n";
    default:
        return "";
    }
}

static const char *generation_type(int status) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 404:
        return "not_found_error";
    case 503:
        return "overloaded_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static void write_generation_error(clef_buffer *out, int status, const char *text,
                                   const char *code) {
    clef_buffer_append_string(out, "{\"error\":{\"message\":");
    clef_json_write_any_string(out, clef_text_of(text));
    clef_buffer_append_format(out,
                              ",\"type\":\"%s\",\"param\":null,\"code\":", generation_type(status));
    clef_buffer_append_format(out, code == NULL ? "null}}" : "\"%s\"}}", code);
}

static void write_refusal(const clef_call *call, int status, const char *text, clef_buffer *out) {
    if (call->is_generation) {
        write_generation_error(out, status, text, NULL);
        return;
    }
    clef_buffer_append_string(out, "{\"detail\":");
    clef_json_write_any_string(out, clef_text_of(text));
    clef_buffer_append_byte(out, '}');
}

void clef_call_refuse(clef_call *call, int status, const char *reason, const char *format, ...) {
    char text[1024];
    clef_buffer body = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call->refusal = reason;
    write_refusal(call, status, text, &body);
    clef_call_reply(call, status, "application/json", lines_of(status), &body);
}

/* What a client may know of an error that is not about its request. */
static const char *public_text(const clef_error *error) {
    switch (error->status) {
    case CLEF_BUSY:
    case CLEF_CANCELLED:
        return error->message;
    case CLEF_OUT_OF_MEMORY:
        return "the server is short of memory; try again later";
    case CLEF_BAD_TEXT:
        return "There was an error parsing the body";
    default:
        return "internal error";
    }
}

static const char *reason_of(const clef_error *error, int status) {
    switch (error->status) {
    case CLEF_BUSY:
        return "busy";
    case CLEF_OUT_OF_MEMORY:
        return "memory";
    case CLEF_OVER_LIMIT:
        return "over_limit";
    default:
        return status < 500 ? "invalid" : "internal";
    }
}

void clef_call_fail(clef_call *call, const clef_error *error) {
    /* One picture that is too large is a fault of the request, not of its size. */
    bool is_media = error->kind != NULL && strcmp(error->kind, "media_error") == 0;
    int status = is_media ? 422 : clef_status_http(error->status);
    clef_buffer body = {0};
    if (status != 422) {
        status =
            status == 499 || status == 400 ? (error->status == CLEF_BAD_TEXT ? 400 : 503) : status;
        clef_call_refuse(call, status, reason_of(error, status), "%s", public_text(error));
        return;
    }
    call->refusal = reason_of(error, status);
    if (call->is_generation) {
        status = 400;
        write_generation_error(&body, status, error->message,
                               error->status == CLEF_OVER_LIMIT ? "context_length_exceeded" : NULL);
    } else {
        clef_buffer_append_string(&body, "{\"detail\":[");
        clef_error_write_json(&body, error);
        clef_buffer_append_string(&body, "]}");
    }
    clef_call_reply(call, status, "application/json", "", &body);
}
