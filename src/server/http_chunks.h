/* A chunked body (RFC 9112, section 7.1), decoded as it arrives. Extensions and trailers are
 * checked for form and forgotten. Pure: bytes in, bytes out, no socket. */
#ifndef CLEF_SERVER_HTTP_CHUNKS_H
#define CLEF_SERVER_HTTP_CHUNKS_H

#include "base/buffer.h"

typedef enum clef_chunk_result {
    CLEF_CHUNKS_MORE,      /* all bytes were used, the body goes on */
    CLEF_CHUNKS_END,       /* the body is complete */
    CLEF_CHUNKS_MALFORMED, /* what the body is cannot be said */
    CLEF_CHUNKS_TOO_LARGE, /* the body passes its limit */
} clef_chunk_result;

/* Zero-initialised stands before the first byte. */
typedef struct clef_http_chunks {
    int state;         /* private */
    uint64_t left;     /* bytes of the current chunk that have not come */
    uint64_t total;    /* bytes of all chunks so far, announced ones too */
    size_t digits;     /* of the size being read */
    size_t line_bytes; /* of the extension, or of all trailers */
} clef_http_chunks;

/* Decodes bytes; data is appended to `out`, or dropped when that is NULL. *used receives how many
 * bytes belong to the body. */
clef_chunk_result clef_http_chunks_feed(clef_http_chunks *chunks, clef_text bytes, uint64_t limit,
                                        clef_buffer *out, size_t *used);

#endif
