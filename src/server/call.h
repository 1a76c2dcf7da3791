/* One request on its way through the server, and the server as its handlers see it. Made when a
 * head comes, gone when the exchange is finished. */
#ifndef CLEF_SERVER_CALL_H
#define CLEF_SERVER_CALL_H

#include "server/access_log.h"
#include "server/api_keys.h"
#include "server/encoders.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/worker.h"

#define CLEF_REQUEST_ID_BYTES 128

struct clef_route;

struct clef_server {
    clef_server_options options;
    clef_http *http;
    clef_worker *worker;
    clef_model *model;
    const char *cpu_level; /* static */
    clef_encoders *encoders;
    clef_encoders *fetchers; /* NULL when no picture may be fetched */
    clef_api_keys keys;
    clef_metrics metrics; /* the loop's */
    clef_access_log log;  /* the loop's */
    uint64_t started_ns;
    char *model_header; /* value of x-clef-model */
    size_t place_count; /* requests that are queued or running; the loop's */
    pthread_mutex_t lock;
    bool has_lock;
    bool is_stopping; /* guarded by the lock */
    bool has_ended;   /* likewise: who is not answered yet will not be */
};

/* Which threads turn the body into a record; each hands on what would keep it too long. */
typedef enum clef_encoding_place {
    CLEF_ENCODING_ON_LOOP,
    CLEF_ENCODING_ON_ENCODERS,
    CLEF_ENCODING_ON_FETCHERS,
} clef_encoding_place;

typedef struct clef_call {
    clef_job job; /* first: a pointer to one is a pointer to the other */
    clef_encoder_task task;
    clef_server *server;
    clef_http_exchange *exchange;
    const struct clef_route *route; /* NULL when the path is unknown */
    clef_record *record;
    struct clef_passes *passes; /* of calls that take several; or NULL */
    char request_id[CLEF_REQUEST_ID_BYTES + 1];
    char key_scope[CLEF_API_KEY_SCOPE_BYTES]; /* of the key that it showed; or "" */
    const char *refusal;   /* static: why it was refused, for the metrics; or NULL */
    uint64_t model_ns;     /* what the engine took */
    uint32_t input_tokens; /* 0: none */
    uint32_t cached_tokens;
    uint32_t question_count;
    bool has_place;     /* counted in place_count */
    bool is_generation; /* errors have the shape of the generation routes */
    bool has_left;      /* the client; the loop's */
    bool is_abandoned;  /* the same for other threads: guarded by the server's lock */
    clef_encoding_place encoding_place;
} clef_call;

static inline clef_call *clef_call_of_task(clef_encoder_task *task) {
    return (clef_call *)(void *)((char *)task - offsetof(clef_call, task));
}

static inline clef_call *clef_call_of(clef_http_exchange *exchange) {
    return exchange->call;
}

/* How the request of a call is encoded. Borrows from the call. */
static inline clef_record_options clef_call_record_options(const clef_call *call) {
    clef_record_options options = call->server->options.record;
    if (call->server->options.has_cache_per_key && call->key_scope[0] != '\0') {
        options.cache_scope = call->key_scope;
    }
    return options;
}

bool clef_server_is_stopping(clef_server *server);
clef_worker_phase clef_server_phase(clef_server *server);

#endif
