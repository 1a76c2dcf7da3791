/* Bytes that threads share: who needs more than there is waits until others give some back.
 *
 * A grant is what one owner holds; it grows as its owner learns what it needs. Owners that hold a
 * part and wait for more could wait for each other, so one of them passes over the limit when
 * nobody else is left who could give anything back: it is exceeded by at most one owner's needs. */
#ifndef CLEF_BASE_MEMORY_BUDGET_H
#define CLEF_BASE_MEMORY_BUDGET_H

#include "base/stop.h"

typedef struct clef_memory_budget clef_memory_budget;

/* CLEF_OUT_OF_MEMORY. */
clef_status clef_memory_budget_create(clef_memory_budget **budget, clef_error *error);
/* No grant may hold anything. NULL is fine. */
void clef_memory_budget_close(clef_memory_budget *budget);

/* Bytes of all grants; any thread. */
uint64_t clef_memory_budget_used(clef_memory_budget *budget);

/* One thread at a time. Zero-initialised: of no budget, counts nothing and never waits. */
typedef struct clef_memory_grant {
    clef_memory_budget *budget; /* borrowed */
    uint64_t bytes;
    uint64_t limit; /* of all grants together, as this owner sees it; 0: none */
    clef_stop stop;
} clef_memory_grant;

/* Adds bytes, waiting until there is room. CLEF_CANCELLED when the stop is wanted; the grant then
 * holds what it held. */
clef_status clef_memory_grant_grow(clef_memory_grant *grant, uint64_t bytes, clef_error *error);
/* Gives back some of it. */
void clef_memory_grant_shrink(clef_memory_grant *grant, uint64_t bytes);

#endif
