/* Every limit of the server in one place, with its default. What a client or an operator may change
 * is a field of clef_server_limits; what the protocol fixes is a constant. The texts of the replies
 * name these numbers, so none of them stands anywhere else. */
#ifndef CLEF_SERVER_LIMITS_H
#define CLEF_SERVER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Request line and fields of a request: 431 above. */
#define CLEF_HEAD_BYTES_LIMIT 65536
#define CLEF_HEAD_FIELD_LIMIT 100
/* Extensions of one chunk, and the trailer section of a chunked body, both ignored: 400 above. */
#define CLEF_CHUNK_LINE_LIMIT    1024
#define CLEF_TRAILER_BYTES_LIMIT 16384
/* What is read and thrown away of a refused body before the connection is closed instead. */
#define CLEF_DRAIN_BYTES_LIMIT (UINT64_C(1) << 20)
/* Bytes of a streamed reply that a slow reader may leave unsent before it is dropped. */
#define CLEF_STREAM_BACKLOG_LIMIT ((size_t)1 << 20)
/* A body must arrive at this rate, measured over the body time-out, or it makes no progress. */
#define CLEF_BODY_BYTES_PER_SECOND 1024
/* How long a closed connection is read to its end, so that the client sees the last reply. */
#define CLEF_LINGER_SECONDS 2
/* After half a close by the client: when to find out whether it left altogether. */
#define CLEF_HALF_CLOSE_PROBE_MS 100
/* Bodies up to this size are parsed where they arrive; larger ones by threads of their own. */
#define CLEF_INLINE_BODY_BYTES 16384
#define CLEF_ENCODER_THREADS   2
/* Threads that may wait for other hosts; requests with pictures to fetch share them. */
#define CLEF_FETCHER_THREADS  8
#define CLEF_LISTENER_LIMIT   8
#define CLEF_API_KEY_LIMIT    64
#define CLEF_MODEL_NAME_LIMIT 32

/* All fields must be set; clef_server_limits_default gives the defaults. */
typedef struct clef_server_limits {
    uint64_t body_bytes;       /* of one request; 64 MiB */
    uint64_t all_body_bytes;   /* of all requests that are being read; four times body_bytes */
    uint64_t media_bytes;      /* decoded pictures of all requests; more wait; 1 GiB */
    uint32_t connection_count; /* 512; more wait unaccepted */
    uint32_t request_count;    /* queued and running; 256 */
    uint32_t head_seconds;     /* to send request line and fields; 10 */
    uint32_t body_seconds;     /* to make progress with a body, or with taking a reply; 30 */
    uint32_t idle_seconds;     /* between two requests of a connection; 75 */
    uint32_t queue_seconds;    /* to wait for the engine; 300 */
    uint32_t drain_seconds;    /* to finish requests when stopping; 20 */
} clef_server_limits;

static inline clef_server_limits clef_server_limits_default(void) {
    return (clef_server_limits){
        .body_bytes = UINT64_C(64) << 20,
        .all_body_bytes = UINT64_C(256) << 20,
        .media_bytes = UINT64_C(1) << 30,
        .connection_count = 512,
        .request_count = 256,
        .head_seconds = 10,
        .body_seconds = 30,
        .idle_seconds = 75,
        .queue_seconds = 300,
        .drain_seconds = 20,
    };
}

#endif
