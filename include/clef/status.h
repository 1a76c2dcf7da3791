/* Outcomes: one list of status codes, and the error that explains one.
 *
 * Every fallible function of the library returns a clef_status and takes a clef_error, which may
 * be NULL, as its last parameter. Nothing in the library prints, exits or aborts. */
#ifndef CLEF_STATUS_H
#define CLEF_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CLEF_API
#else
#define CLEF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, exit status of the command line, HTTP status of decision routes) */
#define CLEF_STATUS_LIST(X)                                                                        \
    X(OK, 0, 0, 200)                                                                               \
    X(INTERNAL, -1, 1, 500)       /* a fault of ours, also a result that is not finite */          \
    X(USAGE, -2, 2, 400)          /* a command line or an option struct nobody can honour */       \
    X(BAD_REQUEST, -3, 3, 422)    /* the request is not valid */                                   \
    X(BAD_TEXT, -4, 3, 400)       /* the request is not UTF-8 */                                   \
    X(OVER_LIMIT, -5, 4, 422)     /* a count or token limit is passed */                           \
    X(TOO_LARGE, -6, 4, 413)      /* bytes or pixels of one item */                                \
    X(BAD_FILE, -7, 5, 500)       /* something is wrong in the model directory */                  \
    X(VERIFY_FAILED, -8, 6, 500)  /* a signature or a digest does not match */                     \
    X(NETWORK, -9, 7, 422)        /* a remote host failed */                                       \
    X(OUT_OF_MEMORY, -10, 8, 503) /* an allocation failed or a memory budget is spent */           \
    X(BUSY, -11, 8, 503)          /* a queue is full or the process is stopping */                 \
    X(CANCELLED, -12, 9, 499)     /* the caller asked to stop */

typedef enum clef_status {
#define CLEF_STATUS_ENUM(name, value, exit_status, http_status) CLEF_##name = value,
    CLEF_STATUS_LIST(CLEF_STATUS_ENUM)
#undef CLEF_STATUS_ENUM
} clef_status;

#define CLEF_ERROR_MESSAGE_BYTES 8192
#define CLEF_ERROR_PLACE_BYTES   256

/* Why something failed. A plain struct of the caller; zero-initialise it once. Filled only when a
 * function returns a status other than CLEF_OK. All texts end in NUL and are cut at their bound. */
typedef struct clef_error {
    clef_status status;
    /* For people: says what is wrong, with the value found and the limit or the value expected. */
    char message[CLEF_ERROR_MESSAGE_BYTES];
    /* What it is about: a file, a tensor, an option, or the path in the request body with elements
     * separated by U+001F ("questions\x1furgency\x1fcriteria"). Empty when it is about nothing. */
    char place[CLEF_ERROR_PLACE_BYTES];
    /* A machine-readable kind: "json_invalid", "value_error", "over_limit", "media_error" for
     * requests, "" otherwise. Points to static storage. */
    const char *kind;
    /* Byte offset in the text that was read, for kind "json_invalid". */
    uint64_t offset;
} clef_error;

/* Lower-case name of a status ("over_limit"); "unknown" for a value outside the list. */
CLEF_API const char *clef_status_name(clef_status status);
/* Exit status of the command line for this status (0 to 9). */
CLEF_API int clef_status_exit(clef_status status);
/* HTTP status of the decision routes for this status. */
CLEF_API int clef_status_http(clef_status status);

#ifdef __cplusplus
}
#endif
#endif
