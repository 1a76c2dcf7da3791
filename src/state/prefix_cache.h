/* The payload of the prefix cache: kept states by the tokens they stand for, within a budget.
 *
 * An entry is a checkpoint: its fixed part is its own, its pages belong to the tree, where entries
 * with a common beginning share them. Bytes are what tree and entries hold, each page once. What is
 * worth keeping is decided in prefix_policy.h. One thread at a time. */
#ifndef CLEF_STATE_PREFIX_CACHE_H
#define CLEF_STATE_PREFIX_CACHE_H

#include "state/prefix_policy.h"
#include "state/prefix_tree.h"
#include "state/sequence.h"

typedef struct clef_prefix_entry {
    clef_prefix_node *node; /* one reference; its depth says the position */
    float *fixed;           /* owned; [layout->fixed_floats] */
    uint64_t hits;
    uint64_t used_at; /* on the cache's clock */
    bool is_spare;
    bool is_saved;  /* on disk, or not wanted there */
    bool is_pinned; /* somebody reads it: it may not be dropped */
} clef_prefix_entry;

typedef struct clef_prefix_cache {
    const clef_state_layout *layout; /* borrowed */
    clef_prefix_tree tree;
    clef_prefix_entry **entries; /* owned; [count], in no order */
    size_t count, capacity;
    float **pages; /* owned; room for the pages of the longest entry */
    size_t page_capacity;
    uint64_t byte_limit;
    size_t entry_limit; /* SIZE_MAX: none */
    uint64_t clock;     /* records that asked */
    uint64_t hits, misses, evictions;
} clef_prefix_cache;

/* An empty cache whose pages come from `pool`; entry_limit 0: no limit. CLEF_OUT_OF_MEMORY. */
clef_status clef_prefix_cache_create(const clef_state_layout *layout, clef_page_pool *pool,
                                     uint64_t byte_limit, size_t entry_limit, uint64_t seed,
                                     clef_prefix_cache *cache, clef_error *error);
/* A zeroed one is fine. Nothing may be pinned. */
void clef_prefix_cache_release(clef_prefix_cache *cache);

/* Bytes held now. */
uint64_t clef_prefix_cache_bytes(const clef_prefix_cache *cache);

/* Whether a state at this position could be kept at all. */
bool clef_prefix_cache_fits(const clef_prefix_cache *cache, size_t position);

/* Position of the longest kept state along the key within `limit` tokens, 0 for none. *known (may
 * be NULL) receives how far the key's tokens are in the tree, kept states or not. */
size_t clef_prefix_cache_reach(const clef_prefix_cache *cache, const clef_prefix_key *key,
                               size_t limit, size_t *known);

/* Puts an empty sequence at that state, if there is one, and counts a hit, else a miss.
 * CLEF_OUT_OF_MEMORY, the sequence then empty. */
clef_status clef_prefix_cache_resume(clef_prefix_cache *cache, const clef_prefix_key *key,
                                     size_t limit, clef_sequence *sequence, clef_error *error);

/* Room for the fixed part of a state, all zero; NULL when memory is short. */
float *clef_prefix_cache_take_fixed(const clef_prefix_cache *cache);

/* Keeps the state at `position`: takes over `fixed` in any case, shares pages. Drops others of less
 * value to make room. Not kept: what is there already, has numbers that are not finite, does not
 * fit, is worth less than what would have to go, or finds no memory. Returns the entry that is
 * there afterwards, or NULL. */
clef_prefix_entry *clef_prefix_cache_put(clef_prefix_cache *cache, const clef_prefix_key *key,
                                         clef_prefix_point point, float *fixed,
                                         float *const *pages);

/* Drops the entry of the lowest value; false when there is none that may go. */
bool clef_prefix_cache_evict(clef_prefix_cache *cache);

/* The most valuable entry that is not on disk; NULL for none. */
clef_prefix_entry *clef_prefix_cache_unsaved(const clef_prefix_cache *cache);

#endif
