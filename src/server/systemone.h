/* POST /v1/systemone: a decision request and its answer. */
#ifndef CLEF_SERVER_SYSTEMONE_H
#define CLEF_SERVER_SYSTEMONE_H

#include "server/call.h"

void clef_systemone_answer(clef_call *call);

/* Adds to the refusal of a body where it belongs, when that is another route. */
void clef_systemone_add_hint(const clef_buffer *body, clef_error *error);

#endif
