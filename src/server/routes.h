/* What the server answers: the table of routes, and the order of checks before a body is read. */
#ifndef CLEF_SERVER_ROUTES_H
#define CLEF_SERVER_ROUTES_H

#include "server/call.h"

typedef struct clef_route {
    const char *path;
    const char *name;    /* in metrics; aliases share it */
    const char *methods; /* for "allow": "POST, OPTIONS" */
    bool is_post;
    bool needs_key;
    bool is_compute;    /* needs the engine: refused while it is not ready or has no room */
    bool is_generation; /* shape of errors */
    void (*answer)(clef_call *call); /* the request is complete; a reply must follow */
} clef_route;

/* Checks the head of a request in the order of http-api, section 3.1; replies when one fails, or
 * when nothing else is needed. */
void clef_routes_check(clef_call *call);

/* The route of the call answers. */
void clef_routes_answer(clef_call *call);

/* "systemone", or "unknown". */
const char *clef_route_name(const clef_call *call);

#endif
