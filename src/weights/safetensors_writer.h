/* Writing one safetensors file: the header first, from a list of tensors that is known beforehand,
 * then the data of each, in any order and in pieces. Knows no model. */
#ifndef CLEF_WEIGHTS_SAFETENSORS_WRITER_H
#define CLEF_WEIGHTS_SAFETENSORS_WRITER_H

#include "base/buffer.h"
#include "base/new_file.h"
#include "weights/safetensors_header.h"

/* Data begins on a multiple of this, a cache line. */
#define CLEF_DATA_ALIGNMENT 64

typedef struct clef_safetensors_writer {
    clef_new_file file;
    const clef_header_tensor *tensors; /* borrowed; [count] */
    size_t count;
    uint64_t data_offset;   /* of the data in the file */
    uint64_t missing_bytes; /* of the data, not written yet */
} clef_safetensors_writer;

/* Lays the tensors out one behind the other, without a hole: sets begin and end of each from its
 * type and shape. Returns the bytes of the data. */
uint64_t clef_safetensors_layout(clef_header_tensor *tensors, size_t count);

/* Takes over a file that was just created and writes the header of laid-out tensors and notes.
 * CLEF_INTERNAL when the file cannot be written; CLEF_OUT_OF_MEMORY. */
clef_status clef_safetensors_writer_begin(clef_safetensors_writer *writer, clef_new_file file,
                                          const clef_header_tensor *tensors, size_t count,
                                          const clef_header_note *notes, size_t note_count,
                                          clef_error *error);

/* Writes bytes of one tensor, `offset` from its beginning. Each byte is to be written once. */
clef_status clef_safetensors_writer_put(clef_safetensors_writer *writer, size_t tensor,
                                        uint64_t offset, const void *bytes, size_t length,
                                        clef_error *error);

/* Waits until the file is on the disk and closes it. CLEF_INTERNAL, also when bytes were left out.
 */
clef_status clef_safetensors_writer_finish(clef_safetensors_writer *writer, clef_error *error);

/* Closes a file that will not be used. Fine when it is closed already, or zero but for a closed
 * file. */
void clef_safetensors_writer_abandon(clef_safetensors_writer *writer);

/* Appends model.safetensors.index.json for tensors spread over files: `shards[i]` is the index in
 * `files` for tensor i. Failure sticks in out. */
void clef_shard_index_write(clef_buffer *out, const clef_header_tensor *tensors,
                            const size_t *shards, size_t count, const char *const *files);

#endif
