/* A replacement of base/memory whose allocations fail on request and are counted. Because it
 * defines every function of that file, the linker takes these in its place. Include it in one
 * source of a test program. */
#ifndef CLEF_TEST_FAILING_MEMORY_H
#define CLEF_TEST_FAILING_MEMORY_H

#include "support.h"

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

/* Work that gives back what it took, also when it gets through. */
typedef clef_status memory_work(const void *subject, clef_error *error);

/* Fails the first, second, third … allocation until the work gets through; returns how many it
 * makes. */
static inline size_t fail_each(memory_work *work, const void *subject) {
    for (size_t allowed = 0; allowed < 10000; allowed++) {
        clef_error error = {0};
        allocations_before_failure = allowed;
        size_t live_before = live_blocks;
        clef_status status = work(subject, &error);
        size_t live_after = live_blocks;
        allocations_before_failure = SIZE_MAX;
        if (live_after != live_before) {
            fail_msg("allocation %zu: %zu blocks before, %zu behind", allowed, live_before,
                     live_after);
        }
        if (status == CLEF_OK) {
            return allowed;
        }
        if (status != CLEF_OUT_OF_MEMORY) {
            fail_msg("allocation %zu: status %d, %s", allowed, status, error.message);
        }
        assert_int_equal(error.status, CLEF_OUT_OF_MEMORY);
        assert_true(strlen(error.message) > 10);
    }
    fail_msg("it never gets through");
    return 0;
}

#endif
