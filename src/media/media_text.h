/* Media as a string: base64, a data: URL, or the address of a remote picture. */
#ifndef CLEF_MEDIA_MEDIA_TEXT_H
#define CLEF_MEDIA_MEDIA_TEXT_H

#include "base/error.h"
#include "base/text.h"

/* Bytes of one encoded picture, and of a video file. */
#define CLEF_MEDIA_BYTE_LIMIT ((size_t)20 << 20)
#define CLEF_VIDEO_BYTE_LIMIT ((size_t)256 << 20)

/* What a text holds, for messages and limits. */
typedef enum clef_media_kind {
    CLEF_MEDIA_IMAGE,
    CLEF_MEDIA_VIDEO,
} clef_media_kind;

typedef enum clef_media_form {
    CLEF_MEDIA_BASE64,   /* bare base64: whatever begins with no scheme */
    CLEF_MEDIA_DATA_URL, /* data:… */
    CLEF_MEDIA_REMOTE,   /* http:// or https:// */
    CLEF_MEDIA_OTHER,    /* another scheme, or nothing at all */
} clef_media_form;

/* Judged by the scheme, in any case, behind ASCII white space. */
clef_media_form clef_media_form_of(clef_text text);

/* The message for a value that is none of these forms; for callers that hold something else than a
 * string. */
clef_status clef_media_refuse_form(clef_media_kind kind, clef_error *error);

/* Decodes base64 or a data: URL; the media type and its parameters are ignored. *bytes is owned by
 * the caller (clef_release). Errors are of kind "media_error": CLEF_BAD_REQUEST, also for a remote
 * address (whoever fetches those asks for the form first); CLEF_TOO_LARGE over byte_limit (0: the
 * limit of the kind). */
clef_status clef_media_text_decode(clef_text text, clef_media_kind kind, size_t byte_limit,
                                   uint8_t **bytes, size_t *length, clef_error *error);

/* The byte limit alone, for bytes that come another way. */
clef_status clef_media_check_bytes(size_t length, clef_media_kind kind, size_t byte_limit,
                                   clef_error *error);

#endif
