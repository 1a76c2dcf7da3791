/* Pieces that one call has met before. A slot remembers where a piece stands in the text and where
 * its ids stand in the list, so nothing is copied and any length fits. Only a help: a call without
 * memory for it, or with colliding pieces, gives the same ids more slowly. */
#ifndef CLEF_TOKENIZER_PIECE_CACHE_H
#define CLEF_TOKENIZER_PIECE_CACHE_H

#include "base/text.h"

typedef struct clef_piece_slot {
    const char *bytes; /* borrowed from the text, or from a normalised part of it */
    uint32_t length;
    uint32_t part; /* 0: never filled; CLEF_PIECE_LASTING; or the part it stands in */
    uint32_t first_id;
    uint32_t id_count;
} clef_piece_slot;

/* The piece stands in the caller's text, which outlives all parts. */
#define CLEF_PIECE_LASTING 1

/* Zero-initialised is a valid cache that holds nothing. */
typedef struct clef_piece_cache {
    clef_piece_slot *slots; /* owned, NULL: no cache */
    size_t mask;
    uint32_t part;    /* number of the part at work, above CLEF_PIECE_LASTING */
    uint32_t filling; /* what slots filled now say: that number, or CLEF_PIECE_LASTING */
} clef_piece_cache;

/* Makes a cache for a text of this length; short texts get none. */
void clef_piece_cache_open(clef_piece_cache *cache, size_t text_bytes);
void clef_piece_cache_close(clef_piece_cache *cache);

/* A new part begins. is_lasting: its bytes are those of the caller's text; otherwise they are gone
 * when the next part begins, and so are the pieces found in them. */
void clef_piece_cache_begin_part(clef_piece_cache *cache, bool is_lasting);

/* The slot of a piece, or NULL without a cache. */
clef_piece_slot *clef_piece_cache_find(const clef_piece_cache *cache, clef_text piece);

static inline bool clef_piece_slot_holds(const clef_piece_slot *slot, const clef_piece_cache *cache,
                                         clef_text piece) {
    return (slot->part == CLEF_PIECE_LASTING || slot->part == cache->part) &&
           slot->length == piece.length && memcmp(slot->bytes, piece.bytes, piece.length) == 0;
}

#endif
