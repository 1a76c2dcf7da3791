/* Allocation with checked sizes. Every block of the library comes from here and is released with
 * clef_release, so that a build or a test can watch or fail each one. */
#ifndef CLEF_BASE_MEMORY_H
#define CLEF_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* count × size bytes, zeroed. NULL when the product overflows or memory is short. A product of 0
 * gives a valid block. Owned by the caller, released with clef_release. */
void *clef_allocate(size_t count, size_t size);

/* As clef_allocate, not zeroed, aligned to 64 bytes (a cache line and the widest vector). */
void *clef_allocate_aligned(size_t count, size_t size);

/* Grows or shrinks a block of clef_allocate; NULL (and the old block stays) on failure. */
void *clef_reallocate(void *block, size_t count, size_t size);

/* Releases a block of either kind; NULL is fine. */
void clef_release(void *block);

/* *result = a·b or a+b; false when it does not fit. */
bool clef_multiply_size(size_t a, size_t b, size_t *result);
bool clef_add_size(size_t a, size_t b, size_t *result);

#endif
