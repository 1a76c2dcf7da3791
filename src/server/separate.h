/* POST /v1/systemone/separate: the answers to a decision request, each question asked alone. */
#ifndef CLEF_SERVER_SEPARATE_H
#define CLEF_SERVER_SEPARATE_H

#include "server/call.h"

void clef_separate_answer(clef_call *call);

#endif
