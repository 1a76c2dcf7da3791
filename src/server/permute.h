/* POST /v1/systemone/permute: one choice question asked with its options in several orders. */
#ifndef CLEF_SERVER_PERMUTE_H
#define CLEF_SERVER_PERMUTE_H

#include "server/call.h"

void clef_permute_answer(clef_call *call);

#endif
