/* Is it alive, is it ready, how is it: the routes for those who watch the server. */
#ifndef CLEF_SERVER_HEALTH_H
#define CLEF_SERVER_HEALTH_H

#include "server/call.h"

void clef_health_answer_live(clef_call *call);
void clef_health_answer_ready(clef_call *call);
void clef_health_answer_metrics(clef_call *call);

#endif
