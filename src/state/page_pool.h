/* Pages of state, counted by reference and reused. A page is written by one sequence while it fills
 * and read by many once it is full. Not thread-safe: a pool belongs to a session. */
#ifndef CLEF_STATE_PAGE_POOL_H
#define CLEF_STATE_PAGE_POOL_H

#include "base/error.h"

typedef struct clef_page_pool {
    size_t page_floats;
    struct clef_page *free_pages; /* owned */
    size_t page_count;            /* pages alive, in use or free */
    size_t used_count;            /* in use */
} clef_page_pool;

void clef_page_pool_init(clef_page_pool *pool, size_t page_floats);
/* All pages must have been dropped. */
void clef_page_pool_release(clef_page_pool *pool);

/* A page with one reference, contents undefined, aligned to 64 bytes; NULL when memory is short. */
float *clef_page_take(clef_page_pool *pool);
/* One reference more; returns page. */
float *clef_page_share(float *page);
/* One reference less; the last one gives the page back to the pool. */
void clef_page_drop(clef_page_pool *pool, float *page);

/* Gives free pages back to the system, all but `kept` of them. */
void clef_page_pool_trim(clef_page_pool *pool, size_t kept);

#endif
