/* Filling of errors about model files. */
#include "weights/bad_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The last part of a path, or all of it when it ends in '/'. */
static const char *find_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

clef_status clef_bad_file_fail(clef_error *error, const char *path, const char *format, ...) {
    if (error == NULL) {
        return CLEF_BAD_FILE;
    }
    /* The place and other fields are cleared first; then the message is written behind the name. */
    clef_fail(error, CLEF_BAD_FILE, "%.200s: ", find_file_name(path));
    size_t length = strlen(error->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message + length, sizeof error->message - length, format, arguments);
    va_end(arguments);
    clef_error_set_place(error, "%s", path);
    return CLEF_BAD_FILE;
}

clef_status clef_bad_file_from_json(clef_error *error, clef_status status, const char *path,
                                    const char *what) {
    if (status == CLEF_OUT_OF_MEMORY || error == NULL) {
        return status == CLEF_OUT_OF_MEMORY ? status : CLEF_BAD_FILE;
    }
    /* The reader's message is copied out before the error is filled anew. */
    char reason[512];
    snprintf(reason, sizeof reason, "%.500s", error->message);
    return clef_bad_file_fail(error, path, "%s is not valid JSON: %s", what, reason);
}
