/* The one place that calls the C allocator. */
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#define CLEF_ALIGNMENT 64
/* Blocks of several huge pages are asked to lie in such: kernels walk through them, and a walk
 * through small pages waits for addresses to be translated. */
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     (2 * HUGE_PAGE)

bool clef_multiply_size(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}

bool clef_add_size(size_t a, size_t b, size_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

void *clef_allocate(size_t count, size_t size) {
    return count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
}

static void *allocate_large(size_t bytes) {
    char *block = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    if (block != NULL) { /* the end stays in small pages: no more memory than was asked for */
        (void)madvise(block, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    }
#endif
    return block;
}

void *clef_allocate_aligned(size_t count, size_t size) {
    size_t bytes;
    if (!clef_multiply_size(count, size, &bytes) || !clef_add_size(bytes, HUGE_PAGE, &bytes)) {
        return NULL;
    }
    bytes -= HUGE_PAGE;
    if (bytes >= LARGE) {
        return allocate_large(bytes);
    }
    /* aligned_alloc wants a multiple of the alignment, and an empty request still gets a block. */
    return aligned_alloc(CLEF_ALIGNMENT, (bytes / CLEF_ALIGNMENT + 1) * CLEF_ALIGNMENT);
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
