/* A short name for the exact files of a model, so that an answer can be traced to its weights. */
#ifndef CLEF_CLI_MODEL_IDENTITY_H
#define CLEF_CLI_MODEL_IDENTITY_H

#include "base/error.h"

#define CLEF_MODEL_IDENTITY_BYTES 13

/* Twelve hexadecimal digits and NUL: a digest of names, sizes and contents of the configuration,
 * tokenizer and weight files in a directory. Files above 16 MiB are sampled, so that it takes
 * milliseconds: it tells models apart, it does not prove that nothing was changed. CLEF_BAD_FILE,
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_model_identity(const char *directory, char identity[CLEF_MODEL_IDENTITY_BYTES],
                                clef_error *error);

#endif
