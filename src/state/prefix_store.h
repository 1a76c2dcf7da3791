/* The disk tier of the prefix cache: kept states as files of one directory, within a budget of
 * bytes, so that a restart starts warm.
 *
 * A file holds what is behind its parent's, so a conversation writes each page once; a state is
 * there when its whole chain is. Files are written on a thread of their own, one at a time, the
 * most valuable state first: steps never wait for a disk. A file gets its name when all of it is on
 * the disk, so a process may end at any moment. What is not exactly what it says it is, is removed
 * and never used; files of other models are left alone until the room is needed. */
#ifndef CLEF_STATE_PREFIX_STORE_H
#define CLEF_STATE_PREFIX_STORE_H

#include "state/prefix_cache.h"

typedef struct clef_prefix_store clef_prefix_store;

/* Opens a directory that is there; `identity` stands for the model and for how it computes. Drops
 * what is broken, and what is over the limit. Statuses of clef_folder_open; CLEF_OUT_OF_MEMORY. */
clef_status clef_prefix_store_open(const char *directory, const clef_digest *identity,
                                   const clef_state_layout *layout, uint64_t byte_limit,
                                   clef_prefix_store **out, clef_error *error);
/* Waits for a file that is being written; the cache must still be there. NULL is fine. */
void clef_prefix_store_close(clef_prefix_store *store);

uint64_t clef_prefix_store_bytes(const clef_prefix_store *store);

/* Brings the longest stored state along the key within `limit` tokens into the cache, if it is
 * longer than `reach` and fits. Reads the disk while the caller waits. */
void clef_prefix_store_load(clef_prefix_store *store, clef_prefix_cache *cache,
                            const clef_prefix_key *key, size_t limit, size_t reach);

/* Takes note of a file that is finished and begins the next. True while there is more to write. */
bool clef_prefix_store_save(clef_prefix_store *store, clef_prefix_cache *cache);
/* Writes all that is still to be written, while the caller waits. */
void clef_prefix_store_finish(clef_prefix_store *store, clef_prefix_cache *cache);

#endif
