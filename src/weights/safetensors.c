/* Opening of one file: length of the header, its entries, and their ranges as a gapless sequence
 * from the first data byte to the last. Everything is checked before a tensor is handed out. */
#include "weights/safetensors.h"

#include "base/file.h"
#include "base/memory.h"
#include "weights/bad_file.h"
#include "weights/safetensors_header.h"
#include "weights/tensor_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#define LENGTH_BYTES 8 /* the header's length, little-endian, at the start of the file */

struct clef_safetensors {
    char *path;     /* owned */
    clef_file file; /* closed when the bytes are borrowed */
    const unsigned char *bytes;
    size_t length;
    clef_safetensors_header header; /* keeps names and notes; tensors sorted by their data */
    clef_stored_tensor *tensors;    /* owned; [header.count] */
    clef_tensor_table table;
    void **copies; /* owned; aligned copies of tensors at odd places */
    size_t copy_count;
};

/* ---- files that are something else ---- */

static bool begins_with(const clef_safetensors *file, const char *bytes, size_t length) {
    return file->length >= length && memcmp(file->bytes, bytes, length) == 0;
}

static bool begins_like_html(const clef_safetensors *file) {
    size_t at = 0;
    while (at < file->length && at < 64 && memchr(" \t\r\n", file->bytes[at], 4) != NULL) {
        at++;
    }
    const char *text = (const char *)file->bytes + at;
    size_t rest = file->length - at;
    return (rest >= 9 && strncasecmp(text, "<!doctype", 9) == 0) ||
           (rest >= 5 && strncasecmp(text, "<html", 5) == 0) ||
           (rest >= 5 && strncasecmp(text, "<head", 5) == 0);
}

/* What the file is instead of safetensors, as the end of "<file> …"; NULL when nothing is known. */
static const char *recognise(const clef_safetensors *file) {
    if (begins_with(file, "PK\x03\x04", 4)) {
        return "is a zip archive (perhaps a PyTorch checkpoint), not a safetensors file";
    }
    if (begins_with(file, "\x80", 1) && file->length >= 2 && file->bytes[1] >= 2 &&
        file->bytes[1] <= 5) {
        return "is a pickle (an old PyTorch checkpoint), not a safetensors file; pickles are "
               "programs and are never opened";
    }
    if (begins_with(file, "version https://git-lfs", 23)) {
        return "is a Git LFS pointer, not the weights themselves; fetch them with 'git lfs pull' "
               "or download the file";
    }
    if (begins_with(file, "GGUF", 4)) {
        return "is a GGUF file, not a safetensors file";
    }
    if (begins_like_html(file)) {
        return "is an HTML page, not a safetensors file; a download probably saved an error or "
               "login page";
    }
    return NULL;
}

/* ---- header ---- */

static uint64_t read_length(const unsigned char *bytes) {
    uint64_t value = 0;
    for (int i = LENGTH_BYTES - 1; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* Finds the header's text, or says what is wrong with the start of the file. */
static clef_status find_header(const clef_safetensors *file, clef_text *text, clef_error *error) {
    uint64_t length = file->length < LENGTH_BYTES ? 0 : read_length(file->bytes);
    uint64_t room = file->length < LENGTH_BYTES ? 0 : file->length - LENGTH_BYTES;
    const char *start = (const char *)file->bytes + LENGTH_BYTES;
    if (length > 0 && length <= CLEF_HEADER_BYTE_LIMIT && length <= room && *start == '{') {
        *text = (clef_text){start, (size_t)length};
        return CLEF_OK;
    }
    /* Only now: the first bytes of a true file may by chance spell any of the known beginnings. */
    const char *other = recognise(file);
    if (other != NULL) {
        return clef_bad_file_fail(error, file->path, "%s", other);
    }
    if (file->length < LENGTH_BYTES) {
        return clef_bad_file_fail(error, file->path,
                                  "the file has %zu bytes, too few for a safetensors header",
                                  file->length);
    }
    if (length == 0) {
        return clef_bad_file_fail(error, file->path, "its header has length 0");
    }
    if (length > CLEF_HEADER_BYTE_LIMIT) {
        return clef_bad_file_fail(error, file->path,
                                  "its first 8 bytes give a header of %" PRIu64
                                  " bytes; the limit is %u. This is not a safetensors file",
                                  length, CLEF_HEADER_BYTE_LIMIT);
    }
    if (length > room) {
        return clef_bad_file_fail(error, file->path,
                                  "the file is cut off: its header should end at byte %" PRIu64
                                  ", but the file has only %zu bytes",
                                  length + LENGTH_BYTES, file->length);
    }
    return clef_bad_file_fail(error, file->path, "its header is not a JSON object");
}

/* ---- ranges ---- */

/* By begin, then end, so that tensors of no bytes come before the one that begins where they lie;
 * by name at last, so that the order does not hang on the sort. */
static int compare_ranges(const void *left, const void *right) {
    const clef_header_tensor *a = left;
    const clef_header_tensor *b = right;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    if (a->end != b->end) {
        return a->end < b->end ? -1 : 1;
    }
    return clef_text_compare(a->name, b->name);
}

/* The range of `tensor` does not begin at `cursor`, where the range of the one before it ends. */
static clef_status fail_range(const clef_safetensors *file, const clef_header_tensor *tensor,
                              const clef_header_tensor *before, uint64_t cursor,
                              clef_error *error) {
    char name[CLEF_NAME_TEXT_BYTES];
    char other[CLEF_NAME_TEXT_BYTES];
    clef_name_text(tensor->name, name, sizeof name);
    if (tensor->begin < cursor) {
        return clef_bad_file_fail(error, file->path,
                                  "tensor %s with data_offsets [%" PRIu64 ", %" PRIu64
                                  "] overlaps tensor %s with [%" PRIu64 ", %" PRIu64 "]",
                                  name, tensor->begin, tensor->end,
                                  clef_name_text(before->name, other, sizeof other), before->begin,
                                  before->end);
    }
    return clef_bad_file_fail(error, file->path,
                              "there is a hole before tensor %s: its data_offsets begin at %" PRIu64
                              ", but %s at %" PRIu64,
                              name, tensor->begin,
                              before == NULL ? "the data begins" : "the tensor before it ends",
                              cursor);
}

/* The sorted ranges must follow each other without overlap or hole and fill the file. */
static clef_status check_ranges(const clef_safetensors *file, size_t data_bytes,
                                clef_error *error) {
    uint64_t data_begin = file->length - data_bytes;
    uint64_t cursor = 0;
    const clef_header_tensor *before = NULL;
    const clef_header_tensor *cut = NULL;
    for (size_t i = 0; i < file->header.count; i++) {
        const clef_header_tensor *tensor = &file->header.tensors[i];
        if (tensor->begin != cursor) {
            return fail_range(file, tensor, before, cursor, error);
        }
        cursor = tensor->end;
        before = tensor;
        /* Not refused at once: the end of the last tensor tells the size the file should have. */
        if (cursor > data_bytes && cut == NULL) {
            cut = tensor;
        }
    }
    char name[CLEF_NAME_TEXT_BYTES];
    if (cut != NULL) {
        return clef_bad_file_fail(error, file->path,
                                  "the file is cut off inside tensor %s: it has %zu bytes, "
                                  "expected %" PRIu64,
                                  clef_name_text(cut->name, name, sizeof name), file->length,
                                  cursor + data_begin);
    }
    if (cursor < data_bytes) {
        bool is_empty = before == NULL;
        return clef_bad_file_fail(error, file->path,
                                  "the file has %zu bytes, expected %" PRIu64 ": data follows %s%s",
                                  file->length, cursor + data_begin,
                                  is_empty ? "a header without tensors" : "the last tensor, ",
                                  is_empty ? "" : clef_name_text(before->name, name, sizeof name));
    }
    return CLEF_OK;
}

/* ---- tensors ---- */

/* Makes the list of tensors, still without data, and refuses a name that appears twice. */
static clef_status list_tensors(clef_safetensors *file, clef_error *error) {
    size_t count = file->header.count;
    file->tensors = clef_allocate(count, sizeof *file->tensors);
    if (file->tensors == NULL) {
        return clef_fail_memory(error, count * sizeof *file->tensors, "the list of tensors");
    }
    clef_status status = clef_tensor_table_create(&file->table, count, error);
    for (size_t i = 0; i < count && status == CLEF_OK; i++) {
        const clef_header_tensor *from = &file->header.tensors[i];
        clef_stored_tensor *to = &file->tensors[i];
        *to = (clef_stored_tensor){.name = from->name,
                                   .dtype = from->dtype,
                                   .rank = from->rank,
                                   .bytes = (size_t)(from->end - from->begin),
                                   .file = file->path};
        memcpy(to->shape, from->shape, sizeof to->shape);
        if (clef_tensor_table_insert(&file->table, to) != NULL) {
            char name[CLEF_NAME_TEXT_BYTES];
            status = clef_bad_file_fail(error, file->path, "tensor %s appears twice in its header",
                                        clef_name_text(from->name, name, sizeof name));
        }
    }
    return status;
}

static bool is_aligned(const void *data, clef_dtype dtype) {
    return (uintptr_t)data % clef_dtype_bytes(dtype) == 0;
}

/* Points the tensors at their data. Kernels load whole elements, so a tensor at an address that is
 * no multiple of its element's size is copied; files of the usual writers hold none. */
static clef_status place_tensors(clef_safetensors *file, const unsigned char *data,
                                 clef_error *error) {
    size_t odd_count = 0;
    for (size_t i = 0; i < file->header.count; i++) {
        clef_stored_tensor *tensor = &file->tensors[i];
        tensor->data = data + file->header.tensors[i].begin;
        odd_count += !is_aligned(tensor->data, tensor->dtype);
    }
    if (odd_count == 0) {
        return CLEF_OK;
    }
    file->copies = clef_allocate(odd_count, sizeof *file->copies);
    if (file->copies == NULL) {
        return clef_fail_memory(error, odd_count * sizeof *file->copies, "the list of copies");
    }
    for (size_t i = 0; i < file->header.count; i++) {
        clef_stored_tensor *tensor = &file->tensors[i];
        if (is_aligned(tensor->data, tensor->dtype)) {
            continue;
        }
        void *copy = clef_allocate_aligned(tensor->bytes, 1);
        if (copy == NULL) {
            return clef_fail_memory(error, tensor->bytes, "an aligned copy of a tensor");
        }
        memcpy(copy, tensor->data, tensor->bytes);
        tensor->data = copy;
        file->copies[file->copy_count++] = copy;
    }
    return CLEF_OK;
}

/* Reads and checks everything of a file whose bytes are known. */
static clef_status read_tensors(clef_safetensors *file, clef_error *error) {
    clef_text text;
    clef_status status = find_header(file, &text, error);
    if (status == CLEF_OK) {
        status = clef_safetensors_header_parse(file->path, text, &file->header, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    if (file->header.count > 1) {
        qsort(file->header.tensors, file->header.count, sizeof *file->header.tensors,
              compare_ranges);
    }
    /* Names first: a repeated tensor would otherwise be reported as an overlap. */
    status = list_tensors(file, error);
    size_t data_bytes = file->length - LENGTH_BYTES - text.length;
    if (status == CLEF_OK) {
        status = check_ranges(file, data_bytes, error);
    }
    if (status == CLEF_OK) {
        status = place_tensors(file, file->bytes + file->length - data_bytes, error);
    }
    return status;
}

/* ---- opening and looking ---- */

/* A file that knows its path and nothing else. */
static clef_status create_file(const char *path, clef_safetensors **out, clef_error *error) {
    *out = NULL;
    clef_safetensors *file = clef_allocate(1, sizeof *file);
    char *copy = clef_allocate(strlen(path) + 1, 1);
    if (file == NULL || copy == NULL) {
        clef_release(file);
        clef_release(copy);
        return clef_fail_memory(error, sizeof *file + strlen(path) + 1, "an opened weight file");
    }
    memcpy(copy, path, strlen(path));
    file->path = copy;
    *out = file;
    return CLEF_OK;
}

clef_status clef_safetensors_open(const char *path, clef_safetensors **out, clef_error *error) {
    clef_status status = create_file(path, out, error);
    if (status != CLEF_OK) {
        return status;
    }
    clef_safetensors *file = *out;
    status = clef_file_map(path, &file->file, error);
    if (status == CLEF_OK) {
        file->bytes = file->file.bytes;
        file->length = file->file.length;
        status = read_tensors(file, error);
    }
    if (status != CLEF_OK) {
        clef_safetensors_close(file);
        *out = NULL;
    }
    return status;
}

clef_status clef_safetensors_parse(const char *name, const void *bytes, size_t length,
                                   clef_safetensors **out, clef_error *error) {
    clef_status status = create_file(name, out, error);
    if (status != CLEF_OK) {
        return status;
    }
    (*out)->bytes = bytes;
    (*out)->length = length;
    status = read_tensors(*out, error);
    if (status != CLEF_OK) {
        clef_safetensors_close(*out);
        *out = NULL;
    }
    return status;
}

void clef_safetensors_close(clef_safetensors *file) {
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < file->copy_count; i++) {
        clef_release(file->copies[i]);
    }
    clef_release(file->copies);
    clef_tensor_table_release(&file->table);
    clef_release(file->tensors);
    clef_safetensors_header_release(&file->header);
    clef_file_close(&file->file);
    clef_release(file->path);
    clef_release(file);
}

const clef_file *clef_safetensors_find_file(const clef_safetensors *file, const void *bytes) {
    uintptr_t begin = (uintptr_t)file->file.bytes;
    bool is_inside = file->file.is_mapped && (uintptr_t)bytes >= begin &&
                     (uintptr_t)bytes - begin < file->file.length;
    return is_inside ? &file->file : NULL;
}

size_t clef_safetensors_bytes(const clef_safetensors *file) {
    return file->length;
}

size_t clef_safetensors_count(const clef_safetensors *file) {
    return file->header.count;
}

const clef_stored_tensor *clef_safetensors_at(const clef_safetensors *file, size_t index) {
    return &file->tensors[index];
}

const clef_stored_tensor *clef_safetensors_find(const clef_safetensors *file, clef_text name) {
    return clef_tensor_table_find(&file->table, name);
}

clef_text clef_safetensors_metadata(const clef_safetensors *file, clef_text key) {
    /* A handful of notes; no table is worth it. */
    for (size_t i = 0; i < file->header.note_count; i++) {
        if (clef_text_equals(file->header.notes[i].key, key)) {
            return file->header.notes[i].value;
        }
    }
    return (clef_text){NULL, 0};
}
