/* Reading: bytes go through the states HEAD and BODY to the application. Whatever comes behind a
 * request waits until the reply is written, so requests of a connection are answered in order. */
#include "server/http_connection.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)
#define READING   ((uint32_t)EPOLLIN | (uint32_t)EPOLLRDHUP)

static const char CONTINUE[] = "HTTP/1.1 100 Continue\r\n\r\n";

void clef_http_connection_set_deadline(clef_http_connection *connection, uint64_t milliseconds) {
    clef_http *http = connection->http;
    connection->deadline_ns = milliseconds == 0 ? 0 : http->now_ns + milliseconds * NS_PER_MS;
    if (connection->deadline_ns != 0 && connection->deadline_ns < http->next_deadline_ns) {
        http->next_deadline_ns = connection->deadline_ns;
    }
}

clef_http_connection *clef_http_connection_create(clef_http *http, int descriptor) {
    clef_http_connection *connection = clef_allocate(1, sizeof *connection);
    if (connection != NULL) {
        connection->http = http;
        connection->descriptor = descriptor;
        connection->exchange.head = &connection->head;
        clef_http_connection_set_deadline(connection, http->limits.head_seconds * UINT64_C(1000));
    }
    return connection;
}

void clef_http_connection_destroy(clef_http_connection *connection) {
    clef_buffer_release(&connection->input);
    clef_buffer_release(&connection->head_bytes);
    clef_buffer_release(&connection->exchange.body);
    clef_buffer_release(&connection->output);
    clef_buffer_release(&connection->handover.headers);
    clef_buffer_release(&connection->handover.body);
    clef_release(connection);
}

void clef_http_connection_close(clef_http_connection *connection) {
    if (connection->state == CLEF_HTTP_CLOSED) {
        return;
    }
    clef_http *http = connection->http;
    bool is_owed = connection->state == CLEF_HTTP_HANDLING || connection->is_streaming;
    close(connection->descriptor);
    connection->descriptor = -1;
    connection->state = CLEF_HTTP_CLOSED;
    clef_http_connection_set_deadline(connection, 0);
    if (connection->has_exchange && is_owed) {
        pthread_mutex_lock(&http->lock);
        bool is_coming = connection->handover.is_queued || connection->handover.has_reply;
        connection->handover.is_broken = true;
        pthread_mutex_unlock(&http->lock);
        if (!is_coming || connection->is_streaming) {
            http->application.gone(http->application.context, &connection->exchange);
        }
        return;
    }
    if (connection->has_exchange) {
        clef_http_exchange_finish(connection);
    }
    clef_http_connection_bury(connection);
}

/* Sends a few bytes outside a reply; they fit or do not matter. */
static void send_continue(const clef_http_connection *connection) {
    ssize_t sent =
        send(connection->descriptor, CONTINUE, sizeof CONTINUE - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
}

/* Nothing more of this request is read; the application answers at once. */
static void refuse(clef_http_connection *connection, int status, const char *reason) {
    clef_http *http = connection->http;
    if (!connection->has_exchange) {
        clef_http_exchange_begin(connection);
    }
    connection->closes = true;
    connection->state = CLEF_HTTP_HANDLING;
    clef_http_connection_set_deadline(connection, 0);
    http->application.refuse(http->application.context, &connection->exchange, status, reason);
}

static bool is_answered(const clef_http_connection *connection) {
    /* Only asked where a reply can come from this thread alone. */
    return connection->handover.has_reply;
}

/* An early reply leaves the body on the wire: a short one is read away, else the connection ends.
 * Whether a client that waits for "100 Continue" will send it after all cannot be known. */
static void plan_unread_body(clef_http_connection *connection) {
    const clef_http_head *head = &connection->head;
    connection->has_unread_body = head->is_chunked || head->content_length > 0;
    if (head->expects_continue || head->content_length > CLEF_DRAIN_BYTES_LIMIT) {
        connection->closes = connection->closes || connection->has_unread_body;
    }
    connection->body_left = head->content_length;
}

static void hand_over(clef_http_connection *connection) {
    clef_http *http = connection->http;
    connection->state = CLEF_HTTP_HANDLING;
    connection->was_probed = false;
    clef_http_connection_set_deadline(connection,
                                      connection->is_half_closed ? CLEF_HALF_CLOSE_PROBE_MS : 0);
    http->application.request(http->application.context, &connection->exchange);
}

static void begin_body(clef_http_connection *connection) {
    const clef_http_head *head = &connection->head;
    clef_http *http = connection->http;
    if (head->has_other_expectation) {
        refuse(connection, 417, "only \"Expect: 100-continue\" is understood");
        return;
    }
    if (head->content_length > http->limits.body_bytes) {
        refuse(connection, 413, NULL);
        return;
    }
    if (!head->is_chunked && head->content_length == 0) {
        hand_over(connection);
        return;
    }
    if (head->expects_continue) {
        send_continue(connection);
    }
    connection->state = CLEF_HTTP_BODY;
    connection->body_left = head->content_length;
    connection->progress_bytes = 0;
    clef_http_connection_set_deadline(connection, http->limits.body_seconds * UINT64_C(1000));
}

/* The head is complete. */
static void begin_request(clef_http_connection *connection, clef_text bytes) {
    clef_http *http = connection->http;
    clef_http_refusal refusal = {0};
    clef_buffer_clear(&connection->head_bytes);
    clef_buffer_append_text(&connection->head_bytes, bytes);
    clef_http_exchange_begin(connection);
    if (connection->head_bytes.has_failed) {
        refuse(connection, 503, "out of memory");
        return;
    }
    if (!clef_http_head_parse(clef_buffer_text(&connection->head_bytes), &connection->head,
                              &refusal)) {
        refuse(connection, refusal.status, refusal.reason);
        return;
    }
    connection->closes = !connection->head.keeps_alive;
    connection->chunks = (clef_http_chunks){0};
    http->application.head(http->application.context, &connection->exchange);
    if (is_answered(connection)) {
        plan_unread_body(connection);
        connection->state = CLEF_HTTP_HANDLING;
        clef_http_connection_set_deadline(connection, 0);
    } else {
        begin_body(connection);
    }
}

static size_t feed_head(clef_http_connection *connection, clef_text bytes) {
    clef_http_refusal refusal;
    clef_http *http = connection->http;
    /* Empty lines before a request are left over from old clients' bodies. */
    if (connection->scanned == 0 && bytes.length >= 2 && memcmp(bytes.bytes, "\r\n", 2) == 0) {
        return 2;
    }
    if (connection->scanned == 0) {
        connection->exchange.begin_ns = http->now_ns;
        clef_http_connection_set_deadline(connection, http->limits.head_seconds * UINT64_C(1000));
        if (bytes.length == 1 && bytes.bytes[0] == '\r') {
            return 0;
        }
    }
    size_t length = clef_http_head_find(bytes.bytes, bytes.length, &connection->scanned, &refusal);
    if (refusal.status != 0) {
        connection->scanned = 0;
        refuse(connection, refusal.status, refusal.reason);
        return bytes.length;
    }
    if (length > 0) {
        connection->scanned = 0;
        begin_request(connection, (clef_text){bytes.bytes, length});
    }
    return length;
}

/* Memory for bodies is shared by all connections; false when there is none left. */
static bool count_body(clef_http_connection *connection, size_t length) {
    clef_http *http = connection->http;
    connection->progress_bytes += length;
    connection->counted_bytes += length;
    http->body_bytes += length;
    return http->body_bytes <= http->limits.all_body_bytes;
}

static clef_chunk_result take_body(clef_http_connection *connection, clef_text bytes,
                                   size_t *used) {
    clef_http *http = connection->http;
    clef_buffer *body = &connection->exchange.body;
    if (connection->head.is_chunked) {
        return clef_http_chunks_feed(&connection->chunks, bytes, http->limits.body_bytes, body,
                                     used);
    }
    *used = connection->body_left < bytes.length ? (size_t)connection->body_left : bytes.length;
    if (body->length == 0 && connection->head.content_length <= CLEF_DRAIN_BYTES_LIMIT) {
        clef_buffer_reserve(body, (size_t)connection->head.content_length);
    }
    clef_buffer_append(body, bytes.bytes, *used);
    connection->body_left -= *used;
    return connection->body_left == 0 ? CLEF_CHUNKS_END : CLEF_CHUNKS_MORE;
}

static size_t feed_body(clef_http_connection *connection, clef_text bytes) {
    size_t used = 0;
    size_t before = connection->exchange.body.length;
    clef_chunk_result result = take_body(connection, bytes, &used);
    bool has_room = count_body(connection, connection->exchange.body.length - before);
    if (!has_room || connection->exchange.body.has_failed) {
        refuse(connection, 503, "too many request bodies are being read; try again later");
    } else if (result == CLEF_CHUNKS_MALFORMED) {
        refuse(connection, 400, "malformed request: the chunks of the body");
    } else if (result == CLEF_CHUNKS_TOO_LARGE) {
        refuse(connection, 413, NULL);
    } else if (result == CLEF_CHUNKS_END) {
        hand_over(connection);
    }
    return used;
}

static void begin_next_request(clef_http_connection *connection) {
    connection->state = CLEF_HTTP_HEAD;
    connection->has_unread_body = false;
    clef_http_connection_set_deadline(connection,
                                      connection->http->limits.idle_seconds * UINT64_C(1000));
}

/* Throws away a body that nobody wants. */
static size_t feed_drain(clef_http_connection *connection, clef_text bytes) {
    size_t used = 0;
    clef_chunk_result result;
    if (connection->head.is_chunked) {
        result =
            clef_http_chunks_feed(&connection->chunks, bytes, CLEF_DRAIN_BYTES_LIMIT, NULL, &used);
    } else {
        used = connection->body_left < bytes.length ? (size_t)connection->body_left : bytes.length;
        connection->body_left -= used;
        result = connection->body_left == 0 ? CLEF_CHUNKS_END : CLEF_CHUNKS_MORE;
    }
    connection->drained_bytes += used;
    if (result == CLEF_CHUNKS_END) {
        begin_next_request(connection);
    } else if (result != CLEF_CHUNKS_MORE ||
               connection->drained_bytes > 2 * CLEF_DRAIN_BYTES_LIMIT) {
        clef_http_connection_close(connection);
    }
    return used;
}

/* Uses as many bytes as the state of the connection can take. */
static size_t feed(clef_http_connection *connection, clef_text bytes) {
    size_t used = 0;
    for (;;) {
        clef_text rest = {bytes.bytes + used, bytes.length - used};
        size_t step = 0;
        if (rest.length == 0) {
            return used;
        }
        switch (connection->state) {
        case CLEF_HTTP_HEAD:
            step = feed_head(connection, rest);
            break;
        case CLEF_HTTP_BODY:
            step = feed_body(connection, rest);
            break;
        case CLEF_HTTP_DRAINING:
            step = feed_drain(connection, rest);
            break;
        case CLEF_HTTP_LINGERING:
            connection->drained_bytes += rest.length;
            if (connection->drained_bytes > CLEF_DRAIN_BYTES_LIMIT) {
                clef_http_connection_close(connection);
            }
            return bytes.length;
        case CLEF_HTTP_HANDLING:
        case CLEF_HTTP_WRITING:
        case CLEF_HTTP_CLOSED:
            return used;
        }
        if (step == 0) {
            return used;
        }
        used += step;
    }
}

/* Uses bytes that came just now, behind those that came before. What is not used is kept. */
static void take_bytes(clef_http_connection *connection, clef_text fresh) {
    clef_buffer *input = &connection->input;
    if (input->length == 0) {
        size_t used = feed(connection, fresh);
        clef_buffer_append(input, fresh.bytes + used, fresh.length - used);
    } else {
        clef_buffer_append_text(input, fresh);
        size_t used = feed(connection, clef_buffer_text(input));
        memmove(input->bytes, input->bytes + used, input->length - used);
        input->length -= used;
    }
    if (input->has_failed && connection->state == CLEF_HTTP_HEAD) {
        clef_buffer_release(input);
        connection->scanned = 0;
        refuse(connection, 503, "out of memory");
    } else if (input->has_failed && connection->state == CLEF_HTTP_HANDLING) {
        clef_buffer_release(input); /* what comes next is lost, the reply that is owed is not */
        connection->closes = true;
    } else if (input->has_failed) {
        clef_http_connection_close(connection);
    } else if (input->length == 0) {
        clef_buffer_release(input);
    }
}

void clef_http_connection_resume(clef_http_connection *connection) {
    if (connection->state == CLEF_HTTP_CLOSED) {
        return;
    }
    if (connection->has_unread_body && connection->state == CLEF_HTTP_WRITING) {
        connection->state = CLEF_HTTP_DRAINING;
        connection->drained_bytes = 0;
        clef_http_connection_set_deadline(connection,
                                          connection->http->limits.body_seconds * UINT64_C(1000));
    } else {
        begin_next_request(connection);
    }
    clef_http_connection_watch(connection, READING);
    if (connection->http->has_stopped && connection->state == CLEF_HTTP_HEAD) {
        clef_http_connection_close(connection);
    } else if (connection->input.length > 0) {
        take_bytes(connection, (clef_text){"", 0});
    }
}

void clef_http_connection_note_half_close(clef_http_connection *connection) {
    if (!connection->is_half_closed) {
        connection->is_half_closed = true;
        clef_http_connection_set_deadline(connection, CLEF_HALF_CLOSE_PROBE_MS);
    }
}

void clef_http_connection_read(clef_http_connection *connection) {
    clef_http *http = connection->http;
    if (connection->state == CLEF_HTTP_HANDLING || connection->state == CLEF_HTTP_WRITING) {
        /* What comes now waits in the system; asking again and again would not help. */
        clef_http_connection_watch(connection, connection->watched & ~READING);
        return;
    }
    ssize_t count = recv(connection->descriptor, http->read_bytes, CLEF_HTTP_READ_BYTES, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        clef_http_connection_close(connection);
        return;
    }
    take_bytes(connection, (clef_text){http->read_bytes, (size_t)count});
}

/* A body that drips makes no progress worth a connection. */
static void expire_body(clef_http_connection *connection) {
    uint64_t seconds = connection->http->limits.body_seconds;
    if (connection->progress_bytes >= seconds * CLEF_BODY_BYTES_PER_SECOND) {
        connection->progress_bytes = 0;
        clef_http_connection_set_deadline(connection, seconds * UINT64_C(1000));
    } else {
        refuse(connection, 408, "the request body came too slowly");
    }
}

void clef_http_connection_expire(clef_http_connection *connection) {
    clef_http_connection_set_deadline(connection, 0);
    switch (connection->state) {
    case CLEF_HTTP_HEAD:
        if (connection->has_served && connection->input.length == 0) {
            clef_http_connection_close(connection);
        } else {
            connection->scanned = 0;
            refuse(connection, 408, "the request line and headers came too slowly");
        }
        break;
    case CLEF_HTTP_BODY:
        expire_body(connection);
        break;
    case CLEF_HTTP_HANDLING:
        /* The end of the client's sending side looks the same whether it waits for the reply or is
         * gone. An interim reply, which every client must skip, tells: a client that is gone
         * answers with a reset. */
        if (connection->is_half_closed && !connection->was_probed && !connection->is_streaming &&
            !connection->head.is_version_1_0) {
            connection->was_probed = true;
            send_continue(connection);
        }
        break;
    case CLEF_HTTP_WRITING:
    case CLEF_HTTP_DRAINING:
    case CLEF_HTTP_LINGERING:
        clef_http_connection_close(connection);
        break;
    case CLEF_HTTP_CLOSED:
        break;
    }
}
