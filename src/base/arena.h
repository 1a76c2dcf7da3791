/* Memory of one request: many small blocks, released together. Has a hard cap. */
#ifndef CLEF_BASE_ARENA_H
#define CLEF_BASE_ARENA_H

#include "base/text.h"

typedef struct clef_arena_block clef_arena_block;

/* Zero-initialised is a valid empty arena without a cap. */
typedef struct clef_arena {
    clef_arena_block *blocks; /* owned, newest first */
    size_t used_bytes;        /* handed out so far, with padding */
    size_t cap_bytes;         /* 0: no cap */
} clef_arena;

/* `bytes` zeroed bytes aligned to 16, or NULL when memory is short or the cap is passed. Valid
 * until clef_arena_release. */
void *clef_arena_allocate(clef_arena *arena, size_t count, size_t size);

/* A copy of text in the arena, NUL after its end; bytes is NULL on failure. */
clef_text clef_arena_copy(clef_arena *arena, clef_text text);

/* Releases all blocks; the arena is empty and usable again. */
void clef_arena_release(clef_arena *arena);

#endif
