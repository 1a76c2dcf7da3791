/* One new file, written at any offset and made safe on disk before it counts. Errors name the file
 * where people will look for it, not where it lies while it is unfinished. */
#ifndef CLEF_BASE_NEW_FILE_H
#define CLEF_BASE_NEW_FILE_H

#include "base/error.h"

#include <stdint.h>

typedef struct clef_new_file {
    int descriptor;        /* -1: closed */
    const char *directory; /* for messages; borrowed */
    const char *name;      /* of the file in it; borrowed */
} clef_new_file;

/* Creates `name` in the folder that the descriptor `folder` stands for; it must not be there.
 * CLEF_INTERNAL as clef_new_file_fail. */
clef_status clef_new_file_create(int folder, const char *directory, const char *name,
                                 clef_new_file *file, clef_error *error);

/* Writes all bytes at an offset. CLEF_INTERNAL. */
clef_status clef_new_file_write(clef_new_file *file, uint64_t offset, const void *bytes,
                                size_t length, clef_error *error);

/* Waits until everything is on the disk, and closes. CLEF_INTERNAL; closed in any case. */
clef_status clef_new_file_finish(clef_new_file *file, clef_error *error);

/* Closes a file that will not be used. Fine when it is closed already. */
void clef_new_file_abandon(clef_new_file *file);

/* CLEF_INTERNAL "cannot write DIRECTORY/NAME: the disk is full", with the path as place, for the
 * system's error `reason`. An empty name stands for the directory itself. */
clef_status clef_new_file_fail(const char *directory, const char *name, int reason,
                               clef_error *error);

#endif
