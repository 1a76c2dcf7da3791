/* What is served: the list of models, and the description of the routes themselves. Neither waits
 * for anything. */
#ifndef CLEF_SERVER_MODELS_H
#define CLEF_SERVER_MODELS_H

#include "server/call.h"

/* GET /v1/models: a card for each name that is listed, and one for "jev-latest". */
void clef_models_answer(clef_call *call);

/* GET /openapi.json: src/server/openapi.json as it is. */
void clef_models_answer_openapi(clef_call *call);

#endif
