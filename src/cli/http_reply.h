/* The head of a reply: status and the fields that say where its body ends. Pure: bytes in, no
 * socket. Lenient where a reader of replies may be (lines may end in LF alone). */
#ifndef CLEF_CLI_HTTP_REPLY_H
#define CLEF_CLI_HTTP_REPLY_H

#include "base/text.h"

typedef struct clef_http_reply_head {
    int status;              /* 100 to 599 */
    uint64_t content_length; /* where has_length */
    bool has_length;
    bool is_chunked;  /* beats a length */
    bool keeps_alive; /* the server will read another request on this connection */
} clef_http_reply_head;

/* Length of the head with its empty line, or 0 when its end has not come. */
size_t clef_http_reply_head_find(clef_text bytes);

/* Parses a whole head. Returns NULL, or why it is none (static). */
const char *clef_http_reply_head_parse(clef_text bytes, clef_http_reply_head *head);

/* Value of the first field of that name, any case, without blanks around it; bytes is NULL when
 * there is none. */
clef_text clef_http_reply_field(clef_text head, const char *name);

#endif
