/* Which model directory is meant: what the user says, else the small model that comes with the
 * program, installed or in the build tree. Looks at names only, never into files. */
#ifndef CLEF_CLI_MODEL_LOOKUP_H
#define CLEF_CLI_MODEL_LOOKUP_H

#include "cli/environment.h"
#include "cli/settings.h"

/* Appends the path of the directory. CLEF_BAD_FILE when what the user says does not exist, and,
 * with all places that were tried, when nothing is said and nothing is there. */
clef_status clef_model_lookup(const clef_settings *settings, const clef_environment *environment,
                              clef_buffer *path, clef_error *error);

/* Appends the name of the model in a directory: the last component of its path. */
void clef_model_lookup_name(const char *path, clef_buffer *name);

#endif
