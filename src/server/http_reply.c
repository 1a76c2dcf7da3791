/* Writing: a reply is made in the loop's scratch and sent at once; only what the system does not
 * take is copied. Nothing of a request outlives its reply, so an idle connection holds no memory.
 */
#include "server/http_connection.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

static const struct {
    int status;
    const char *reason;
} REASONS[] = {
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status) {
    for (size_t i = 0; i < sizeof REASONS / sizeof REASONS[0]; i += 1) {
        if (REASONS[i].status == status) {
            return REASONS[i].reason;
        }
    }
    return "Unknown";
}

/* The names are the protocol's, whatever the locale. */
static const char *date_text(clef_http *http) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t now = time(NULL);
    struct tm parts;
    if ((int64_t)now != http->date_second && gmtime_r(&now, &parts) != NULL) {
        snprintf(http->date, sizeof http->date, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                 days + 3 * parts.tm_wday, parts.tm_mday, months + 3 * parts.tm_mon,
                 (parts.tm_year + 1900) % 10000, parts.tm_hour, parts.tm_min, parts.tm_sec);
        http->date_second = (int64_t)now;
    }
    return http->date;
}

/* What is left of a reply when there was no memory for it: nothing of it needs any. */
static const char LAST_HEAD[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                "content-type: application/json\r\n"
                                "retry-after: 1\r\nretry-after-ms: 1000\r\n"
                                "content-length: 26\r\nconnection: close\r\n\r\n";
static const char LAST_BODY[] = "{\"detail\":\"out of memory\"}";

static void append_head(clef_http_connection *connection, const clef_http_handover *reply,
                        clef_buffer *out) {
    const clef_http_head *head = &connection->head;
    bool is_chunked = reply->is_stream && !head->is_version_1_0;
    clef_buffer_append_format(out, "HTTP/1.1 %d %s\r\ndate: %s\r\n", reply->status,
                              reason_of(reply->status), date_text(connection->http));
    clef_buffer_append_text(out, clef_buffer_text(&reply->headers));
    if (is_chunked) {
        clef_buffer_append_string(out, "transfer-encoding: chunked\r\n");
    } else if (!reply->is_stream && reply->status != 204) {
        clef_buffer_append_format(out, "content-length: %zu\r\n", reply->body.length);
    }
    if (connection->closes) {
        clef_buffer_append_string(out, "connection: close\r\n");
    } else if (head->is_version_1_0) {
        clef_buffer_append_string(out, "connection: keep-alive\r\n");
    }
    clef_buffer_append_string(out, "\r\n");
}

/* The reply is out, or given up: what comes next on this connection. */
static void finish_reply(clef_http_connection *connection) {
    connection->exchange.is_delivered = true;
    clef_buffer_release(&connection->output);
    connection->output_sent = 0;
    connection->state = CLEF_HTTP_WRITING;
    clef_http_exchange_finish(connection);
    if (!connection->closes) {
        clef_http_connection_resume(connection);
        return;
    }
    /* Closing at once would reset the connection when bytes of the client are still unread, and it
     * might never see the reply. */
    shutdown(connection->descriptor, SHUT_WR);
    connection->state = CLEF_HTTP_LINGERING;
    connection->drained_bytes = connection->input.length;
    clef_buffer_release(&connection->input);
    clef_http_connection_set_deadline(connection, CLEF_LINGER_SECONDS * UINT64_C(1000));
    clef_http_connection_watch(connection, (uint32_t)EPOLLIN | (uint32_t)EPOLLRDHUP);
}

static void note_backlog(clef_http_connection *connection) {
    pthread_mutex_lock(&connection->http->lock);
    connection->handover.backlog = connection->output.length - connection->output_sent;
    pthread_mutex_unlock(&connection->http->lock);
}

/* All that there was is sent. */
static void note_sent(clef_http_connection *connection) {
    if (!connection->is_streaming) {
        finish_reply(connection);
        return;
    }
    clef_buffer_release(&connection->output);
    connection->output_sent = 0;
    note_backlog(connection);
    clef_http_connection_set_deadline(connection, 0);
    clef_http_connection_watch(connection, connection->watched & ~(uint32_t)EPOLLOUT);
}

/* The system is full: waits until it has room again. */
static void wait_for_room(clef_http_connection *connection) {
    connection->state = CLEF_HTTP_WRITING;
    clef_http_connection_set_deadline(connection,
                                      connection->http->limits.body_seconds * UINT64_C(1000));
    clef_http_connection_watch(connection, connection->watched | (uint32_t)EPOLLOUT);
    if (connection->is_streaming) {
        note_backlog(connection);
    }
}

void clef_http_connection_write(clef_http_connection *connection) {
    clef_buffer *output = &connection->output;
    while (connection->output_sent < output->length) {
        ssize_t sent = send(connection->descriptor, output->bytes + connection->output_sent,
                            output->length - connection->output_sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno == EAGAIN) {
            wait_for_room(connection);
            return;
        }
        if (sent < 0) {
            clef_http_connection_close(connection);
            return;
        }
        connection->output_sent += (size_t)sent;
    }
    note_sent(connection);
}

/* Sends two texts in one go and keeps what does not go out. */
static void send_now(clef_http_connection *connection, clef_text head, clef_text body) {
    clef_buffer *output = &connection->output;
    size_t sent = 0;
    if (output->length == 0) {
        union {
            const char *bytes;
            char *for_system; /* which only reads them */
        } parts[2] = {{head.bytes}, {body.bytes}};
        struct iovec pieces[2] = {{parts[0].for_system, head.length},
                                  {parts[1].for_system, body.length}};
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = body.length > 0 ? 2 : 1};
        ssize_t count = sendmsg(connection->descriptor, &message, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            clef_http_connection_close(connection);
            return;
        }
        sent = count < 0 ? 0 : (size_t)count;
    }
    if (sent == head.length + body.length) {
        note_sent(connection);
        return;
    }
    size_t of_head = sent < head.length ? sent : head.length;
    size_t of_body = sent - of_head;
    clef_buffer_append(output, head.bytes + of_head, head.length - of_head);
    clef_buffer_append(output, body.bytes + of_body, body.length - of_body);
    if (output->has_failed) {
        clef_http_connection_close(connection);
    } else {
        clef_http_connection_write(connection);
    }
}

/* Frames what has come of a stream. */
static void append_pieces(const clef_http_connection *connection, const clef_http_handover *reply,
                          clef_buffer *out) {
    bool is_chunked = !connection->head.is_version_1_0;
    bool is_silent = clef_text_equals(connection->head.method, CLEF_TEXT("HEAD"));
    if (reply->body.length > 0 && !is_silent) {
        if (is_chunked) {
            clef_buffer_append_format(out, "%zx\r\n", reply->body.length);
        }
        clef_buffer_append_text(out, clef_buffer_text(&reply->body));
        clef_buffer_append_string(out, is_chunked ? "\r\n" : "");
    }
    if (reply->has_ended && is_chunked && !is_silent) {
        clef_buffer_append_string(out, "0\r\n\r\n");
    }
}

/* Takes the handover out of the reach of other threads. */
static clef_http_handover take_handover(clef_http_connection *connection) {
    pthread_mutex_lock(&connection->http->lock);
    clef_http_handover taken = connection->handover;
    connection->handover.body = (clef_buffer){0};
    connection->handover.headers = (clef_buffer){0};
    connection->handover.has_reply = taken.is_stream && !taken.has_ended;
    pthread_mutex_unlock(&connection->http->lock);
    return taken;
}

static void release_handover(clef_http_handover *taken) {
    clef_buffer_release(&taken->headers);
    clef_buffer_release(&taken->body);
}

static bool is_head_request(const clef_http_connection *connection) {
    return clef_text_equals(connection->head.method, CLEF_TEXT("HEAD"));
}

static void send_last_resort(clef_http_connection *connection) {
    clef_text body = {LAST_BODY, is_head_request(connection) ? 0 : sizeof LAST_BODY - 1};
    connection->closes = true;
    connection->exchange.status = 503;
    connection->exchange.reply_bytes = sizeof LAST_BODY - 1;
    send_now(connection, (clef_text){LAST_HEAD, sizeof LAST_HEAD - 1}, body);
}

static void send_reply(clef_http_connection *connection, clef_http_handover *reply, bool is_first) {
    clef_http *http = connection->http;
    clef_buffer *head = &http->scratch;
    clef_buffer_clear(head);
    bool has_failed = reply->headers.has_failed || reply->body.has_failed;
    connection->exchange.status = is_first ? reply->status : connection->exchange.status;
    connection->closes = connection->closes || http->has_stopped ||
                         (reply->is_stream && connection->head.is_version_1_0);
    if (is_first) {
        append_head(connection, reply, head);
    }
    clef_text body = {"", 0};
    if (reply->is_stream) {
        append_pieces(connection, reply, head);
    } else if (!is_head_request(connection) && reply->body.length > 0) {
        body = clef_buffer_text(&reply->body);
    }
    connection->exchange.reply_bytes += reply->body.length;
    connection->is_streaming = reply->is_stream && !reply->has_ended;
    if (!connection->is_streaming) {
        connection->state = CLEF_HTTP_WRITING; /* nothing more is owed by the application */
    }
    if ((has_failed || head->has_failed) && !reply->is_stream) {
        send_last_resort(connection);
    } else if (head->has_failed) {
        clef_http_connection_close(connection);
    } else {
        send_now(connection, clef_buffer_text(head), body);
    }
}

void clef_http_connection_take_reply(clef_http_connection *connection) {
    bool was_streaming = connection->is_streaming;
    clef_http_handover taken = take_handover(connection);
    if (connection->state == CLEF_HTTP_CLOSED) {
        connection->exchange.status = was_streaming ? connection->exchange.status : taken.status;
        if (!taken.is_stream || taken.has_ended) {
            clef_http_exchange_finish(connection);
            clef_http_connection_bury(connection);
        }
    } else {
        send_reply(connection, &taken, !was_streaming);
    }
    release_handover(&taken);
}
