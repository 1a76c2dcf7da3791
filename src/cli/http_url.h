/* The address of a server as people write it. Plain HTTP alone: there is no encryption here. */
#ifndef CLEF_CLI_HTTP_URL_H
#define CLEF_CLI_HTTP_URL_H

#include "base/error.h"

typedef struct clef_http_url {
    char host[256];      /* without the brackets of an IPv6 address */
    char port[6];        /* decimal digits */
    char authority[280]; /* host and port as the Host field has them */
    char path[512]; /* in front of every path of the server; no / at its end, "" for the root */
} clef_http_url;

/* Reads "http://HOST[:PORT][/PATH]"; port 80 when none is given. `what` names the option.
 * CLEF_USAGE for everything else, https:// and user names with a message of their own. */
clef_status clef_http_url_parse(const char *what, const char *text, clef_http_url *url,
                                clef_error *error);

#endif
