/* Pieces that one call has met before. A slot remembers where a piece stands in the text and where
 * its ids stand in the list, so nothing is copied and any length fits. Only a help: a call without
 * memory for it, or with colliding pieces, gives the same ids more slowly. */
#ifndef CLEF_TOKENIZER_PIECE_CACHE_H
#define CLEF_TOKENIZER_PIECE_CACHE_H

#include "base/text.h"

typedef struct clef_piece_slot {
    const char *bytes; /* borrowed from the part of text at work */
    uint32_t length;
    uint32_t part; /* 0: never filled */
    uint32_t first_id;
    uint32_t id_count;
} clef_piece_slot;

/* Zero-initialised is a valid cache that holds nothing. */
typedef struct clef_piece_cache {
    clef_piece_slot *slots; /* owned, NULL: no cache */
    size_t mask;
    uint32_t part; /* number of the part of text at work */
} clef_piece_cache;

/* Makes a cache for a text of this length; short texts get none. */
void clef_piece_cache_open(clef_piece_cache *cache, size_t text_bytes);
void clef_piece_cache_close(clef_piece_cache *cache);

/* Forgets all pieces, because the bytes they stand in are about to change. */
void clef_piece_cache_begin_part(clef_piece_cache *cache);

/* The slot of a piece, or NULL without a cache. */
clef_piece_slot *clef_piece_cache_find(const clef_piece_cache *cache, clef_text piece);

static inline bool clef_piece_slot_holds(const clef_piece_slot *slot, const clef_piece_cache *cache,
                                         clef_text piece) {
    return slot->part == cache->part && slot->length == piece.length &&
           memcmp(slot->bytes, piece.bytes, piece.length) == 0;
}

#endif
