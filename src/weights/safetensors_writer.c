/* The header is built in memory, padded with blanks and written at once; the data goes to the place
 * that the header gives it. */
#include "weights/safetensors_writer.h"

#include "base/json.h"

#include <inttypes.h>

uint64_t clef_safetensors_layout(clef_header_tensor *tensors, size_t count) {
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = clef_dtype_bytes(tensors[i].dtype);
        for (unsigned j = 0; j < tensors[i].rank; j++) {
            bytes *= tensors[i].shape[j];
        }
        tensors[i].begin = offset;
        offset += bytes;
        tensors[i].end = offset;
    }
    return offset;
}

static void append_notes(clef_buffer *out, const clef_header_note *notes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_string(out, i == 0 ? "\"__metadata__\":{" : ",");
        clef_json_write_string(out, notes[i].key);
        clef_buffer_append_byte(out, ':');
        clef_json_write_string(out, notes[i].value);
    }
    if (count > 0) {
        clef_buffer_append_byte(out, '}');
    }
}

static void append_tensor(clef_buffer *out, const clef_header_tensor *tensor) {
    clef_json_write_string(out, tensor->name);
    clef_buffer_append_format(out, ":{\"dtype\":\"%s\",\"shape\":[",
                              clef_dtype_name(tensor->dtype));
    for (unsigned i = 0; i < tensor->rank; i++) {
        clef_buffer_append_format(out, i == 0 ? "%" PRIu64 : ",%" PRIu64, tensor->shape[i]);
    }
    clef_buffer_append_format(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", tensor->begin,
                              tensor->end);
}

/* The first eight bytes say how long the header is, lowest byte first. */
static void put_length(char *bytes, uint64_t length) {
    for (int i = 0; i < 8; i++) {
        bytes[i] = (char)(length >> (8 * i) & 0xFF);
    }
}

clef_status clef_safetensors_writer_begin(clef_safetensors_writer *writer, clef_new_file file,
                                          const clef_header_tensor *tensors, size_t count,
                                          const clef_header_note *notes, size_t note_count,
                                          clef_error *error) {
    *writer = (clef_safetensors_writer){.file = file, .tensors = tensors, .count = count};
    clef_buffer header = {0};
    clef_buffer_append(&header, "\0\0\0\0\0\0\0\0{", 9);
    append_notes(&header, notes, note_count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || note_count > 0) {
            clef_buffer_append_byte(&header, ',');
        }
        append_tensor(&header, &tensors[i]);
        writer->missing_bytes += tensors[i].end - tensors[i].begin;
    }
    clef_buffer_append_byte(&header, '}');
    while (!header.has_failed && header.length % CLEF_DATA_ALIGNMENT != 0) {
        clef_buffer_append_byte(&header, ' ');
    }
    clef_status status = clef_buffer_check(&header, "the header of a weight file", error);
    if (status == CLEF_OK) {
        put_length(header.bytes, header.length - 8);
        writer->data_offset = header.length;
        status = clef_new_file_write(&writer->file, 0, header.bytes, header.length, error);
    }
    clef_buffer_release(&header);
    return status;
}

clef_status clef_safetensors_writer_put(clef_safetensors_writer *writer, size_t tensor,
                                        uint64_t offset, const void *bytes, size_t length,
                                        clef_error *error) {
    const clef_header_tensor *entry = &writer->tensors[tensor];
    if (offset > entry->end - entry->begin || length > entry->end - entry->begin - offset) {
        return clef_fail(error, CLEF_INTERNAL, "bytes behind the end of a tensor of %s",
                         writer->file.name);
    }
    uint64_t place = writer->data_offset + entry->begin + offset;
    clef_status status = clef_new_file_write(&writer->file, place, bytes, length, error);
    if (status == CLEF_OK) {
        writer->missing_bytes -= length;
    }
    return status;
}

clef_status clef_safetensors_writer_finish(clef_safetensors_writer *writer, clef_error *error) {
    if (writer->missing_bytes != 0) {
        clef_safetensors_writer_abandon(writer);
        return clef_fail(error, CLEF_INTERNAL, "%" PRIu64 " bytes of %s were not written",
                         writer->missing_bytes, writer->file.name);
    }
    return clef_new_file_finish(&writer->file, error);
}

void clef_safetensors_writer_abandon(clef_safetensors_writer *writer) {
    clef_new_file_abandon(&writer->file);
}

void clef_shard_index_write(clef_buffer *out, const clef_header_tensor *tensors,
                            const size_t *shards, size_t count, const char *const *files) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += tensors[i].end - tensors[i].begin;
    }
    clef_buffer_append_format(
        out, "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64 "\n  },\n  \"weight_map\": {",
        bytes);
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_string(out, i == 0 ? "\n    " : ",\n    ");
        clef_json_write_string(out, tensors[i].name);
        clef_buffer_append_string(out, ": ");
        clef_json_write_string(out, clef_text_of(files[shards[i]]));
    }
    clef_buffer_append_string(out, "\n  }\n}\n");
}
