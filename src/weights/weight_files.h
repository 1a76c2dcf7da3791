/* The names of the weight files of a directory. Looks at names alone and opens no file, so a
 * dangling link counts as there and is named by whoever opens it. */
#ifndef CLEF_WEIGHTS_WEIGHT_FILES_H
#define CLEF_WEIGHTS_WEIGHT_FILES_H

#include "base/buffer.h"
#include "base/error.h"

#define CLEF_WEIGHTS_FILE "model.safetensors"
#define CLEF_INDEX_FILE   "model.safetensors.index.json"
#define CLEF_HEAD_FILE    "joint_head.safetensors"

/* Zero-initialised is a valid empty list. */
typedef struct clef_weight_files {
    char **names; /* owned; [count], sorted: the index and everything that ends in .safetensors */
    size_t count, capacity;
} clef_weight_files;

/* Lists a directory. CLEF_BAD_FILE when it can not be read; CLEF_OUT_OF_MEMORY. On failure the list
 * is released. */
clef_status clef_weight_files_list(const char *directory, clef_weight_files *files,
                                   clef_error *error);

bool clef_weight_files_has(const clef_weight_files *files, const char *name);

void clef_weight_files_release(clef_weight_files *files);

/* Appends a name to a list in a message, ", " before all but the first; after some twenty names
 * only
 * "..." follows. `count` is the number of names before this one. */
void clef_weight_files_write(clef_buffer *out, size_t count, const char *name);

#endif
