/* The list of a store's files: what each holds, which stands on which, which goes first. Pure
 * bookkeeping; touches no disk. */
#ifndef CLEF_STATE_STORED_FILES_H
#define CLEF_STATE_STORED_FILES_H

#include "state/prefix_file.h"

#define CLEF_STORED_NAME_BYTES 64

typedef struct clef_stored_file {
    char name[CLEF_STORED_NAME_BYTES];
    clef_digest key, parent;
    size_t from, position;
    uint64_t bytes;
    uint64_t used_ns; /* when it was written or used last */
    bool is_foreign;  /* of another model: only its bytes matter */
} clef_stored_file;

/* Zero-initialised is a valid empty list. */
typedef struct clef_stored_files {
    clef_stored_file *items; /* owned; [count], in no order */
    size_t count, capacity;
    uint64_t bytes; /* of all */
} clef_stored_files;

void clef_stored_files_release(clef_stored_files *files);

/* False when memory is short. Replaces a file of the same name. */
bool clef_stored_files_add(clef_stored_files *files, const clef_stored_file *file);
void clef_stored_files_remove(clef_stored_files *files, size_t index);

/* Index of the file with this key and position that is not foreign; count for none. */
size_t clef_stored_files_find(const clef_stored_files *files, const clef_digest *key,
                              size_t position);

/* Whether a file and all it stands on are there. */
bool clef_stored_files_is_whole(const clef_stored_files *files, size_t index);

/* The file that should go first: foreign ones before own ones, then the one used longest ago among
 * those that no other stands on. `kept` (or count) and what it stands on stay. count for none. */
size_t clef_stored_files_oldest(const clef_stored_files *files, size_t kept);

#endif
