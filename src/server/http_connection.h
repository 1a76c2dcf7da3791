/* One connection and its exchange: what http_loop.c, http_connection.c and http_reply.c share. All
 * of it belongs to the loop's thread, but for the handover of a reply, which the lock guards. */
#ifndef CLEF_SERVER_HTTP_CONNECTION_H
#define CLEF_SERVER_HTTP_CONNECTION_H

#include "server/http.h"
#include "server/http_chunks.h"
#include "server/http_listen.h"

#include <pthread.h>

typedef enum clef_http_state {
    CLEF_HTTP_HEAD,      /* waiting for a request, or reading its head */
    CLEF_HTTP_BODY,      /* reading a body */
    CLEF_HTTP_HANDLING,  /* the application has the exchange */
    CLEF_HTTP_WRITING,   /* a reply is on its way */
    CLEF_HTTP_DRAINING,  /* throwing away the body of a request that was answered early */
    CLEF_HTTP_LINGERING, /* closed for writing, read to the end */
    CLEF_HTTP_CLOSED,    /* no socket; waits for a reply that nobody will read */
} clef_http_state;

/* What the application hands over, from any thread. */
typedef struct clef_http_handover {
    struct clef_http_connection *next; /* in the inbox */
    bool is_queued;
    bool has_reply;
    bool is_stream;
    bool has_ended; /* a stream: nothing more will come */
    bool is_broken; /* a stream: nobody reads */
    int status;
    clef_buffer headers;
    clef_buffer body; /* or what of a stream has come since the loop last looked */
    size_t backlog;   /* a stream: bytes that the system has not taken yet */
} clef_http_handover;

typedef struct clef_http_connection {
    clef_http_exchange exchange; /* first: a pointer to one is a pointer to the other */
    clef_http *http;
    struct clef_http_connection *previous, *next;
    clef_http_handover handover; /* guarded by the lock */
    int descriptor;              /* -1 once closed */
    uint32_t watched;            /* events that epoll reports */
    clef_http_state state;
    uint64_t deadline_ns; /* 0: none */
    clef_buffer input;    /* bytes that came and are not used */
    size_t scanned;       /* of input: looked at for the end of a head */
    clef_buffer head_bytes;
    clef_http_head head;
    clef_http_chunks chunks;
    uint64_t body_left;      /* of a body with a length */
    uint64_t counted_bytes;  /* of its body in http->body_bytes */
    uint64_t progress_bytes; /* of its body since the window of the time-out began */
    uint64_t drained_bytes;
    clef_buffer output; /* what the system has not taken */
    size_t output_sent;
    bool has_exchange;    /* finish is owed */
    bool has_unread_body; /* the request was answered before its body was read */
    bool closes;          /* the connection ends after this reply */
    bool is_streaming;
    bool is_half_closed; /* the client has ended its sending side */
    bool was_probed;
    bool has_served; /* a request before */
} clef_http_connection;

struct clef_http {
    clef_server_limits limits;
    clef_http_application application;
    clef_http_listeners listeners;
    int poll;    /* epoll */
    int wakener; /* eventfd */
    pthread_t thread;
    bool has_thread;
    bool has_lock;
    pthread_mutex_t lock;
    pthread_cond_t became_idle;
    /* guarded by the lock */
    clef_http_connection *inbox;
    bool is_asleep;
    bool is_stopping;
    bool is_ending;
    size_t exchange_count;
    size_t connection_count;
    /* the loop's own */
    clef_http_connection *connections, *dead;
    bool is_accepting;
    bool has_stopped; /* is_stopping was seen */
    uint64_t next_deadline_ns;
    uint64_t now_ns;
    uint64_t body_bytes; /* of all connections */
    clef_buffer scratch;
    int64_t date_second;
    char date[40];
    char *read_bytes; /* [CLEF_HTTP_READ_BYTES] */
};

#define CLEF_HTTP_READ_BYTES 65536

/* ---- http_connection.c: reading ---- */

/* A new connection in its first state. NULL when memory is short; the socket stays the caller's. */
clef_http_connection *clef_http_connection_create(clef_http *http, int descriptor);
/* Reads what has come, and goes as far as it can. */
void clef_http_connection_read(clef_http_connection *connection);
/* Goes on with bytes that came before. */
void clef_http_connection_resume(clef_http_connection *connection);
/* The deadline has passed. */
void clef_http_connection_expire(clef_http_connection *connection);
/* The client has ended its sending side while a reply is owed. */
void clef_http_connection_note_half_close(clef_http_connection *connection);
/* Closes the socket at once. The connection goes when its exchange does. */
void clef_http_connection_close(clef_http_connection *connection);
void clef_http_connection_set_deadline(clef_http_connection *connection, uint64_t milliseconds);
/* Releases everything; for the loop. */
void clef_http_connection_destroy(clef_http_connection *connection);

/* ---- http_reply.c: writing ---- */

/* Takes what the application handed over, and sends it. */
void clef_http_connection_take_reply(clef_http_connection *connection);
/* Sends on after the system had no room. */
void clef_http_connection_write(clef_http_connection *connection);

/* ---- http_loop.c ---- */

/* Chooses the events that epoll reports. */
void clef_http_connection_watch(clef_http_connection *connection, uint32_t events);
/* The exchange is over: counts, and tells the application. */
void clef_http_exchange_finish(clef_http_connection *connection);
void clef_http_exchange_begin(clef_http_connection *connection);
/* Takes a connection off the list; its memory goes at the end of the loop's turn. */
void clef_http_connection_bury(clef_http_connection *connection);

#endif
