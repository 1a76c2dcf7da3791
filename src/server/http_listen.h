/* Sockets that listen: from a host and a port as people write them to bound addresses. Knows no
 * HTTP. */
#ifndef CLEF_SERVER_HTTP_LISTEN_H
#define CLEF_SERVER_HTTP_LISTEN_H

#include "base/buffer.h"
#include "server/limits.h"

/* Zero count is a valid closed set. */
typedef struct clef_http_listeners {
    int descriptors[CLEF_LISTENER_LIMIT];
    size_t count;
    clef_buffer addresses; /* "http://127.0.0.1:8008", several separated by ", " */
} clef_http_listeners;

/* Binds every address of `host` (a name, an IPv4 or IPv6 address, with or without brackets or a
 * scope) that this machine has; port 0 takes a free one. Nothing is accepted before
 * clef_http_listeners_open. CLEF_BUSY naming a port that is in use, CLEF_USAGE for a host that is
 * not known here or a port that may not be used. */
clef_status clef_http_listeners_bind(const char *host, uint16_t port,
                                     clef_http_listeners *listeners, clef_error *error);

/* From now on connections are queued by the system. CLEF_BUSY when another process was faster. */
clef_status clef_http_listeners_open(clef_http_listeners *listeners, clef_error *error);

void clef_http_listeners_close(clef_http_listeners *listeners);

#endif
