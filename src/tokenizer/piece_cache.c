/* Direct mapped: a newer piece replaces an older one of the same slot. See piece_cache.h. */
#include "tokenizer/piece_cache.h"

#include "base/memory.h"

/* Below this a cache costs more than it saves. */
#define SHORTEST_TEXT 512
/* A slot for every so many bytes of text: about one for two pieces. */
#define BYTES_A_SLOT   8
#define LARGEST_CACHE  16384
#define SMALLEST_CACHE 64

void clef_piece_cache_open(clef_piece_cache *cache, size_t text_bytes) {
    *cache = (clef_piece_cache){.part = CLEF_PIECE_LASTING};
    if (text_bytes < SHORTEST_TEXT) {
        return;
    }
    size_t slot_count = SMALLEST_CACHE;
    while (slot_count < LARGEST_CACHE && slot_count < text_bytes / BYTES_A_SLOT) {
        slot_count *= 2;
    }
    cache->slots = clef_allocate(slot_count, sizeof *cache->slots);
    cache->mask = slot_count - 1;
}

void clef_piece_cache_close(clef_piece_cache *cache) {
    clef_release(cache->slots);
    *cache = (clef_piece_cache){0};
}

void clef_piece_cache_begin_part(clef_piece_cache *cache, bool is_lasting) {
    cache->part++;
    if (cache->part <= CLEF_PIECE_LASTING) {
        /* The number has gone round; slots of old must not look current. */
        cache->part = CLEF_PIECE_LASTING + 1;
        if (cache->slots != NULL) {
            memset(cache->slots, 0, (cache->mask + 1) * sizeof *cache->slots);
        }
    }
    cache->filling = is_lasting ? CLEF_PIECE_LASTING : cache->part;
}

/* Both ends of the piece and its length. Pieces that differ only in between share a slot, which is
 * no harm. */
static uint64_t hash_ends(clef_text piece) {
    uint64_t head = 0;
    uint64_t tail = 0;
    if (piece.length >= 8) {
        memcpy(&head, piece.bytes, 8);
        memcpy(&tail, piece.bytes + piece.length - 8, 8);
    } else if (piece.length >= 4) {
        uint32_t first;
        uint32_t last;
        memcpy(&first, piece.bytes, 4);
        memcpy(&last, piece.bytes + piece.length - 4, 4);
        head = (uint64_t)first << 32 | last;
    } else {
        const unsigned char *bytes = (const unsigned char *)piece.bytes;
        head = (uint64_t)bytes[0] << 16 | (uint64_t)bytes[piece.length / 2] << 8 |
               bytes[piece.length - 1];
    }
    uint64_t hash = (head ^ tail * UINT64_C(0x9E3779B97F4A7C15)) + piece.length;
    hash *= UINT64_C(0xFF51AFD7ED558CCD);
    return hash ^ hash >> 32;
}

clef_piece_slot *clef_piece_cache_find(const clef_piece_cache *cache, clef_text piece) {
    return cache->slots == NULL ? NULL : &cache->slots[hash_ends(piece) & cache->mask];
}
