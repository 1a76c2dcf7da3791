/* Pictures of other hosts: there when the build found libcurl. Whatever goes wrong, the message is
 * the same: it never tells what answered. */
#ifndef CLEF_MEDIA_FETCH_H
#define CLEF_MEDIA_FETCH_H

#include "base/buffer.h"
#include "base/stop.h"

/* For one address, redirects and names included. */
#define CLEF_FETCH_SECONDS        10
#define CLEF_FETCH_REDIRECT_LIMIT 3
/* Of all addresses of a request. */
#define CLEF_FETCH_COUNT_LIMIT 32
#define CLEF_FETCH_BYTE_LIMIT  ((size_t)64 << 20)

/* Where pictures may come from. All-zero: the public internet, ports 80 and 443. */
typedef struct clef_fetch_rules {
    const char *const *hosts; /* borrowed, [host_count]: these may lie anywhere */
    size_t host_count;
    const uint16_t *ports; /* borrowed, [port_count]; none: 80 and 443 */
    size_t port_count;
    const char *certificates; /* borrowed; PEM file of the authorities that count; NULL: the
                                 system's */
} clef_fetch_rules;

/* Whether this build fetches anything. */
bool clef_fetch_is_built(void);

/* Fetches http:// or https://, at most byte_limit bytes, to the end of an empty buffer. Every
 * address is checked where the connection to it begins, also behind redirects; https never leads to
 * http. No proxies, cookies, passwords or compression. CLEF_NETWORK, kind "media_error", for
 * everything that does not work out; CLEF_BAD_REQUEST when this build or this machine has no
 * libcurl; CLEF_CANCELLED; CLEF_OUT_OF_MEMORY. */
clef_status clef_fetch(clef_text url, const clef_fetch_rules *rules, size_t byte_limit,
                       const clef_stop *stop, clef_buffer *bytes, clef_error *error);

/* CLEF_NETWORK with the one message. */
clef_status clef_fetch_fail(clef_error *error);

#endif
