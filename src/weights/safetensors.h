/* One safetensors file: parsing and checking its header, mapping its bytes. Knows no model. */
#ifndef CLEF_WEIGHTS_SAFETENSORS_H
#define CLEF_WEIGHTS_SAFETENSORS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/dtype.h"
#include "weights/tensor_text.h"

#define CLEF_RANK_LIMIT        8
#define CLEF_HEADER_BYTE_LIMIT (100u * 1000u * 1000u)

/* A tensor as stored, row-major. `data` is aligned to the size of an element and valid until its
 * store or file is closed: it points into the mapped file (or the bytes given to _parse), or, where
 * the file puts the tensor at an odd place, to an aligned copy that the file owns. */
typedef struct clef_stored_tensor {
    clef_text name;
    clef_dtype dtype;
    unsigned rank;
    uint64_t shape[CLEF_RANK_LIMIT];
    const void *data;
    size_t bytes;
    const char *file; /* path of its file, for messages; borrowed from the owner */
} clef_stored_tensor;

typedef struct clef_safetensors clef_safetensors;

/* Opens, maps and checks a whole file by the rules of the format: header length, names, types,
 * shapes, ranges without overlap, hole or rest. Owned by the caller, closed with _close.
 * CLEF_BAD_FILE with the file in error->place and the tensor, the value found and the value
 * expected in the message; CLEF_OUT_OF_MEMORY. */
clef_status clef_safetensors_open(const char *path, clef_safetensors **out, clef_error *error);

/* The same checks on bytes in memory, borrowed until _close; `name` stands for the path. */
clef_status clef_safetensors_parse(const char *name, const void *bytes, size_t length,
                                   clef_safetensors **out, clef_error *error);

void clef_safetensors_close(clef_safetensors *file);

/* The mapped file in which these bytes lie; NULL for copies, bytes given to _parse, and others.
 * Borrowed until close. */
const clef_file *clef_safetensors_find_file(const clef_safetensors *file, const void *bytes);

/* Length of the whole file. */
size_t clef_safetensors_bytes(const clef_safetensors *file);

/* Tensors in the order of their data. */
size_t clef_safetensors_count(const clef_safetensors *file);
const clef_stored_tensor *clef_safetensors_at(const clef_safetensors *file, size_t index);
/* NULL when there is none of that name. Hashed. */
const clef_stored_tensor *clef_safetensors_find(const clef_safetensors *file, clef_text name);
/* Value of a `__metadata__` key; bytes NULL when absent. Borrowed until close. */
clef_text clef_safetensors_metadata(const clef_safetensors *file, clef_text key);

#endif
