/* Feature rows of pictures and videos, kept by what the tower saw: a later record that shows the
 * same picture under another text skips the tower.
 *
 * A key names pixels, sizes and order of frames. What else decides the rows (weights, numbers,
 * level of kernels) is one and the same in a session, and a cache belongs to one. A row saves the
 * same work whichever picture it is of, so the picture that nobody has used for the longest time
 * goes first. One thread at a time. */
#ifndef CLEF_STATE_FEATURE_CACHE_H
#define CLEF_STATE_FEATURE_CACHE_H

#include "base/digest.h"

typedef struct clef_feature_entry {
    clef_digest key;
    float *rows; /* owned; [floats] */
    size_t floats;
    uint64_t used_at; /* on the cache's clock */
} clef_feature_entry;

/* Zero-initialised is one that keeps nothing; set byte_limit. */
typedef struct clef_feature_cache {
    clef_feature_entry *entries; /* owned; [count], in no order */
    size_t count, capacity;
    uint64_t bytes, byte_limit;
    uint64_t clock;
    uint64_t hits, misses, evictions;
} clef_feature_cache;

void clef_feature_cache_release(clef_feature_cache *cache);

/* Copies the rows of a picture to `rows`, [floats], and counts a hit; else counts a miss, leaves
 * them alone and returns false. */
bool clef_feature_cache_take(clef_feature_cache *cache, const clef_digest *key, float *rows,
                             size_t floats);

/* Keeps a copy of rows whose key was not there. Not kept: what is larger than the budget, has
 * numbers that are not finite, or finds no memory. */
void clef_feature_cache_put(clef_feature_cache *cache, const clef_digest *key, const float *rows,
                            size_t floats);

/* Drops the picture that was used least recently; false when there is none. */
bool clef_feature_cache_evict(clef_feature_cache *cache);

#endif
