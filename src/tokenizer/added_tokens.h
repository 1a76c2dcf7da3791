/* The tokens that stand beside the vocabulary and are found in text as they are written: leftmost,
 * the longest where several begin. Their texts live in the vocabulary. */
#ifndef CLEF_TOKENIZER_ADDED_TOKENS_H
#define CLEF_TOKENIZER_ADDED_TOKENS_H

#include "tokenizer/vocabulary.h"

/* The published file has 33. */
#define CLEF_ADDED_TOKEN_LIMIT 4096

/* Zero-initialised is a valid empty set. */
typedef struct clef_added_tokens {
    uint32_t *ids; /* owned; by first byte, then the longest first */
    size_t count;
    uint16_t begins[257]; /* where the tokens of a first byte begin in ids */
    int only_first;       /* the one byte all of them begin with, or -1 */
} clef_added_tokens;

/* Collects the added tokens of a vocabulary. CLEF_BAD_FILE when two have the same text. */
clef_status clef_added_tokens_build(clef_added_tokens *added, const clef_vocabulary *vocabulary,
                                    clef_error *error);
void clef_added_tokens_release(clef_added_tokens *added);

/* The first added token in text at or after `from`: true, with where it begins and its id. */
bool clef_added_tokens_find(const clef_added_tokens *added, const clef_vocabulary *vocabulary,
                            clef_text text, size_t from, size_t *begin, uint32_t *id);

/* The added token that is exactly this text. */
bool clef_added_tokens_find_whole(const clef_added_tokens *added, const clef_vocabulary *vocabulary,
                                  clef_text text, uint32_t *id);

#endif
