/* Filling a clef_error in one call. Callers write `return clef_fail(error, CLEF_…, "…", …)`. */
#ifndef CLEF_BASE_ERROR_H
#define CLEF_BASE_ERROR_H

#include <clef/status.h>

#if defined(__GNUC__)
#define CLEF_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CLEF_PRINTF(text, first)
#endif

/* Sets status and message (printf style), clears place, kind and offset. error may be NULL.
 * Returns status, so that it can end a function. */
clef_status clef_fail(clef_error *error, clef_status status, const char *format, ...)
    CLEF_PRINTF(3, 4);

/* CLEF_OUT_OF_MEMORY for `bytes` bytes of `what` ("the token list"). */
clef_status clef_fail_memory(clef_error *error, size_t bytes, const char *what);

/* Puts "prefix: " in front of the message of an error already filled. */
void clef_error_prefix(clef_error *error, const char *prefix);

/* Stands between the elements of a place. */
#define CLEF_PLACE_SEPARATOR "\x1f"

/* Names what an error already filled is about (see clef_error.place); keeps an earlier name. */
void clef_error_set_place(clef_error *error, const char *format, ...) CLEF_PRINTF(2, 3);

/* Marks an error already filled with a request kind and byte offset (see clef_error.kind). */
void clef_error_set_kind(clef_error *error, const char *kind, uint64_t offset);

#endif
