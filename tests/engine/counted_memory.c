/* Counters are atomic, since nothing says which thread asks. */
#include "counted_memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_size_t made, failing, live_blocks, live_bytes;

void memory_count(size_t number) {
    atomic_store(&made, 0);
    atomic_store(&failing, number);
}

size_t memory_made(void) {
    return atomic_load(&made);
}

int memory_has_failed(void) {
    return atomic_load(&failing) != 0 && atomic_load(&made) >= atomic_load(&failing);
}

size_t memory_live_blocks(void) {
    return atomic_load(&live_blocks);
}

size_t memory_live_bytes(void) {
    return atomic_load(&live_bytes);
}

static bool is_refused(void) {
    return atomic_fetch_add(&made, 1) + 1 == atomic_load(&failing);
}

static void *add(void *block) {
    if (block != NULL) {
        atomic_fetch_add(&live_blocks, 1);
        atomic_fetch_add(&live_bytes, malloc_usable_size(block));
    }
    return block;
}

static void *subtract(void *block) {
    if (block != NULL) {
        atomic_fetch_sub(&live_blocks, 1);
        atomic_fetch_sub(&live_bytes, malloc_usable_size(block));
    }
    return block;
}

void *__wrap_malloc(size_t bytes) {
    return is_refused() ? NULL : add(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t size) {
    return is_refused() ? NULL : add(__real_calloc(count, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return is_refused() ? NULL : add(__real_aligned_alloc(alignment, bytes));
}

void *__wrap_realloc(void *block, size_t bytes) {
    if (is_refused()) {
        return NULL;
    }
    subtract(block);
    void *grown = __real_realloc(block, bytes);
    add(grown == NULL ? block : grown);
    return grown;
}

void __wrap_free(void *block) {
    __real_free(subtract(block));
}
