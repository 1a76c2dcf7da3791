/* The access log: one line of JSON for each request. Text of requests is in it only when asked for;
 * keys never are. All calls but clef_access_log_reopen come from one thread. */
#ifndef CLEF_SERVER_ACCESS_LOG_H
#define CLEF_SERVER_ACCESS_LOG_H

#include "base/buffer.h"

#include <pthread.h>

/* Zero-initialised is a closed log that drops everything. */
typedef struct clef_access_log {
    const char *path; /* borrowed; NULL: closed */
    int descriptor;
    clef_buffer lines; /* not written yet */
    pthread_mutex_t lock;
    bool has_lock;
    bool wants_reopening; /* guarded by the lock */
} clef_access_log;

typedef struct clef_access_line {
    const char *request_id;
    clef_text method, path;
    int status; /* 0: the client left before a reply */
    uint64_t reply_bytes;
    double milliseconds;
    double queue_ms, model_ms; /* negative: does not apply */
    uint32_t input_tokens, cached_tokens;
    clef_text body; /* of the request; bytes is NULL when it is not logged */
} clef_access_line;

/* "-" is standard error. CLEF_USAGE when the file cannot be opened. */
clef_status clef_access_log_open(clef_access_log *log, const char *path, clef_error *error);
void clef_access_log_close(clef_access_log *log);
void clef_access_log_add(clef_access_log *log, const clef_access_line *line);
/* Writes what was added. */
void clef_access_log_flush(clef_access_log *log);
/* From any thread: before the next line the file is opened anew. */
void clef_access_log_reopen(clef_access_log *log);

#endif
