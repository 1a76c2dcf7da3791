/* A folder's new files, made aside and moved into place together. They are written into a hidden
 * folder inside the target, so that the move never crosses file systems; whoever fails on the way
 * closes the staging, and nothing of it stays. Cleaning up takes no memory. */
#ifndef CLEF_BASE_STAGING_H
#define CLEF_BASE_STAGING_H

#include "base/new_file.h"

#include <stdbool.h>

/* The hidden folder. */
#define CLEF_STAGING_NAME ".clef-partial"

typedef struct clef_staging clef_staging;

/* Says something about the file of that name. */
typedef bool clef_name_test(const char *name);

/* Both paths lead to the same folder (links followed). */
bool clef_path_is_same(const char *a, const char *b);

/* Makes `directory` where it is not there yet (its parent must be), and the hidden folder in it.
 * CLEF_USAGE when it is no directory, cannot be made, or holds anything and may_replace is false;
 * CLEF_INTERNAL; CLEF_OUT_OF_MEMORY. */
clef_status clef_staging_open(const char *directory, bool may_replace, clef_staging **out,
                              clef_error *error);

/* Path of the hidden folder, for reading what was written; until the close. */
const char *clef_staging_path(const clef_staging *staging);

/* Creates a file. Its messages name the place it will be moved to. */
clef_status clef_staging_create(clef_staging *staging, const char *name, clef_new_file *file,
                                clef_error *error);

/* Copies the regular files of `source` (links followed, folders left out) that is_wanted says, byte
 * for byte. CLEF_BAD_FILE when one cannot be read. */
clef_status clef_staging_copy(clef_staging *staging, const char *source, clef_name_test *is_wanted,
                              clef_error *error);

/* Moves all files into the directory. `last`, the file without which the others mean nothing, goes
 * last, and an old one of its name is removed first; then old files that is_stale says are removed.
 * Other old files stay, or are replaced by new ones of their name. Not to be called twice. */
clef_status clef_staging_publish(clef_staging *staging, const char *last, clef_name_test *is_stale,
                                 clef_error *error);

/* Removes whatever was not published, the directory too when it was made by _open. NULL is fine. */
void clef_staging_close(clef_staging *staging);

#endif
