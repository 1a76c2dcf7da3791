/* Base64 as people send it. */
#ifndef CLEF_BASE_BASE64_H
#define CLEF_BASE_BASE64_H

#include "base/buffer.h"
#include "base/error.h"

/* Decodes the standard or the URL-safe alphabet (not both in one text). ASCII white space is
 * ignored anywhere; padding may be left out, and where it stands it must be complete and last.
 * *bytes is owned by the caller (clef_release) and never NULL on success; empty text gives none.
 * CLEF_BAD_REQUEST with what is wrong and at which byte; CLEF_OUT_OF_MEMORY. */
clef_status clef_base64_decode(clef_text text, uint8_t **bytes, size_t *length, clef_error *error);

/* Appends bytes in the standard alphabet, padded. */
void clef_base64_append(clef_buffer *out, const void *bytes, size_t length);

#endif
