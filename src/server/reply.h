/* Replies: headers that all of them have, bodies of those that refuse. One place says what a status
 * looks like on the wire. */
#ifndef CLEF_SERVER_REPLY_H
#define CLEF_SERVER_REPLY_H

#include "server/call.h"

/* Sends a reply with a body of the given type; `more` are further header lines, or "". The contents
 * of body are taken over. */
void clef_call_reply(clef_call *call, int status, const char *content_type, const char *more,
                     clef_buffer *body);

/* Refuses with a text, in the shape that the route's clients read. `reason` is static and counted;
 * NULL for what is not counted by reason. */
void clef_call_refuse(clef_call *call, int status, const char *reason, const char *format, ...)
    CLEF_PRINTF(4, 5);

/* Refuses because of an error of the library. */
void clef_call_fail(clef_call *call, const clef_error *error);

/* Appends the header lines of every reply but those about its body. */
void clef_call_append_headers(clef_call *call, clef_buffer *out);

/* The id that the client sent, if it can be repeated, or a fresh one. */
void clef_call_choose_id(clef_call *call);

#endif
