/* Lines are gathered and written together; a log that cannot be written does not stop the server.
 */
#include "server/access_log.h"

#include "base/error_json.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Written at once when so much is waiting. */
#define GATHERED_BYTES 65536

static bool is_stream(const clef_access_log *log) {
    return strcmp(log->path, "-") == 0;
}

static int open_file(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

clef_status clef_access_log_open(clef_access_log *log, const char *path, clef_error *error) {
    *log = (clef_access_log){.descriptor = STDERR_FILENO};
    if (pthread_mutex_init(&log->lock, NULL) != 0) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY, "cannot make a lock");
    }
    log->has_lock = true;
    log->path = path;
    if (!is_stream(log)) {
        log->descriptor = open_file(path);
        if (log->descriptor < 0) {
            log->path = NULL;
            return clef_fail(error, CLEF_USAGE, "cannot write the log %s: %s", path,
                             strerror(errno));
        }
    }
    return CLEF_OK;
}

void clef_access_log_close(clef_access_log *log) {
    clef_access_log_flush(log);
    if (log->path != NULL && !is_stream(log) && log->descriptor >= 0) {
        close(log->descriptor);
    }
    if (log->has_lock) {
        pthread_mutex_destroy(&log->lock);
    }
    clef_buffer_release(&log->lines);
    *log = (clef_access_log){0};
}

void clef_access_log_reopen(clef_access_log *log) {
    if (log->has_lock) {
        pthread_mutex_lock(&log->lock);
        log->wants_reopening = true;
        pthread_mutex_unlock(&log->lock);
    }
}

/* The old file is kept when there is no new one. */
static void reopen_when_asked(clef_access_log *log) {
    pthread_mutex_lock(&log->lock);
    bool wants = log->wants_reopening;
    log->wants_reopening = false;
    pthread_mutex_unlock(&log->lock);
    if (!wants || is_stream(log)) {
        return;
    }
    int fresh = open_file(log->path);
    if (fresh >= 0) {
        close(log->descriptor);
        log->descriptor = fresh;
    }
}

static void append_time(clef_buffer *out) {
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts) != NULL) {
        clef_buffer_append_format(out, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"",
                                  parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                  parts.tm_hour, parts.tm_min, parts.tm_sec,
                                  (int)(now.tv_nsec / 1000000));
    }
}

static void append_ms(clef_buffer *out, const char *name, double milliseconds) {
    if (milliseconds >= 0.0) {
        clef_buffer_append_format(out, ",\"%s\":", name);
        clef_json_write_double(out, (double)(int64_t)(milliseconds * 1000.0) / 1000.0);
    }
}

void clef_access_log_add(clef_access_log *log, const clef_access_line *line) {
    if (log->path == NULL) {
        return;
    }
    clef_buffer *out = &log->lines;
    append_time(out);
    clef_buffer_append_string(out, ",\"id\":");
    clef_json_write_any_string(out, clef_text_of(line->request_id));
    clef_buffer_append_string(out, ",\"method\":");
    clef_json_write_any_string(out, line->method);
    clef_buffer_append_string(out, ",\"path\":");
    clef_json_write_any_string(out, line->path);
    clef_buffer_append_format(out, ",\"status\":%d,\"bytes\":%" PRIu64, line->status,
                              line->reply_bytes);
    append_ms(out, "ms", line->milliseconds);
    append_ms(out, "queue_ms", line->queue_ms);
    append_ms(out, "model_ms", line->model_ms);
    if (line->input_tokens > 0) {
        clef_buffer_append_format(out, ",\"input_tokens\":%u,\"cached_tokens\":%u",
                                  line->input_tokens, line->cached_tokens);
    }
    if (line->body.bytes != NULL) {
        clef_buffer_append_string(out, ",\"body\":");
        clef_json_write_any_string(out, line->body);
    }
    clef_buffer_append_string(out, "}\n");
    if (out->length >= GATHERED_BYTES || out->has_failed) {
        clef_access_log_flush(log);
    }
}

void clef_access_log_flush(clef_access_log *log) {
    if (log->path == NULL) {
        return;
    }
    reopen_when_asked(log);
    clef_text rest = clef_buffer_text(&log->lines);
    while (rest.length > 0) {
        ssize_t written = write(log->descriptor, rest.bytes, rest.length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            break;
        }
        rest = (clef_text){rest.bytes + written, rest.length - (size_t)written};
    }
    clef_buffer_clear(&log->lines);
}
