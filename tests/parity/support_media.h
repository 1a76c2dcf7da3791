/* What the suites of pictures and videos share: digests as they stand in the fixtures, and numbers
 * of rows. */
#ifndef CLEF_PARITY_SUPPORT_MEDIA_H
#define CLEF_PARITY_SUPPORT_MEDIA_H

#include "support.h"

#include "media/decode.h"

/* A file of fixtures/tiny-random/media/images. Freed with clef_release. */
clef_text load_picture_file(clef_text name);

/* Fails unless the SHA-256 of the bytes is the row's member `key`, in hexadecimal. */
void assert_sha256(const void *bytes, size_t length, const clef_json *row, const char *key);
/* The same of parts that follow each other. */
void assert_digest_text(clef_digest_state *state, const clef_json *row, const char *key);

/* Items of a JSON list of numbers. */
uint64_t number_at(const clef_json *list, size_t index);
/* Member that may be absent. */
bool has_member(const clef_json *object, const char *key);

/* Sum of floats in double. */
double sum_floats(const float *values, size_t count);

#endif
