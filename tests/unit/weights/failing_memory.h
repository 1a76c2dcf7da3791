/* A replacement of base/memory whose allocations fail on request and are counted. Because it
 * defines every function of that file, the linker takes these in its place. Include it in one
 * source of a test program. */
#ifndef CLEF_TEST_FAILING_MEMORY_H
#define CLEF_TEST_FAILING_MEMORY_H

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>

static size_t allocations_before_failure; /* how many more succeed */
static size_t live_blocks;

static bool may_allocate(void) {
    return allocations_before_failure > 0 && allocations_before_failure-- > 0;
}

bool clef_multiply_size(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}

bool clef_add_size(size_t a, size_t b, size_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

void *clef_allocate(size_t count, size_t size) {
    void *block = NULL;
    if (may_allocate()) {
        block = count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
        live_blocks += block != NULL;
    }
    return block;
}

void *clef_allocate_aligned(size_t count, size_t size) {
    void *block = may_allocate() ? aligned_alloc(64, (count * size / 64 + 1) * 64) : NULL;
    live_blocks += block != NULL;
    return block;
}

void *clef_reallocate(void *block, size_t count, size_t size) {
    if (!may_allocate()) {
        return NULL;
    }
    void *grown = realloc(block, count * size + 1);
    live_blocks += block == NULL && grown != NULL;
    return grown;
}

void clef_release(void *block) {
    live_blocks -= block != NULL;
    free(block);
}

#endif
