/* The one place that calls the C allocator. */
#include "base/memory.h"

#include <stdlib.h>

#define CLEF_ALIGNMENT 64

bool clef_multiply_size(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}

bool clef_add_size(size_t a, size_t b, size_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

void *clef_allocate(size_t count, size_t size) {
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

void *clef_allocate_aligned(size_t count, size_t size) {
    size_t bytes;
    if (!clef_multiply_size(count, size, &bytes) || !clef_add_size(bytes, CLEF_ALIGNMENT, &bytes)) {
        return NULL;
    }
    /* aligned_alloc wants a multiple of the alignment, and an empty request still gets a block. */
    return aligned_alloc(CLEF_ALIGNMENT, bytes / CLEF_ALIGNMENT * CLEF_ALIGNMENT);
}

void *clef_reallocate(void *block, size_t count, size_t size) {
    size_t bytes;
    if (!clef_multiply_size(count, size, &bytes)) {
        return NULL;
    }
    return realloc(block, bytes == 0 ? 1 : bytes);
}

void clef_release(void *block) {
    free(block);
}
