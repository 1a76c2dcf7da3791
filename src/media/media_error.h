/* Refusals of media. The caller puts "images[1]: " in front and says where in the request. */
#ifndef CLEF_MEDIA_MEDIA_ERROR_H
#define CLEF_MEDIA_MEDIA_ERROR_H

#include "base/error.h"

/* clef_fail with kind "media_error". Usual statuses: CLEF_BAD_REQUEST, and CLEF_TOO_LARGE where a
 * limit of bytes or pixels is passed. */
clef_status clef_fail_media(clef_error *error, clef_status status, const char *format, ...)
    CLEF_PRINTF(3, 4);

#endif
