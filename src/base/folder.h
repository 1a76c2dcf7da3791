/* A folder of our own files: locked for one user, files read at any offset, replaced whole or not
 * at all, removed. Held by a descriptor, so it cannot be exchanged on the way. */
#ifndef CLEF_BASE_FOLDER_H
#define CLEF_BASE_FOLDER_H

#include "base/new_file.h"

#include <stdbool.h>

/* Zero-initialised is a valid closed folder. */
typedef struct clef_folder {
    char *path;     /* owned; for messages */
    int descriptor; /* when path is not NULL */
} clef_folder;

/* Opens a directory that is there and can be written, and locks it until it is closed or the
 * process ends. CLEF_USAGE naming it; CLEF_BUSY when somebody has it; CLEF_OUT_OF_MEMORY. */
clef_status clef_folder_open(const char *path, clef_folder *folder, clef_error *error);
void clef_folder_close(clef_folder *folder);

/* Tells of every regular file: its name (borrowed during the call), length and when it was changed,
 * in ns. Nothing may be added or removed meanwhile. */
typedef void clef_folder_visitor(void *context, const char *name, uint64_t bytes,
                                 uint64_t changed_ns);
void clef_folder_visit(const clef_folder *folder, clef_folder_visitor *visit, void *context);

/* A regular file, no link, opened for reading; -1 when it cannot be. */
int clef_folder_open_file(const clef_folder *folder, const char *name, uint64_t *bytes);
/* False unless all bytes could be read. */
bool clef_folder_read(int file, uint64_t offset, void *bytes, size_t length);
void clef_folder_close_file(int file);

/* Gives a finished file its final name, on the disk too. CLEF_INTERNAL. */
clef_status clef_folder_rename(const clef_folder *folder, const char *from, const char *to,
                               clef_error *error);
/* Fine when it is not there. */
void clef_folder_remove(const clef_folder *folder, const char *name);
/* Marks a file as changed now. */
void clef_folder_touch(const clef_folder *folder, const char *name);

#endif
