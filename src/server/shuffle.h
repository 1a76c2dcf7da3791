/* Python's random.Random(seed).shuffle, so that the orders of a permuted question are those that
 * other servers of this route use. Pure. */
#ifndef CLEF_SERVER_SHUFFLE_H
#define CLEF_SERVER_SHUFFLE_H

#include "base/text.h"

#define CLEF_TWISTER_WORDS 624

typedef struct clef_shuffler {
    uint32_t words[CLEF_TWISTER_WORDS];
    size_t used; /* words given out since the last twist */
} clef_shuffler;

/* Seeds from a decimal integer of any sign, of at most 4,300 digits. false when it is none. */
bool clef_shuffler_seed(clef_shuffler *shuffler, clef_text integer);

/* Shuffles items [count] in place; later calls go on with the same generator. */
void clef_shuffler_shuffle(clef_shuffler *shuffler, uint32_t *items, size_t count);

#endif
