/* A hash table from names to tensors. Borrows the tensors; they must not move while it is in use.
 */
#ifndef CLEF_WEIGHTS_TENSOR_TABLE_H
#define CLEF_WEIGHTS_TENSOR_TABLE_H

#include "base/error.h"
#include "weights/safetensors.h"

/* Zero-initialised is a valid empty table that nothing can be inserted into. */
typedef struct clef_tensor_table {
    const clef_stored_tensor **slots; /* owned; [slot_count], NULL where free */
    size_t slot_count;                /* a power of two, at least twice the capacity */
} clef_tensor_table;

/* Makes an empty table for up to `capacity` tensors. CLEF_OUT_OF_MEMORY. */
clef_status clef_tensor_table_create(clef_tensor_table *table, size_t capacity, clef_error *error);

/* Inserts a tensor. Returns NULL, or the tensor of the same name that is already there (and stays).
 */
const clef_stored_tensor *clef_tensor_table_insert(clef_tensor_table *table,
                                                   const clef_stored_tensor *tensor);

/* NULL when there is none of that name. */
const clef_stored_tensor *clef_tensor_table_find(const clef_tensor_table *table, clef_text name);

void clef_tensor_table_release(clef_tensor_table *table);

#endif
