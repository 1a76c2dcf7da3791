/* A growable byte buffer with a hard cap. Appending never fails loudly: the first failure sticks,
 * later appends do nothing, and whoever finishes the text asks once whether it is whole. */
#ifndef CLEF_BASE_BUFFER_H
#define CLEF_BASE_BUFFER_H

#include "base/error.h"
#include "base/text.h"

/* Zero-initialised is a valid empty buffer without a cap. */
typedef struct clef_buffer {
    char *bytes; /* owned; NUL after the end whenever length > 0 */
    size_t length;
    size_t capacity;
    size_t cap_bytes; /* 0: no cap */
    bool has_failed;  /* memory was short or the cap passed; contents are a prefix */
} clef_buffer;

void clef_buffer_append(clef_buffer *buffer, const void *bytes, size_t length);
void clef_buffer_append_text(clef_buffer *buffer, clef_text text);
void clef_buffer_append_string(clef_buffer *buffer, const char *string);
void clef_buffer_append_byte(clef_buffer *buffer, char byte);
void clef_buffer_append_format(clef_buffer *buffer, const char *format, ...) CLEF_PRINTF(2, 3);

/* Makes room for `length` more bytes; false (and sticks) when it cannot. */
bool clef_buffer_reserve(clef_buffer *buffer, size_t length);

/* CLEF_OK, or CLEF_OUT_OF_MEMORY when an append failed; `what` names the text in the message. */
clef_status clef_buffer_check(const clef_buffer *buffer, const char *what, clef_error *error);

/* Borrowed until the next append or release. */
clef_text clef_buffer_text(const clef_buffer *buffer);

/* Hands the bytes over (owned by the caller, clef_release) and leaves the buffer empty. NULL when
 * an append failed or nothing was appended. */
char *clef_buffer_take(clef_buffer *buffer, size_t *length);

void clef_buffer_clear(clef_buffer *buffer);
void clef_buffer_release(clef_buffer *buffer);

#endif
