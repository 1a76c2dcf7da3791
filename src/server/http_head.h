/* The head of a request: request line and fields, read strictly by RFC 9112. Pure functions over
 * bytes; knows no socket. What two readers could understand differently (lone CR or LF, folded
 * lines, blanks around names, two lengths, a length beside chunks) is refused, not repaired. */
#ifndef CLEF_SERVER_HTTP_HEAD_H
#define CLEF_SERVER_HTTP_HEAD_H

#include "base/text.h"
#include "server/limits.h"

typedef struct clef_http_field {
    clef_text name; /* as sent, any letter case */
    clef_text value;
} clef_http_field;

/* Texts are slices of the bytes that were parsed. Zero-initialised is an empty head. */
typedef struct clef_http_head {
    clef_text method;
    clef_text path;  /* of the target, without the query */
    clef_text query; /* behind '?', or empty */
    clef_http_field fields[CLEF_HEAD_FIELD_LIMIT];
    size_t field_count;
    uint64_t content_length; /* UINT64_MAX when it does not fit */
    bool has_content_length;
    bool is_chunked;
    bool keeps_alive; /* the client would send another request on this connection */
    bool expects_continue;
    bool has_other_expectation;
    bool is_version_1_0;
} clef_http_head;

/* Why a request is refused; reason is static text. */
typedef struct clef_http_refusal {
    int status; /* 0: it is not */
    const char *reason;
} clef_http_refusal;

/* Looks for the end of a head in bytes that may still grow. `*scanned` (0 at first) remembers how
 * far it looked, so that a head that drips in is read once. Returns the length of the head with its
 * empty line, or 0 when it has not come yet or must be refused. */
size_t clef_http_head_find(const char *bytes, size_t length, size_t *scanned,
                           clef_http_refusal *refusal);

/* Parses a whole head that clef_http_head_find measured; false when it must be refused. */
bool clef_http_head_parse(clef_text bytes, clef_http_head *head, clef_http_refusal *refusal);

/* Value of the first field of that name, any case; bytes is NULL when there is none. */
clef_text clef_http_head_field(const clef_http_head *head, const char *name);

/* Equal but for the case of ASCII letters. */
bool clef_http_token_equals(clef_text text, const char *token);

#endif
