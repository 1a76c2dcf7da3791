/* Answers without a model: for testing clients, servers and scripts. */
#ifndef CLEF_ENGINE_MADE_ANSWERS_H
#define CLEF_ENGINE_MADE_ANSWERS_H

#include "engine/handles.h"

/* Fills logits [option_total] in [-2, 2), a fixed function of the record's tokens and spans: equal
 * records get equal logits, on every machine. */
void clef_made_answers_fill(const clef_record *record, float *logits);

#endif
