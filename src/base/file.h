/* Whole files, read or mapped. The only place that opens files for reading in the library. */
#ifndef CLEF_BASE_FILE_H
#define CLEF_BASE_FILE_H

#include "base/error.h"
#include "base/text.h"

/* A read-only mapping (or an owned copy). Zero-initialised is a valid closed file. */
typedef struct clef_file {
    const void *bytes;
    size_t length;
    bool is_mapped;
} clef_file;

/* Maps a regular file read-only, following links. CLEF_BAD_FILE with the path in error->place and a
 * message that says what is wrong: missing, a dangling or looping link, a directory, empty,
 * unreadable. */
clef_status clef_file_map(const char *path, clef_file *file, clef_error *error);

/* Reads a regular file of at most `limit` bytes into memory; errors as clef_file_map. */
clef_status clef_file_read(const char *path, size_t limit, clef_file *file, clef_error *error);

/* Tells the system that these bytes of a mapping are needed soon. Never fails. */
void clef_file_prefetch(const void *bytes, size_t length);

void clef_file_close(clef_file *file);

/* "directory/name" in memory owned by the caller (clef_release); NULL when memory is short. */
char *clef_path_join(const char *directory, const char *name);

/* Something of that name exists (link followed). */
bool clef_path_exists(const char *path);

/* The name is taken, be it by a link to nothing. */
bool clef_path_is_taken(const char *path);

#endif
