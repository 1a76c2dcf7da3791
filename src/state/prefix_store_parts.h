/* The insides of a store of kept states, for its two files: prefix_store.c (directory, list,
 * reading) and prefix_store_write.c. */
#ifndef CLEF_STATE_PREFIX_STORE_PARTS_H
#define CLEF_STATE_PREFIX_STORE_PARTS_H

#include "base/background.h"
#include "base/folder.h"
#include "state/prefix_store.h"
#include "state/stored_files.h"

/* The name of a file while it is written. */
#define CLEF_STORE_PART_NAME "writing.part"

/* One file on its way to the disk. */
typedef struct clef_store_writing {
    clef_prefix_entry *entry; /* pinned; NULL: none */
    clef_prefix_header header;
    clef_stored_file file;
    uint32_t *tokens; /* owned; [position - from] */
    float **pages;    /* owned; [(position - from) / CLEF_GRID], held by the entry */
    bool is_written;
} clef_store_writing;

struct clef_prefix_store {
    clef_folder folder;
    clef_background *background;
    clef_digest identity;
    const clef_state_layout *layout;
    uint64_t byte_limit;
    clef_stored_files files;
    bool is_short; /* of memory, while the directory is listed */
    clef_store_writing now;
};

/* The name of the file with this key. */
void clef_prefix_store_name(const clef_prefix_store *store, const clef_digest *key,
                            char name[CLEF_STORED_NAME_BYTES]);

/* Removes files until `needed` bytes more fit; `kept` (or NULL), and what it stands on, stay. False
 * when that is not possible. */
bool clef_prefix_store_make_room(clef_prefix_store *store, uint64_t needed,
                                 const clef_stored_file *kept);

/* Takes note of a file that was written, when nothing is being written. */
void clef_prefix_store_collect(clef_prefix_store *store);

#endif
