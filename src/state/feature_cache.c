/* A list: pictures are few beside what one of them costs to compute. */
#include "state/feature_cache.h"

#include "base/memory.h"
#include "tensor/finite.h"

static uint64_t entry_bytes(size_t floats) {
    return (uint64_t)floats * sizeof(float) + sizeof(clef_feature_entry);
}

static void drop_entry(clef_feature_cache *cache, size_t index) {
    clef_feature_entry dropped = cache->entries[index];
    cache->entries[index] = cache->entries[--cache->count];
    cache->bytes -= entry_bytes(dropped.floats);
    clef_release(dropped.rows);
}

void clef_feature_cache_release(clef_feature_cache *cache) {
    while (cache->count > 0) {
        drop_entry(cache, cache->count - 1);
    }
    clef_release(cache->entries);
    *cache = (clef_feature_cache){0};
}

bool clef_feature_cache_take(clef_feature_cache *cache, const clef_digest *key, float *rows,
                             size_t floats) {
    cache->clock++;
    for (size_t i = 0; i < cache->count; i++) {
        clef_feature_entry *entry = &cache->entries[i];
        if (entry->floats == floats && clef_digest_equals(&entry->key, key)) {
            memcpy(rows, entry->rows, floats * sizeof *rows);
            entry->used_at = cache->clock;
            cache->hits++;
            return true;
        }
    }
    cache->misses++;
    return false;
}

bool clef_feature_cache_evict(clef_feature_cache *cache) {
    size_t oldest = 0;
    for (size_t i = 1; i < cache->count; i++) {
        if (cache->entries[i].used_at < cache->entries[oldest].used_at) {
            oldest = i;
        }
    }
    if (cache->count == 0) {
        return false;
    }
    drop_entry(cache, oldest);
    cache->evictions++;
    return true;
}

/* Room in the list for one more. */
static bool reserve(clef_feature_cache *cache) {
    if (cache->count < cache->capacity) {
        return true;
    }
    size_t capacity = cache->capacity == 0 ? 16 : 2 * cache->capacity;
    clef_feature_entry *grown = clef_reallocate(cache->entries, capacity, sizeof *cache->entries);
    if (grown == NULL) {
        return false;
    }
    cache->entries = grown;
    cache->capacity = capacity;
    return true;
}

void clef_feature_cache_put(clef_feature_cache *cache, const clef_digest *key, const float *rows,
                            size_t floats) {
    uint64_t needed = entry_bytes(floats);
    if (needed > cache->byte_limit || !clef_floats_are_finite(rows, floats) || !reserve(cache)) {
        return;
    }
    while (cache->bytes + needed > cache->byte_limit) {
        (void)clef_feature_cache_evict(cache);
    }
    float *copy = clef_allocate_aligned(floats, sizeof *copy);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, rows, floats * sizeof *copy);
    cache->entries[cache->count++] = (clef_feature_entry){*key, copy, floats, cache->clock};
    cache->bytes += needed;
}
