/* Entries in an array, each on a node of the tree. Values change with every record, so the lowest
 * is looked for when room is needed; entries are few beside what one of them costs to compute. */
#include "state/prefix_cache.h"

#include "base/memory.h"
#include "tensor/finite.h"

clef_status clef_prefix_cache_create(const clef_state_layout *layout, clef_page_pool *pool,
                                     uint64_t byte_limit, size_t entry_limit, uint64_t seed,
                                     clef_prefix_cache *cache, clef_error *error) {
    *cache = (clef_prefix_cache){.layout = layout,
                                 .byte_limit = byte_limit,
                                 .entry_limit = entry_limit == 0 ? SIZE_MAX : entry_limit};
    return clef_prefix_tree_create(pool, seed, &cache->tree, error);
}

static uint64_t page_bytes(const clef_prefix_cache *cache) {
    return cache->layout->page_floats * sizeof(float) + clef_prefix_node_bytes();
}

static uint64_t entry_bytes(const clef_prefix_cache *cache) {
    return cache->layout->fixed_floats * sizeof(float) + sizeof(clef_prefix_entry);
}

uint64_t clef_prefix_cache_bytes(const clef_prefix_cache *cache) {
    return cache->tree.node_count * page_bytes(cache) + cache->count * entry_bytes(cache);
}

bool clef_prefix_cache_fits(const clef_prefix_cache *cache, size_t position) {
    return position / CLEF_GRID * page_bytes(cache) + entry_bytes(cache) <= cache->byte_limit;
}

/* ---- finding ---- */

/* The deepest entry at or above a node. */
static clef_prefix_entry *entry_above(const clef_prefix_node *node) {
    while (node != NULL && node->user == NULL) {
        node = node->parent;
    }
    return node == NULL ? NULL : node->user;
}

static size_t entry_position(const clef_prefix_entry *entry) {
    return entry == NULL ? 0 : entry->node->depth * CLEF_GRID;
}

size_t clef_prefix_cache_reach(const clef_prefix_cache *cache, const clef_prefix_key *key,
                               size_t limit, size_t *known) {
    const clef_prefix_node *node = clef_prefix_tree_find(&cache->tree, key, limit);
    if (known != NULL) {
        *known = node == NULL ? 0 : node->depth * CLEF_GRID;
    }
    return entry_position(entry_above(node));
}

clef_status clef_prefix_cache_resume(clef_prefix_cache *cache, const clef_prefix_key *key,
                                     size_t limit, clef_sequence *sequence, clef_error *error) {
    clef_prefix_entry *entry = entry_above(clef_prefix_tree_find(&cache->tree, key, limit));
    cache->clock++;
    if (entry == NULL) {
        cache->misses++;
        return CLEF_OK;
    }
    clef_prefix_node_pages(entry->node, cache->pages);
    clef_checkpoint view = {cache->tree.pool, entry->fixed, cache->pages, entry_position(entry)};
    clef_status status = clef_sequence_restore(sequence, &view, error);
    if (status == CLEF_OK) {
        cache->hits++;
        entry->hits++;
        entry->used_at = cache->clock;
    }
    return status;
}

/* ---- dropping ---- */

static double entry_value(const clef_prefix_cache *cache, const clef_prefix_entry *entry) {
    size_t above = entry_position(entry_above(entry->node->parent));
    clef_prefix_worth worth = {
        .saved_tokens = entry_position(entry) - above,
        .bytes = entry_bytes(cache) + clef_prefix_node_alone(entry->node) * page_bytes(cache),
        .hits = entry->hits,
        .age = cache->clock - entry->used_at,
        .is_spare = entry->is_spare,
    };
    return clef_prefix_policy_value(&worth);
}

static void drop_entry(clef_prefix_cache *cache, size_t index) {
    clef_prefix_entry *entry = cache->entries[index];
    cache->entries[index] = cache->entries[--cache->count];
    entry->node->user = NULL;
    clef_prefix_node_drop(&cache->tree, entry->node);
    clef_release(entry->fixed);
    clef_release(entry);
}

/* Index of the entry that should go first, and its value; count when none may go. */
static size_t find_lowest(const clef_prefix_cache *cache, double *value) {
    size_t lowest = cache->count;
    for (size_t i = 0; i < cache->count; i++) {
        if (!cache->entries[i]->is_pinned) {
            double own = entry_value(cache, cache->entries[i]);
            if (lowest == cache->count || own < *value) {
                lowest = i;
                *value = own;
            }
        }
    }
    return lowest;
}

bool clef_prefix_cache_evict(clef_prefix_cache *cache) {
    double value = 0;
    size_t lowest = find_lowest(cache, &value);
    if (lowest == cache->count) {
        return false;
    }
    drop_entry(cache, lowest);
    cache->evictions++;
    return true;
}

void clef_prefix_cache_release(clef_prefix_cache *cache) {
    while (cache->count > 0) {
        drop_entry(cache, cache->count - 1);
    }
    clef_release(cache->entries);
    clef_release(cache->pages);
    clef_prefix_tree_release(&cache->tree);
    *cache = (clef_prefix_cache){0};
}

/* ---- keeping ---- */

/* The fixed part, and the memory rows, where a broken key or value shows at the latest. */
static bool is_sound(const clef_prefix_cache *cache, const float *fixed, float *const *pages,
                     size_t first, size_t count) {
    const clef_state_layout *layout = cache->layout;
    bool is_good = clef_floats_are_finite(fixed, layout->fixed_floats);
    for (size_t i = first; is_good && i < count; i++) {
        is_good = clef_floats_are_finite(pages[i] + layout->memory_offset,
                                         CLEF_GRID * layout->memory_width);
    }
    return is_good;
}

static bool reserve(clef_prefix_cache *cache, size_t depth) {
    if (cache->count == cache->capacity) {
        size_t capacity = cache->capacity == 0 ? 16 : 2 * cache->capacity;
        clef_prefix_entry **grown =
            clef_reallocate(cache->entries, capacity, sizeof(clef_prefix_entry *));
        if (grown == NULL) {
            return false;
        }
        cache->entries = grown;
        cache->capacity = capacity;
    }
    if (cache->page_capacity < depth) {
        float **grown = clef_reallocate(cache->pages, depth, sizeof(float *));
        if (grown == NULL) {
            return false;
        }
        cache->pages = grown;
        cache->page_capacity = depth;
    }
    return true;
}

/* Drops entries until one more with `pages` pages below `node` fits. False when those that would
 * have to go are worth more. */
static bool make_room(clef_prefix_cache *cache, clef_prefix_node *node, clef_prefix_point point) {
    size_t depth = point.position / CLEF_GRID;
    uint64_t needed =
        (depth - (node == NULL ? 0 : node->depth)) * page_bytes(cache) + entry_bytes(cache);
    while (cache->count + 1 > cache->entry_limit ||
           clef_prefix_cache_bytes(cache) + needed > cache->byte_limit) {
        clef_prefix_worth worth = {
            .saved_tokens = point.position - entry_position(entry_above(node)),
            .bytes = needed,
            .is_spare = point.is_spare,
        };
        double value = 0;
        size_t lowest = find_lowest(cache, &value);
        if (lowest == cache->count || value > clef_prefix_policy_value(&worth)) {
            return false;
        }
        drop_entry(cache, lowest);
        cache->evictions++;
    }
    return true;
}

static clef_prefix_entry *add_entry(clef_prefix_cache *cache, const clef_prefix_key *key,
                                    clef_prefix_point point, float *fixed, float *const *pages) {
    clef_prefix_entry *entry = clef_allocate(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->node = clef_prefix_tree_extend(&cache->tree, key, pages, point.position / CLEF_GRID);
    if (entry->node == NULL) {
        clef_release(entry);
        return NULL;
    }
    entry->fixed = fixed;
    entry->is_spare = point.is_spare;
    entry->used_at = cache->clock;
    entry->node->user = entry;
    cache->entries[cache->count++] = entry;
    return entry;
}

float *clef_prefix_cache_take_fixed(const clef_prefix_cache *cache) {
    size_t bytes = cache->layout->fixed_floats * sizeof(float);
    float *fixed = clef_allocate_aligned(bytes, 1);
    if (fixed != NULL) {
        memset(fixed, 0, bytes); /* what lies between the parts is never written */
    }
    return fixed;
}

clef_prefix_entry *clef_prefix_cache_put(clef_prefix_cache *cache, const clef_prefix_key *key,
                                         clef_prefix_point point, float *fixed,
                                         float *const *pages) {
    size_t depth = point.position / CLEF_GRID;
    clef_prefix_node *node = clef_prefix_tree_find(&cache->tree, key, point.position);
    clef_prefix_entry *entry = NULL;
    if (node != NULL && node->depth == depth && node->user != NULL) {
        entry = node->user;
        entry->is_spare &= point.is_spare;
        clef_release(fixed);
        return entry;
    }
    if (node != NULL) {
        clef_prefix_node_hold(node); /* or making room could drop it */
    }
    if (depth > 0 && clef_prefix_cache_fits(cache, point.position) &&
        is_sound(cache, fixed, pages, node == NULL ? 0 : node->depth, depth) &&
        reserve(cache, depth) && make_room(cache, node, point)) {
        entry = add_entry(cache, key, point, fixed, pages);
    }
    if (node != NULL) {
        clef_prefix_node_drop(&cache->tree, node);
    }
    if (entry == NULL) {
        clef_release(fixed);
    }
    return entry;
}

clef_prefix_entry *clef_prefix_cache_unsaved(const clef_prefix_cache *cache) {
    clef_prefix_entry *best = NULL;
    double highest = 0;
    for (size_t i = 0; i < cache->count; i++) {
        clef_prefix_entry *entry = cache->entries[i];
        if (!entry->is_saved) {
            double value = entry_value(cache, entry);
            if (best == NULL || value > highest) {
                best = entry;
                highest = value;
            }
        }
    }
    return best;
}
