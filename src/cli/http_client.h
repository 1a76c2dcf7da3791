/* A client of HTTP/1.1 over one connection at a time, which is kept between requests. Plain
 * sockets; each call has a deadline as a whole. A client belongs to one thread. */
#ifndef CLEF_CLI_HTTP_CLIENT_H
#define CLEF_CLI_HTTP_CLIENT_H

#include "base/buffer.h"
#include "cli/http_reply.h"
#include "cli/http_url.h"

#include <netdb.h>

/* Where clients connect to; shared by the clients of several threads. */
typedef struct clef_http_server {
    clef_http_url url;
    struct addrinfo *addresses; /* owned */
    const char *api_key;        /* borrowed; NULL: none is sent */
    uint32_t timeout_seconds;   /* of one request, with its reply */
} clef_http_server;

/* Looks the host's name up. CLEF_NETWORK when there is no such host. The other fields are set
 * before. */
clef_status clef_http_server_find(clef_http_server *server, clef_error *error);
void clef_http_server_release(clef_http_server *server);

/* Zero-initialised but for `server` and `stream` (-1) is a client that is not connected. */
typedef struct clef_http_client {
    const clef_http_server *server; /* borrowed */
    int stream;                     /* -1: none */
    clef_buffer outgoing;
    clef_buffer incoming; /* head and body as they came, and perhaps more */
    clef_buffer head;     /* of the last reply */
    clef_buffer body;     /* of the last reply, decoded */
    int status;           /* of the last reply */
} clef_http_client;

void clef_http_client_close(clef_http_client *client);

/* Sends a request and waits for the whole reply, whatever its status; `path` is appended to that of
 * the server's URL, and without `body` (bytes NULL) the method is GET, else POST with JSON. A kept
 * connection that the server has closed meanwhile is opened anew. CLEF_NETWORK saying what went
 * wrong; CLEF_OUT_OF_MEMORY. */
clef_status clef_http_client_ask(clef_http_client *client, const char *path, clef_text body,
                                 clef_error *error);

#endif
