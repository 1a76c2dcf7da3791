/* The tensors of a model directory, wherever its files put them: `model.safetensors`, or shards
 * listed by `model.safetensors.index.json`. Maps and checks everything when opened; hands out
 * views. Does not know which tensors a model needs. */
#ifndef CLEF_WEIGHTS_WEIGHT_STORE_H
#define CLEF_WEIGHTS_WEIGHT_STORE_H

#include "weights/safetensors.h"

typedef struct clef_weight_store clef_weight_store;

/* Opens the backbone's files of `directory`. CLEF_BAD_FILE naming the file (error->place) and the
 * tensor; CLEF_OUT_OF_MEMORY. When the directory holds neither the single file nor an index nor
 * shards without an index, the status is CLEF_BAD_FILE and *is_absent (may be NULL) is true: the
 * caller can say what is missing. Where an index is there, it alone decides which files count. */
clef_status clef_weight_store_open(const char *directory, clef_weight_store **out, bool *is_absent,
                                   clef_error *error);

/* Opens one file as a store (joint_head.safetensors). *is_absent (may be NULL) is true when nothing
 * of that name is there. */
clef_status clef_weight_store_open_file(const char *path, clef_weight_store **out, bool *is_absent,
                                        clef_error *error);

/* A store over `count` tensors in memory, borrowed until it is closed; no two share a name. `bytes`
 * is what clef_weight_store_bytes shall say. CLEF_OUT_OF_MEMORY. */
clef_status clef_weight_store_over(const clef_stored_tensor *tensors, size_t count, uint64_t bytes,
                                   clef_weight_store **out, clef_error *error);

void clef_weight_store_close(clef_weight_store *store);

/* Tensors file by file, files by name, inside a file in the order of their data. */
size_t clef_weight_store_count(const clef_weight_store *store);
const clef_stored_tensor *clef_weight_store_at(const clef_weight_store *store, size_t index);
const clef_stored_tensor *clef_weight_store_find(const clef_weight_store *store, clef_text name);

/* The mapped file in which these bytes lie, NULL for none. Borrowed until close. */
const clef_file *clef_weight_store_find_file(const clef_weight_store *store, const void *bytes);

/* Asks for the data of all mapped tensors of at most `largest` bytes. They lie between matrices:
 * when each is read on its first touch, the system reads ahead into what nobody wants yet. */
void clef_weight_store_prefetch(const clef_weight_store *store, size_t largest);

/* Sum of the mapped bytes of all its files. */
uint64_t clef_weight_store_bytes(const clef_weight_store *store);

/* Warnings worth a line of a log (unlisted weight files beside an index); NULL when none. */
const char *clef_weight_store_warning(const clef_weight_store *store);

#endif
