/* Status names and the filling of errors. The only state is the caller's struct. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

clef_status clef_fail(clef_error *error, clef_status status, const char *format, ...) {
    if (error != NULL) {
        error->status = status;
        error->place[0] = '\0';
        error->kind = "";
        error->offset = 0;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

clef_status clef_fail_memory(clef_error *error, size_t bytes, const char *what) {
    return clef_fail(error, CLEF_OUT_OF_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
}

void clef_error_prefix(clef_error *error, const char *prefix) {
    if (error == NULL) {
        return;
    }
    size_t added = strlen(prefix) + 2;
    size_t length = strlen(error->message);
    if (added >= sizeof error->message) {
        return;
    }
    size_t room = sizeof error->message - 1 - added;
    length = length < room ? length : room;
    memmove(error->message + added, error->message, length);
    memcpy(error->message, prefix, added - 2);
    memcpy(error->message + added - 2, ": ", 2);
    error->message[added + length] = '\0';
}

void clef_error_set_place(clef_error *error, const char *format, ...) {
    if (error == NULL || error->place[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->place, sizeof error->place, format, arguments);
    va_end(arguments);
}

void clef_error_set_kind(clef_error *error, const char *kind, uint64_t offset) {
    if (error != NULL) {
        error->kind = kind;
        error->offset = offset;
    }
}

const char *clef_status_name(clef_status status) {
    switch (status) {
    case CLEF_OK:
        return "ok";
    case CLEF_INTERNAL:
        return "internal";
    case CLEF_USAGE:
        return "usage";
    case CLEF_BAD_REQUEST:
        return "bad_request";
    case CLEF_BAD_TEXT:
        return "bad_text";
    case CLEF_OVER_LIMIT:
        return "over_limit";
    case CLEF_TOO_LARGE:
        return "too_large";
    case CLEF_BAD_FILE:
        return "bad_file";
    case CLEF_VERIFY_FAILED:
        return "verify_failed";
    case CLEF_NETWORK:
        return "network";
    case CLEF_OUT_OF_MEMORY:
        return "out_of_memory";
    case CLEF_BUSY:
        return "busy";
    case CLEF_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

int clef_status_exit(clef_status status) {
    switch (status) {
#define CLEF_STATUS_EXIT(name, value, exit_status, http_status)                                    \
    case CLEF_##name:                                                                              \
        return exit_status;
        CLEF_STATUS_LIST(CLEF_STATUS_EXIT)
#undef CLEF_STATUS_EXIT
    }
    return 1;
}

int clef_status_http(clef_status status) {
    switch (status) {
#define CLEF_STATUS_HTTP(name, value, exit_status, http_status)                                    \
    case CLEF_##name:                                                                              \
        return http_status;
        CLEF_STATUS_LIST(CLEF_STATUS_HTTP)
#undef CLEF_STATUS_HTTP
    }
    return 500;
}
