/* The C allocator, watched: a test program linked with --wrap for malloc, calloc, realloc,
 * aligned_alloc and free counts every block of the library, knows what is alive, and can let one
 * allocation fail. Blocks of the C library itself do not pass here. */
#ifndef CLEF_TEST_COUNTED_MEMORY_H
#define CLEF_TEST_COUNTED_MEMORY_H

#include <stddef.h>

/* Begins a new count; allocation number `number` from here, counted from 1, fails (0: none). */
void memory_count(size_t number);
/* Allocations since then, the failed one among them. */
size_t memory_made(void);
/* The chosen allocation has been reached. */
int memory_has_failed(void);

size_t memory_live_blocks(void);
size_t memory_live_bytes(void);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *block);

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);

#endif
