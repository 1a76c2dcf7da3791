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
    int descriptor; /* of a mapped file: kept open for clef_file_let_go */
} clef_file;

/* Maps a regular file read-only, following links. CLEF_BAD_FILE with the path in error->place and a
 * message that says what is wrong: missing, a dangling or looping link, a directory, empty,
 * unreadable. */
clef_status clef_file_map(const char *path, clef_file *file, clef_error *error);

/* Reads a regular file of at most `limit` bytes into memory; errors as clef_file_map. */
clef_status clef_file_read(const char *path, size_t limit, clef_file *file, clef_error *error);

/* Tells the system that these bytes of a mapping are needed soon: it begins to read what is not in
 * memory, and the call returns when all of it is asked for. Never fails. */
void clef_file_prefetch(const void *bytes, size_t length);

/* Tells the system that `length` bytes of a mapped file from `bytes` on are not needed for a while:
 * whole pages of them leave memory at once, but for those that other processes map, and are read
 * again when they are touched. Never fails; does nothing to an owned copy. */
void clef_file_let_go(const clef_file *file, const void *bytes, size_t length);

void clef_file_close(clef_file *file);

/* "directory/name" in memory owned by the caller (clef_release); NULL when memory is short. */
char *clef_path_join(const char *directory, const char *name);

/* Something of that name exists (link followed). */
bool clef_path_exists(const char *path);

/* The name is taken, be it by a link to nothing. */
bool clef_path_is_taken(const char *path);

#endif
