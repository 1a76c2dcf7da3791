/* The merge table, and byte-pair encoding of one piece: start from single bytes, merge the adjacent
 * pair that stands first in the list of merges (the leftmost of equals) until none is listed. Knows
 * ids alone. */
#ifndef CLEF_TOKENIZER_BYTE_PAIRS_H
#define CLEF_TOKENIZER_BYTE_PAIRS_H

#include "tokenizer/tokenizer.h"

typedef struct clef_merge {
    uint32_t left;
    uint32_t right;
    uint32_t merged;
} clef_merge;

/* Zero-initialised is a valid table without merges. */
typedef struct clef_byte_pairs {
    struct clef_pair_slot *slots; /* owned */
    unsigned shift;               /* 64 - log2(number of slots) */
    uint32_t byte_ids[256];
} clef_byte_pairs;

/* Memory that calls share. Zero-initialised is valid; one call at a time. */
typedef struct clef_merge_scratch {
    void *block; /* owned */
    size_t bytes;
} clef_merge_scratch;

/* Builds the table; the rank of a merge is its place. CLEF_BAD_FILE when a pair is listed twice. */
clef_status clef_byte_pairs_build(clef_byte_pairs *pairs, const clef_merge *merges, size_t count,
                                  clef_error *error);
void clef_byte_pairs_release(clef_byte_pairs *pairs);

/* Bytes that the table holds. */
size_t clef_byte_pairs_memory(const clef_byte_pairs *pairs);

/* Appends the ids of a piece that is not empty. n log n in its length. CLEF_OUT_OF_MEMORY. */
clef_status clef_byte_pairs_encode(const clef_byte_pairs *pairs, clef_merge_scratch *scratch,
                                   clef_text piece, clef_token_list *list, clef_error *error);
void clef_merge_scratch_release(clef_merge_scratch *scratch);

#endif
