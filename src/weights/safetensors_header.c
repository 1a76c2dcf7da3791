/* Reads the header as a stream of JSON events, so that a header of many megabytes needs no tree. */
#include "weights/safetensors_header.h"

#include "base/json_reader.h"
#include "base/memory.h"
#include "weights/bad_file.h"

#include <inttypes.h>

/* What is being read; `name` is the tensor's name as printed in messages. */
typedef struct header_parser {
    const char *path;
    clef_safetensors_header *header;
    clef_json_reader reader;
    clef_error *error;
    char name[CLEF_NAME_TEXT_BYTES];
} header_parser;

/* The next event; a failure of the reader becomes one about this file. */
static clef_status read_event(header_parser *parser, clef_json_event *event) {
    clef_status status = clef_json_read(&parser->reader, event, parser->error);
    return status == CLEF_OK
               ? CLEF_OK
               : clef_bad_file_from_json(parser->error, status, parser->path, "its header");
}

/* Longest part of a value of the file that a message repeats. */
static int cut_length(clef_text text) {
    return text.length > 40 ? 40 : (int)text.length;
}

/* Reads a size of the header: a number that is a whole one from 0 to 2^63 − 1, plainly written. */
static clef_status read_size(header_parser *parser, clef_json_event event, const char *what,
                             unsigned index, uint64_t *size) {
    clef_text text = parser->reader.text;
    uint64_t value = 0;
    bool is_valid = event == CLEF_JSON_EVENT_NUMBER;
    for (size_t i = 0; is_valid && i < text.length; i++) {
        char digit = text.bytes[i];
        is_valid = digit >= '0' && digit <= '9' &&
                   !__builtin_mul_overflow(value, (uint64_t)10, &value) &&
                   !__builtin_add_overflow(value, (uint64_t)(digit - '0'), &value);
    }
    if (is_valid && value <= INT64_MAX) {
        *size = value;
        return CLEF_OK;
    }
    const char *expected = "expected a whole number from 0 to 2^63-1, written in digits alone";
    if (event != CLEF_JSON_EVENT_NUMBER) {
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: %s[%u] is not a number; %s", parser->name, what,
                                  index, expected);
    }
    return clef_bad_file_fail(parser->error, parser->path, "tensor %s: %s[%u] is %.*s%s; %s",
                              parser->name, what, index, cut_length(text), text.bytes,
                              text.length > 40 ? "..." : "", expected);
}

/* Reads an array of at most `limit` sizes. */
static clef_status read_sizes(header_parser *parser, const char *what, unsigned limit,
                              uint64_t *sizes, unsigned *count) {
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_ARRAY_BEGIN) {
        status = clef_bad_file_fail(parser->error, parser->path,
                                    "tensor %s: %s is not an array of numbers", parser->name, what);
    }
    *count = 0;
    while (status == CLEF_OK) {
        status = read_event(parser, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_ARRAY_END) {
            break;
        }
        if (*count == limit) {
            return clef_bad_file_fail(parser->error, parser->path,
                                      "tensor %s: %s has more than %u values", parser->name, what,
                                      limit);
        }
        status = read_size(parser, event, what, *count, &sizes[*count]);
        (*count)++;
    }
    return status;
}

/* Reads the value of dtype. */
static clef_status read_dtype(header_parser *parser, clef_header_tensor *tensor) {
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status != CLEF_OK) {
        return status;
    }
    if (event != CLEF_JSON_EVENT_STRING) {
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: dtype is not a string such as \"BF16\"",
                                  parser->name);
    }
    if (!clef_dtype_parse(parser->reader.text, &tensor->dtype)) {
        char found[CLEF_NAME_TEXT_BYTES];
        return clef_bad_file_fail(
            parser->error, parser->path,
            "tensor %s: type %s is not supported; weights may be BF16, F16 or F32", parser->name,
            clef_name_text(parser->reader.text, found, sizeof found));
    }
    return CLEF_OK;
}

/* Reads the value of data_offsets. */
static clef_status read_range(header_parser *parser, clef_header_tensor *tensor) {
    uint64_t range[2] = {0, 0};
    unsigned count;
    clef_status status = read_sizes(parser, "data_offsets", 2, range, &count);
    if (status != CLEF_OK) {
        return status;
    }
    if (count != 2) {
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: data_offsets has %u value%s, expected begin and end",
                                  parser->name, count, count == 1 ? "" : "s");
    }
    tensor->begin = range[0];
    tensor->end = range[1];
    return CLEF_OK;
}

/* The members of a tensor's object, one bit each. */
enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_RANGE = 4, HAS_ALL = 7 };

/* Reads the member whose key was the last event. */
static clef_status read_member(header_parser *parser, clef_header_tensor *tensor, unsigned *has) {
    clef_text key = parser->reader.text;
    unsigned bit = clef_text_equals(key, CLEF_TEXT("dtype"))          ? HAS_DTYPE
                   : clef_text_equals(key, CLEF_TEXT("shape"))        ? HAS_SHAPE
                   : clef_text_equals(key, CLEF_TEXT("data_offsets")) ? HAS_RANGE
                                                                      : 0;
    /* A member we do not know could change what the others mean. */
    if (bit == 0 || (*has & bit) != 0) {
        char found[CLEF_NAME_TEXT_BYTES];
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: %s %s; expected dtype, shape and data_offsets",
                                  parser->name, bit == 0 ? "unknown key" : "repeated key",
                                  clef_name_text(key, found, sizeof found));
    }
    *has |= bit;
    switch (bit) {
    case HAS_DTYPE:
        return read_dtype(parser, tensor);
    case HAS_SHAPE:
        return read_sizes(parser, "shape", CLEF_RANK_LIMIT, tensor->shape, &tensor->rank);
    default:
        return read_range(parser, tensor);
    }
}

/* The range must be as long as the shape and type say, without overflow on the way. */
static clef_status check_length(header_parser *parser, const clef_header_tensor *tensor) {
    char shape[CLEF_SHAPE_TEXT_BYTES];
    clef_shape_text(tensor->rank, tensor->shape, shape, sizeof shape);
    uint64_t bytes = clef_dtype_bytes(tensor->dtype);
    bool has_zero = false;
    for (unsigned i = 0; i < tensor->rank; i++) {
        has_zero = has_zero || tensor->shape[i] == 0;
    }
    /* Overflow counts even where a later 0 would make the product small: no tensor looks so. */
    bool overflows = false;
    for (unsigned i = 0; i < tensor->rank; i++) {
        uint64_t size = tensor->shape[i] == 0 ? 1 : tensor->shape[i];
        overflows = overflows || __builtin_mul_overflow(bytes, size, &bytes);
    }
    if (overflows || bytes > INT64_MAX) {
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: the product of shape %s overflows", parser->name,
                                  shape);
    }
    bytes = has_zero ? 0 : bytes;
    if (tensor->end < tensor->begin) {
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: data_offsets [%" PRIu64 ", %" PRIu64
                                  "] end before they begin",
                                  parser->name, tensor->begin, tensor->end);
    }
    if (tensor->end - tensor->begin != bytes) {
        return clef_bad_file_fail(parser->error, parser->path,
                                  "tensor %s: data_offsets [%" PRIu64 ", %" PRIu64 "] hold %" PRIu64
                                  " bytes, but shape %s of %s takes %" PRIu64,
                                  parser->name, tensor->begin, tensor->end,
                                  tensor->end - tensor->begin, shape,
                                  clef_dtype_name(tensor->dtype), bytes);
    }
    return CLEF_OK;
}

/* Reads the tensor whose key was the last event. */
static clef_status read_tensor(header_parser *parser, clef_header_tensor *tensor) {
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_OBJECT_BEGIN) {
        status = clef_bad_file_fail(parser->error, parser->path,
                                    "tensor %s is not an object with dtype, shape and data_offsets",
                                    parser->name);
    }
    unsigned has = 0;
    while (status == CLEF_OK) {
        status = read_event(parser, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_OBJECT_END) {
            break;
        }
        status = read_member(parser, tensor, &has);
    }
    if (status == CLEF_OK && has != HAS_ALL) {
        const char *missing = (has & HAS_DTYPE) == 0   ? "dtype"
                              : (has & HAS_SHAPE) == 0 ? "shape"
                                                       : "data_offsets";
        status = clef_bad_file_fail(parser->error, parser->path, "tensor %s has no %s",
                                    parser->name, missing);
    }
    return status == CLEF_OK ? check_length(parser, tensor) : status;
}

/* Makes room for one more item in an owned array. */
static clef_status grow(void **items, size_t count, size_t *capacity, size_t size,
                        clef_error *error) {
    if (count < *capacity) {
        return CLEF_OK;
    }
    /* Doubling; the header's byte limit bounds the count far below any overflow. */
    size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *grown = clef_reallocate(*items, wanted, size);
    if (grown == NULL) {
        return clef_fail_memory(error, wanted * size, "the list of tensors");
    }
    *items = grown;
    *capacity = wanted;
    return CLEF_OK;
}

/* Reads the tensor of that name into a new entry, which counts only when all of it is right. */
static clef_status add_tensor(header_parser *parser, clef_text name) {
    clef_safetensors_header *header = parser->header;
    void *items = header->tensors;
    clef_status status =
        grow(&items, header->count, &header->capacity, sizeof *header->tensors, parser->error);
    header->tensors = items;
    if (status != CLEF_OK) {
        return status;
    }
    clef_name_text(name, parser->name, sizeof parser->name);
    clef_header_tensor *tensor = &header->tensors[header->count];
    *tensor = (clef_header_tensor){.name = name};
    status = read_tensor(parser, tensor);
    if (status == CLEF_OK) {
        header->count++;
    }
    return status;
}

/* Reads the note of that key; notes are strings by the format. */
static clef_status add_note(header_parser *parser, clef_text key) {
    clef_safetensors_header *header = parser->header;
    char name[CLEF_NAME_TEXT_BYTES];
    clef_name_text(key, name, sizeof name);
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_STRING) {
        status = clef_bad_file_fail(parser->error, parser->path,
                                    "__metadata__: the value of %s is not a string", name);
    }
    if (status != CLEF_OK) {
        return status;
    }
    void *items = header->notes;
    status = grow(&items, header->note_count, &header->note_capacity, sizeof *header->notes,
                  parser->error);
    header->notes = items;
    if (status == CLEF_OK) {
        header->notes[header->note_count++] = (clef_header_note){key, parser->reader.text};
    }
    return status;
}

/* Reads __metadata__, whose key was the last event. */
static clef_status read_notes(header_parser *parser) {
    if (parser->header->has_notes) {
        return clef_bad_file_fail(parser->error, parser->path, "its header repeats __metadata__");
    }
    parser->header->has_notes = true;
    clef_json_event event;
    clef_status status = read_event(parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_OBJECT_BEGIN) {
        status = clef_bad_file_fail(parser->error, parser->path,
                                    "__metadata__ is not an object of strings");
    }
    while (status == CLEF_OK) {
        status = read_event(parser, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_OBJECT_END) {
            break;
        }
        status = add_note(parser, parser->reader.text);
    }
    return status;
}

clef_status clef_safetensors_header_parse(const char *path, clef_text text,
                                          clef_safetensors_header *header, clef_error *error) {
    *header = (clef_safetensors_header){0};
    header_parser parser = {.path = path, .header = header, .error = error};
    clef_json_reader_init(&parser.reader, text, &header->strings);
    clef_json_event event;
    clef_status status = read_event(&parser, &event);
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_OBJECT_BEGIN) {
        status = clef_bad_file_fail(error, path, "its header is not a JSON object");
    }
    while (status == CLEF_OK) {
        status = read_event(&parser, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_OBJECT_END) {
            break;
        }
        clef_text key = parser.reader.text;
        status = clef_text_equals(key, CLEF_TEXT("__metadata__")) ? read_notes(&parser)
                                                                  : add_tensor(&parser, key);
    }
    if (status == CLEF_OK) {
        status = read_event(&parser, &event); /* nothing but white space follows */
    }
    if (status != CLEF_OK) {
        clef_safetensors_header_release(header);
    }
    return status;
}

void clef_safetensors_header_release(clef_safetensors_header *header) {
    clef_release(header->tensors);
    clef_release(header->notes);
    clef_arena_release(&header->strings);
    *header = (clef_safetensors_header){0};
}
