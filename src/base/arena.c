/* A list of growing blocks; each allocation takes the next aligned bytes of the newest. */
#include "base/arena.h"

#include "base/memory.h"

#define FIRST_BLOCK_BYTES 4096
#define LARGEST_GROWTH    (1024 * 1024)

struct clef_arena_block {
    clef_arena_block *next;
    size_t used;
    size_t capacity;
    size_t padding; /* keeps the bytes that follow aligned to 16 */
};

static clef_arena_block *add_block(clef_arena *arena, size_t bytes) {
    size_t capacity = FIRST_BLOCK_BYTES;
    if (arena->blocks != NULL) {
        capacity = arena->blocks->capacity * 2;
        capacity = capacity > LARGEST_GROWTH ? LARGEST_GROWTH : capacity;
    }
    capacity = capacity < bytes ? bytes : capacity;
    size_t total;
    if (!clef_add_size(capacity, sizeof(clef_arena_block), &total)) {
        return NULL;
    }
    clef_arena_block *block = clef_allocate(total, 1);
    if (block == NULL) {
        return NULL;
    }
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *clef_arena_allocate(clef_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (!clef_multiply_size(count, size, &bytes) || !clef_add_size(bytes, 15, &bytes)) {
        return NULL;
    }
    bytes &= ~(size_t)15;
    if (arena->cap_bytes != 0 && bytes > arena->cap_bytes - arena->used_bytes) {
        return NULL;
    }
    clef_arena_block *block = arena->blocks;
    if (block == NULL || block->capacity - block->used < bytes) {
        block = add_block(arena, bytes);
        if (block == NULL) {
            return NULL;
        }
    }
    void *result = (char *)(block + 1) + block->used;
    block->used += bytes;
    arena->used_bytes += bytes;
    return result;
}

clef_text clef_arena_copy(clef_arena *arena, clef_text text) {
    size_t bytes;
    char *copy =
        clef_add_size(text.length, 1, &bytes) ? clef_arena_allocate(arena, bytes, 1) : NULL;
    if (copy == NULL) {
        return (clef_text){NULL, 0};
    }
    if (text.length > 0) {
        memcpy(copy, text.bytes, text.length);
    }
    return (clef_text){copy, text.length};
}

void clef_arena_release(clef_arena *arena) {
    clef_arena_block *block = arena->blocks;
    while (block != NULL) {
        clef_arena_block *next = block->next;
        clef_release(block);
        block = next;
    }
    arena->blocks = NULL;
    arena->used_bytes = 0;
}
