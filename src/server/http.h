/* HTTP/1.1 over sockets, for one application: connections, framing, time-outs, limits of bytes.
 * Knows no route, no JSON and no engine. One thread owns all sockets and makes all calls below;
 * replies may come from any thread. docs/decisions/0002-http.md says why it is ours.
 *
 * The life of an exchange:
 *     head      request line and fields are here; may reply at once, then the body is not read
 *     request   the body is here as well; a reply must follow, now or later, from any thread
 *     refuse    the request broke a rule of the protocol or a limit; a reply must follow at once
 *     gone      between request and reply: the client has left; a reply is still owed, and dropped
 *     finish    the last call: the reply is sent, or nobody is there to take it */
#ifndef CLEF_SERVER_HTTP_H
#define CLEF_SERVER_HTTP_H

#include "base/buffer.h"
#include "server/http_head.h"
#include "server/limits.h"

typedef struct clef_http clef_http;

/* What the application sees of a request and its reply. */
typedef struct clef_http_exchange {
    const clef_http_head *head; /* empty texts when refused before it was complete */
    clef_buffer body;           /* the application's between request and reply: it may release it
                                   early */
    uint64_t begin_ns;          /* when its first byte came */
    void *call;                 /* free for the application */
    int status;                 /* of the reply; 0: none was made */
    uint64_t reply_bytes;       /* of the body, as sent so far */
    bool is_delivered;          /* the whole reply was handed to the system */
} clef_http_exchange;

typedef struct clef_http_application {
    void *context;
    void (*head)(void *context, clef_http_exchange *exchange);
    void (*request)(void *context, clef_http_exchange *exchange);
    void (*refuse)(void *context, clef_http_exchange *exchange, int status, const char *reason);
    void (*gone)(void *context, clef_http_exchange *exchange);
    void (*finish)(void *context, clef_http_exchange *exchange);
} clef_http_application;

/* Binds; nothing is accepted yet. Errors as clef_http_listeners_bind, CLEF_OUT_OF_MEMORY. */
clef_status clef_http_create(const char *host, uint16_t port, const clef_server_limits *limits,
                             const clef_http_application *application, clef_http **http,
                             clef_error *error);
/* "http://127.0.0.1:8008", several separated by ", "; until closed. */
const char *clef_http_addresses(const clef_http *http);
/* Starts the thread and accepts connections. CLEF_BUSY, CLEF_OUT_OF_MEMORY. */
clef_status clef_http_start(clef_http *http, clef_error *error);

/* Stops accepting; idle connections are closed, others after the reply to their request. */
void clef_http_stop(clef_http *http);
/* Waits until no exchange is open or the time is over; true when none is. After a stop. */
bool clef_http_wait_idle(clef_http *http, uint32_t milliseconds);
/* Ends the thread and closes what is left. No reply may be owed any more. NULL is fine. */
void clef_http_close(clef_http *http);

/* Replies. `headers` are whole lines that end in CR LF, without content-length, date and
 * connection; the contents of both buffers are taken over. Once for each exchange, from any thread.
 */
void clef_http_reply(clef_http_exchange *exchange, int status, clef_buffer *headers,
                     clef_buffer *body);

/* Replies piece by piece instead: begin, any number of sends, end. */
void clef_http_stream_begin(clef_http_exchange *exchange, int status, clef_buffer *headers);
/* false when nobody reads any more, or too slowly: stop, and end. */
bool clef_http_stream_send(clef_http_exchange *exchange, clef_text bytes);
void clef_http_stream_end(clef_http_exchange *exchange);

/* Connections that are open; any thread. */
size_t clef_http_connection_count(clef_http *http);

#endif
