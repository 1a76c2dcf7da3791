/* Sockets never block: every wait is a poll with what is left of the request's time. */
#include "cli/http_client.h"

#include "base/clock.h"
#include "server/http_chunks.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES  ((size_t)64 << 10)
#define REPLY_BYTES ((size_t)16 << 20)
#define READ_BYTES  ((size_t)64 << 10)

/* ---- the server ---- */

clef_status clef_http_server_find(clef_http_server *server, clef_error *error) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int result = getaddrinfo(server->url.host, server->url.port, &hints, &server->addresses);
    if (result != 0) {
        server->addresses = NULL;
        return clef_fail(error, CLEF_NETWORK, "there is no host %s: %s", server->url.host,
                         gai_strerror(result));
    }
    return CLEF_OK;
}

void clef_http_server_release(clef_http_server *server) {
    if (server->addresses != NULL) {
        freeaddrinfo(server->addresses);
        server->addresses = NULL;
    }
}

/* ---- waiting ---- */

static clef_status fail_at(const clef_http_client *client, const char *what, clef_error *error) {
    return clef_fail(error, CLEF_NETWORK, "http://%s %s", client->server->url.authority, what);
}

static clef_status fail_late(const clef_http_client *client, clef_error *error) {
    return clef_fail(error, CLEF_NETWORK, "http://%s has not answered within %u s",
                     client->server->url.authority, client->server->timeout_seconds);
}

/* Waits until the stream is ready for `events`; CLEF_NETWORK when the time is over. */
static clef_status wait_ready(const clef_http_client *client, short events, uint64_t deadline_ns,
                              clef_error *error) {
    for (;;) {
        uint64_t now = clef_clock_ns();
        struct pollfd watched = {client->stream, events, 0};
        if (now >= deadline_ns) {
            return fail_late(client, error);
        }
        int ready = poll(&watched, 1, (int)((deadline_ns - now) / 1000000 + 1));
        if (ready > 0) {
            return CLEF_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return fail_at(client, strerror(errno), error);
        }
    }
}

/* ---- connecting ---- */

static void disconnect(clef_http_client *client) {
    if (client->stream >= 0) {
        close(client->stream);
    }
    client->stream = -1;
    clef_buffer_clear(&client->incoming);
}

static clef_status connect_to(clef_http_client *client, const struct addrinfo *address,
                              uint64_t deadline_ns, clef_error *error) {
    int on = 1;
    int failure = 0;
    socklen_t size = sizeof failure;
    client->stream =
        socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (client->stream < 0) {
        return clef_fail(error, CLEF_NETWORK, "cannot make a socket: %s", strerror(errno));
    }
    (void)setsockopt(client->stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(client->stream, address->ai_addr, address->ai_addrlen) != 0) {
        failure = errno;
    }
    if (failure == EINPROGRESS) {
        clef_status status = wait_ready(client, POLLOUT, deadline_ns, error);
        if (status != CLEF_OK) {
            return status;
        }
        failure = 0;
        if (getsockopt(client->stream, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
            failure = errno;
        }
    }
    return failure == 0 ? CLEF_OK
                        : clef_fail(error, CLEF_NETWORK, "cannot connect to http://%s: %s",
                                    client->server->url.authority, strerror(failure));
}

/* The first address that answers, as a name may have several. */
static clef_status connect_any(clef_http_client *client, uint64_t deadline_ns, clef_error *error) {
    clef_status status = CLEF_NETWORK;
    const struct addrinfo *address = client->server->addresses;
    for (; address != NULL && status != CLEF_OK; address = address->ai_next) {
        status = connect_to(client, address, deadline_ns, error);
        if (status != CLEF_OK) {
            disconnect(client);
        }
    }
    return status;
}

/* ---- a request ---- */

static clef_status write_request(clef_http_client *client, const char *path, clef_text body,
                                 clef_error *error) {
    const clef_http_server *server = client->server;
    clef_buffer *out = &client->outgoing;
    clef_buffer_clear(out);
    clef_buffer_append_format(out, "%s %s%s HTTP/1.1\r\nhost: %s\r\naccept: application/json\r\n",
                              body.bytes == NULL ? "GET" : "POST", server->url.path, path,
                              server->url.authority);
    if (server->api_key != NULL) {
        clef_buffer_append_format(out, "authorization: Bearer %s\r\n", server->api_key);
    }
    if (body.bytes != NULL) {
        clef_buffer_append_format(out, "content-type: application/json\r\ncontent-length: %zu\r\n",
                                  body.length);
    }
    clef_buffer_append_string(out, "\r\n");
    clef_buffer_append_text(out, body);
    return clef_buffer_check(out, "a request", error);
}

/* A server may answer before it has read everything: then there is a reply to read, and whether it
 * is one is for the reader to say. */
static clef_status send_request(clef_http_client *client, uint64_t deadline_ns, clef_error *error) {
    const clef_buffer *out = &client->outgoing;
    for (size_t sent = 0; sent < out->length;) {
        ssize_t count = send(client->stream, out->bytes + sent, out->length - sent, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (size_t)count;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            clef_status status = wait_ready(client, POLLOUT, deadline_ns, error);
            if (status != CLEF_OK) {
                return status;
            }
        } else if (errno != EINTR) {
            return CLEF_OK;
        }
    }
    return CLEF_OK;
}

/* ---- a reply ---- */

/* Appends what has come; *is_over when the other side sends nothing more. */
static clef_status receive(clef_http_client *client, uint64_t deadline_ns, bool *is_over,
                           clef_error *error) {
    clef_buffer *in = &client->incoming;
    *is_over = false;
    for (;;) {
        if (clef_clock_ns() >= deadline_ns) {
            return fail_late(client, error);
        }
        if (!clef_buffer_reserve(in, READ_BYTES)) {
            return clef_buffer_check(in, "a reply", error);
        }
        ssize_t count = recv(client->stream, in->bytes + in->length, READ_BYTES, 0);
        if (count > 0) {
            in->length += (size_t)count;
            in->bytes[in->length] = '\0';
            return CLEF_OK;
        }
        if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
            *is_over = true;
            return CLEF_OK;
        }
        clef_status status = wait_ready(client, POLLIN, deadline_ns, error);
        if (status != CLEF_OK) {
            return status;
        }
    }
}

/* Removes used bytes from the front. */
static void drop_incoming(clef_http_client *client, size_t count) {
    clef_buffer *in = &client->incoming;
    if (count > 0) {
        memmove(in->bytes, in->bytes + count, in->length - count);
        in->length -= count;
    }
}

static clef_status read_head(clef_http_client *client, uint64_t deadline_ns,
                             clef_http_reply_head *head, clef_error *error) {
    for (;;) {
        clef_text bytes = clef_buffer_text(&client->incoming);
        size_t length = clef_http_reply_head_find(bytes);
        bool is_over;
        if (length > 0) {
            const char *why = clef_http_reply_head_parse((clef_text){bytes.bytes, length}, head);
            if (why != NULL) {
                return clef_fail(error, CLEF_NETWORK, "http://%s does not speak HTTP: %s",
                                 client->server->url.authority, why);
            }
            clef_buffer_clear(&client->head);
            clef_buffer_append(&client->head, bytes.bytes, length);
            drop_incoming(client, length);
            if (head->status >= 200) {
                return clef_buffer_check(&client->head, "a reply", error);
            }
            continue; /* interim replies are followed by the true one */
        }
        if (bytes.length > HEAD_BYTES) {
            return fail_at(client, "sends a head without end", error);
        }
        clef_status status = receive(client, deadline_ns, &is_over, error);
        if (status != CLEF_OK) {
            return status;
        }
        if (is_over) {
            return fail_at(client,
                           client->incoming.length == 0 ? "closed the connection without a reply"
                                                        : "closed the connection within a reply",
                           error);
        }
    }
}

/* Takes what is there of the body; *is_whole when it is complete. */
static clef_status take_body(clef_http_client *client, const clef_http_reply_head *head,
                             clef_http_chunks *chunks, bool *is_whole, clef_error *error) {
    clef_text bytes = clef_buffer_text(&client->incoming);
    size_t used = bytes.length;
    if (head->is_chunked) {
        clef_chunk_result result =
            clef_http_chunks_feed(chunks, bytes, REPLY_BYTES, &client->body, &used);
        if (result == CLEF_CHUNKS_MALFORMED) {
            return fail_at(client, "sends chunks that are none", error);
        }
        if (result == CLEF_CHUNKS_TOO_LARGE) {
            return fail_at(client, "sends a reply of more than 16 MiB", error);
        }
        *is_whole = result == CLEF_CHUNKS_END;
    } else {
        uint64_t wanted =
            head->has_length ? head->content_length - client->body.length : UINT64_MAX;
        used = wanted < bytes.length ? (size_t)wanted : bytes.length;
        clef_buffer_append(&client->body, bytes.bytes, used);
        *is_whole = head->has_length && client->body.length == head->content_length;
    }
    drop_incoming(client, used);
    return client->body.length > REPLY_BYTES ||
                   (head->has_length && !head->is_chunked && head->content_length > REPLY_BYTES)
               ? fail_at(client, "sends a reply of more than 16 MiB", error)
               : clef_buffer_check(&client->body, "a reply", error);
}

static clef_status read_body(clef_http_client *client, const clef_http_reply_head *head,
                             uint64_t deadline_ns, bool *has_ended, clef_error *error) {
    clef_http_chunks chunks = {0};
    bool is_whole = head->status == 204 || head->status == 304;
    *has_ended = false;
    clef_buffer_clear(&client->body);
    while (!is_whole) {
        clef_status status = take_body(client, head, &chunks, &is_whole, error);
        if (status == CLEF_OK && !is_whole) {
            status = receive(client, deadline_ns, has_ended, error);
        }
        if (status != CLEF_OK) {
            return status;
        }
        if (*has_ended) {
            /* Without a length, the end of the connection is the end of the body. */
            return head->is_chunked || head->has_length
                       ? fail_at(client, "closed the connection within a reply", error)
                       : CLEF_OK;
        }
    }
    return CLEF_OK;
}

static clef_status try_to_ask(clef_http_client *client, uint64_t deadline_ns, clef_error *error) {
    clef_http_reply_head head = {0};
    bool has_ended = false;
    clef_status status = CLEF_OK;
    if (client->stream < 0) {
        status = connect_any(client, deadline_ns, error);
    }
    if (status == CLEF_OK) {
        status = send_request(client, deadline_ns, error);
    }
    if (status == CLEF_OK) {
        status = read_head(client, deadline_ns, &head, error);
    }
    if (status == CLEF_OK) {
        status = read_body(client, &head, deadline_ns, &has_ended, error);
    }
    client->status = head.status;
    return status;
}

clef_status clef_http_client_ask(clef_http_client *client, const char *path, clef_text body,
                                 clef_error *error) {
    uint64_t deadline_ns = clef_clock_ns() + client->server->timeout_seconds * UINT64_C(1000000000);
    bool was_kept = client->stream >= 0;
    clef_status status = write_request(client, path, body, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = try_to_ask(client, deadline_ns, error);
    bool has_nothing = client->status == 0 && client->incoming.length == 0;
    if (status == CLEF_NETWORK && was_kept && has_nothing && clef_clock_ns() < deadline_ns) {
        disconnect(client);
        status = try_to_ask(client, deadline_ns, error);
    }
    clef_http_reply_head head;
    bool is_over = status != CLEF_OK ||
                   clef_http_reply_head_parse(clef_buffer_text(&client->head), &head) != NULL ||
                   !head.keeps_alive ||
                   (!head.has_length && !head.is_chunked && head.status != 204);
    if (is_over) {
        disconnect(client);
    }
    return status;
}

void clef_http_client_close(clef_http_client *client) {
    disconnect(client);
    clef_buffer_release(&client->outgoing);
    clef_buffer_release(&client->incoming);
    clef_buffer_release(&client->head);
    clef_buffer_release(&client->body);
}
