/* Writing of tensor names and shapes for messages, into buffers of the caller. */
#include "weights/tensor_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* A name up to this many printed bytes is shown whole; of a longer one, its two ends. */
#define WHOLE_BYTES 128
#define FRONT_BYTES 72
#define BACK_BYTES  40

typedef struct text_writer {
    char *out;
    size_t size;
    size_t length; /* written, without the NUL; always less than size */
} text_writer;

/* An empty text, so that even a buffer without room for a character holds one. */
static text_writer start_text(char *out, size_t size) {
    if (size > 0) {
        out[0] = '\0';
    }
    return (text_writer){out, size, 0};
}

/* Appends, printf style, what still fits. */
static void put(text_writer *writer, const char *format, ...) {
    if (writer->length + 1 >= writer->size) {
        return;
    }
    size_t room = writer->size - writer->length;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(writer->out + writer->length, room, format, arguments);
    va_end(arguments);
    if (written > 0) {
        writer->length += (size_t)written < room ? (size_t)written : room - 1;
    }
}

const char *clef_shape_text(unsigned rank, const uint64_t *shape, char *out, size_t size) {
    text_writer writer = start_text(out, size);
    put(&writer, "[");
    for (unsigned i = 0; i < rank; i++) {
        put(&writer, i == 0 ? "%" PRIu64 : ", %" PRIu64, shape[i]);
    }
    put(&writer, "]");
    return out;
}

/* Writes one character at *position as it is printed into piece; returns the printed length. */
static size_t print_character(clef_text name, size_t *position, char piece[16]) {
    unsigned char byte = (unsigned char)name.bytes[*position];
    if (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') {
        (*position)++;
        piece[0] = (char)byte;
        piece[1] = '\0';
        return 1;
    }
    uint32_t code = byte;
    if (byte < 0x80) {
        (*position)++;
    } else {
        code = clef_utf8_next(name.bytes, name.length, position);
    }
    return (size_t)snprintf(piece, 16, "\\u{%" PRIx32 "}", code);
}

/* Length of the whole name as it is printed. */
static size_t measure_printed(clef_text name) {
    char piece[16];
    size_t length = 0;
    for (size_t position = 0; position < name.length;) {
        length += print_character(name, &position, piece);
    }
    return length;
}

const char *clef_name_text(clef_text name, char *out, size_t size) {
    text_writer writer = start_text(out, size);
    size_t printed = measure_printed(name);
    bool is_whole = printed <= WHOLE_BYTES;
    size_t front = is_whole ? printed : FRONT_BYTES;
    size_t back = is_whole ? printed : printed - BACK_BYTES;
    put(&writer, "\"");
    size_t seen = 0;
    bool is_cut = false;
    for (size_t position = 0; position < name.length;) {
        char piece[16];
        size_t length = print_character(name, &position, piece);
        /* Whole characters only: one that would be cut falls into the gap. */
        if (seen + length <= front || seen >= back) {
            put(&writer, "%s", piece);
        } else if (!is_cut) {
            is_cut = true;
            put(&writer, "...");
        }
        seen += length;
    }
    put(&writer, "\"");
    if (!is_whole) {
        put(&writer, " (%zu bytes)", name.length);
    }
    return out;
}
