/* The nearest of several words to one that is not known. */
#ifndef CLEF_CLI_SUGGESTION_H
#define CLEF_CLI_SUGGESTION_H

#include "base/text.h"

typedef struct clef_suggestion {
    clef_text wanted;  /* borrowed */
    const char *word;  /* the nearest offer so far, borrowed */
    size_t length;     /* 0: none is near enough */
    unsigned distance; /* an offer must be nearer than this */
} clef_suggestion;

clef_suggestion clef_suggestion_begin(clef_text wanted);

/* Considers one known word; the first of equally near ones stays. */
void clef_suggestion_offer(clef_suggestion *suggestion, clef_text word);

#endif
