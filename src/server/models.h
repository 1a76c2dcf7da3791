/* What is served: the list of models, and the description of the routes themselves. Neither waits
 * for anything. */
#ifndef CLEF_SERVER_MODELS_H
#define CLEF_SERVER_MODELS_H

#include "server/call.h"

/* GET /v1/models: a card for each name that is listed, and one for "jev-latest". */
void clef_models_answer(clef_call *call);

/* GET /openapi.json: src/server/openapi.json as it is. */
void clef_models_answer_openapi(clef_call *call);

/* Refuses a call whose record names a model that is not served, with 404, when names are checked;
 * true when it did. */
bool clef_models_refuse(clef_call *call);

#endif
