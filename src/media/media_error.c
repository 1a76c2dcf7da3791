/* Refusals of media: a status, a text and the kind. */
#include "media/media_error.h"

#include <stdarg.h>
#include <stdio.h>

clef_status clef_fail_media(clef_error *error, clef_status status, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    clef_fail(error, status, "%s", message);
    clef_error_set_kind(error, "media_error", 0);
    return status;
}
