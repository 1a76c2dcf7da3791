/* Where the files of a model come from and of which day they are, as far as they say. */
#ifndef CLEF_CLI_MODEL_RELEASE_H
#define CLEF_CLI_MODEL_RELEASE_H

#include <stdint.h>

typedef struct clef_model_release {
    int64_t seconds;      /* since 1970; 0: nobody knows */
    char repository[256]; /* "owner/name", or "" */
    char revision[64];    /* a commit, or "" */
} clef_model_release;

/* Reads the manifest that a download has left in the directory (manifest.json, or a file that is
 * called like the model: clef.json, clef-flash.json, DIRECTORY.json). Without one the date is that
 * of the configuration, or of the tokenizer when there is no other file. Never fails. */
void clef_model_release_read(const char *directory, clef_model_release *release);

#endif
