/* Each page has a small header in front of its floats. */
#include "state/page_pool.h"

#include "base/memory.h"

#define HEADER_BYTES 64

typedef struct clef_page {
    struct clef_page *next; /* while free */
    size_t references;      /* while in use */
} clef_page;

_Static_assert(sizeof(clef_page) <= HEADER_BYTES, "the header fits in front of the floats");

static clef_page *header_of(float *page) {
    return (clef_page *)(void *)((char *)page - HEADER_BYTES);
}

static float *floats_of(clef_page *header) {
    return (float *)(void *)((char *)header + HEADER_BYTES);
}

void clef_page_pool_init(clef_page_pool *pool, size_t page_floats) {
    *pool = (clef_page_pool){.page_floats = page_floats};
}

float *clef_page_take(clef_page_pool *pool) {
    clef_page *header = pool->free_pages;
    if (header != NULL) {
        pool->free_pages = header->next;
    } else {
        header = clef_allocate_aligned(HEADER_BYTES + pool->page_floats * sizeof(float), 1);
        if (header == NULL) {
            return NULL;
        }
        pool->page_count++;
    }
    *header = (clef_page){.references = 1};
    pool->used_count++;
    return floats_of(header);
}

float *clef_page_share(float *page) {
    header_of(page)->references++;
    return page;
}

void clef_page_drop(clef_page_pool *pool, float *page) {
    clef_page *header = header_of(page);
    if (--header->references == 0) {
        header->next = pool->free_pages;
        pool->free_pages = header;
        pool->used_count--;
    }
}

void clef_page_pool_trim(clef_page_pool *pool, size_t kept) {
    while (pool->page_count > pool->used_count + kept) {
        clef_page *next = pool->free_pages->next;
        clef_release(pool->free_pages);
        pool->free_pages = next;
        pool->page_count--;
    }
}

void clef_page_pool_release(clef_page_pool *pool) {
    clef_page_pool_trim(pool, 0);
}
