/* The server: answers the HTTP interface of docs/http-api.md with a model. Frontend of clef.h like
 * any other; see http.h for the protocol, routes.c for the list of what it answers. */
#ifndef CLEF_SERVER_SERVER_H
#define CLEF_SERVER_SERVER_H

#include "base/error.h"
#include "server/limits.h"

#include <clef/clef.h>

typedef struct clef_server clef_server;

/* Texts are borrowed until the server is closed. limits must be set; other zeros mean default. */
typedef struct clef_server_options {
    const char *host; /* NULL: 127.0.0.1 */
    uint16_t port;    /* 0: any free one */
    clef_server_limits limits;
    clef_record_options record;
    clef_session_options session;
    clef_confidence confidence;
    bool unrounded;
    bool warms_up;
    const char *model_label;                        /* what is really served, in x-clef-model */
    const char *model_revision;                     /* behind it */
    const char *model_names[CLEF_MODEL_NAME_LIMIT]; /* names that are listed */
    size_t model_name_count;
    int64_t model_seconds;                       /* when the model was released, since 1970 */
    const char *model_repository, *model_commit; /* where it comes from; NULL or "": unknown */
    bool has_strict_model;                       /* names that are not listed are not found */
    const char *api_keys[CLEF_API_KEY_LIMIT];
    size_t api_key_count; /* 0: no key is asked for */
    bool has_open_metrics;
    bool has_cache_per_key; /* requests with different keys share neither states nor computations */
    const char *log_path;   /* NULL: no log; "-": standard error */
    bool logs_requests;     /* the log holds the bodies of requests */
    /* Called once, from any thread, when the server is ready (CLEF_OK) or cannot be. */
    void (*started)(void *context, clef_status status, const clef_error *error);
    void *context;
} clef_server_options;

/* Binds the port and checks the options; accepts nothing yet. CLEF_BUSY, CLEF_USAGE,
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_server_create(const clef_server_options *options, clef_server **server,
                               clef_error *error);
/* "http://127.0.0.1:8008"; until closed or stopped. */
const char *clef_server_addresses(const clef_server *server);
/* Accepts connections, and makes ready in the background. The model must outlive the server;
 * cpu_level is static, for metrics and cards. */
clef_status clef_server_start(clef_server *server, clef_model *model, const char *cpu_level,
                              clef_error *error);
/* Stops accepting, lets what runs finish within limits.drain_seconds, ends everything else. */
void clef_server_stop(clef_server *server);
void clef_server_close(clef_server *server);

/* The log's file is opened anew: somebody moved it away. */
void clef_server_reopen_log(clef_server *server);

#endif
