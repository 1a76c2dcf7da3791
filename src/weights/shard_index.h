/* model.safetensors.index.json: which tensor lies in which file. Checks the list for itself;
 * whether the files agree with it is checked by the weight store. */
#ifndef CLEF_WEIGHTS_SHARD_INDEX_H
#define CLEF_WEIGHTS_SHARD_INDEX_H

#include "base/arena.h"
#include "base/error.h"

typedef struct clef_shard_entry {
    clef_text name; /* of the tensor */
    clef_text file; /* name of its file in the same directory; ends in NUL */
    size_t shard;   /* index of that file in shards */
} clef_shard_entry;

/* Everything lives in the arena. Zero-initialised is a valid empty index. */
typedef struct clef_shard_index {
    clef_arena arena;
    clef_shard_entry *entries; /* [count], sorted by name, no name twice */
    size_t count;
    const char **shards; /* [shard_count], sorted, no name twice */
    size_t shard_count;
} clef_shard_index;

/* Reads and checks the index file `path`. CLEF_BAD_FILE for anything but an object with a
 * `weight_map` from tensor names to plain names of .safetensors files ('/', '\' and ".." are
 * refused), for a repeated or an empty map; CLEF_OUT_OF_MEMORY. On failure the index is released.
 */
clef_status clef_shard_index_load(const char *path, clef_shard_index *index, clef_error *error);

/* The same from text in memory, borrowed during the call; `name` stands for the path. */
clef_status clef_shard_index_parse(const char *name, clef_text text, clef_shard_index *index,
                                   clef_error *error);

/* Entry of a tensor, or NULL. */
const clef_shard_entry *clef_shard_index_find(const clef_shard_index *index, clef_text name);

/* First entry (by name) of a shard; *count (may be NULL) receives how many it has. */
const clef_shard_entry *clef_shard_index_first(const clef_shard_index *index, size_t shard,
                                               size_t *count);

void clef_shard_index_release(clef_shard_index *index);

#endif
