/* The JSON header of a safetensors file: one entry a tensor, each checked for itself (types, sizes,
 * overflow, length of its range). How the ranges lie beside each other is not looked at here. */
#ifndef CLEF_WEIGHTS_SAFETENSORS_HEADER_H
#define CLEF_WEIGHTS_SAFETENSORS_HEADER_H

#include "weights/safetensors.h"

/* One tensor. `end - begin` equals the product of the shape times the size of the type. */
typedef struct clef_header_tensor {
    clef_text name; /* into the header or its strings */
    clef_dtype dtype;
    unsigned rank;
    uint64_t shape[CLEF_RANK_LIMIT];
    uint64_t begin, end; /* bytes from the start of the data */
} clef_header_tensor;

typedef struct clef_header_note {
    clef_text key, value; /* of __metadata__ */
} clef_header_note;

/* Zero-initialised is a valid empty header. */
typedef struct clef_safetensors_header {
    clef_header_tensor *tensors; /* owned; [count], in the order of the header */
    size_t count, capacity;
    clef_header_note *notes; /* owned; [note_count] */
    size_t note_count, note_capacity;
    bool has_notes;     /* __metadata__ is there */
    clef_arena strings; /* names and notes that are not slices of the text */
} clef_safetensors_header;

/* Parses the header of the file `path`; `text` is borrowed until the release. CLEF_BAD_FILE naming
 * tensor, value found and value expected; CLEF_OUT_OF_MEMORY. On failure the header is released.
 * Names may still be repeated. */
clef_status clef_safetensors_header_parse(const char *path, clef_text text,
                                          clef_safetensors_header *header, clef_error *error);

void clef_safetensors_header_release(clef_safetensors_header *header);

#endif
