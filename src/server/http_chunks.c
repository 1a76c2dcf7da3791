/* One state a byte, but for data, which is taken in runs. */
#include "server/http_chunks.h"

#include "server/limits.h"

/* 16 hexadecimal digits fill 64 bits. */
#define SIZE_DIGITS 16

enum {
    SIZE,
    SIZE_BLANK, /* blanks that old senders put before an extension */
    EXTENSION,
    SIZE_END, /* the LF behind a size */
    DATA,
    DATA_RETURN,
    DATA_END,
    TRAILER, /* at the start of a trailer line */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_END,
    LAST_END, /* the LF of the empty line */
};

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool is_text(char byte) {
    unsigned char c = (unsigned char)byte;
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

/* The size line has ended: on to its data, or to the trailers. */
static int begin_chunk(clef_http_chunks *chunks) {
    chunks->line_bytes = 0;
    return chunks->left > 0 ? DATA : TRAILER;
}

/* Takes a byte of a size line; returns the next state or -1. */
static int read_size(clef_http_chunks *chunks, char byte) {
    int digit = hex_digit(byte);
    if (chunks->state == SIZE && digit >= 0) {
        chunks->digits += 1;
        chunks->left = chunks->left * 16 + (uint64_t)digit;
        return chunks->digits <= SIZE_DIGITS ? SIZE : -1;
    }
    if (chunks->digits == 0) {
        return -1;
    }
    if (chunks->state != EXTENSION && byte == ';') {
        return EXTENSION;
    }
    if (chunks->state != EXTENSION && (byte == ' ' || byte == '\t')) {
        chunks->line_bytes += 1;
        return chunks->line_bytes < CLEF_CHUNK_LINE_LIMIT ? SIZE_BLANK : -1;
    }
    if (byte == '\r' && chunks->state != SIZE_BLANK) {
        return SIZE_END;
    }
    chunks->line_bytes += 1;
    return chunks->state == EXTENSION && is_text(byte) && chunks->line_bytes < CLEF_CHUNK_LINE_LIMIT
               ? EXTENSION
               : -1;
}

static int read_trailer(clef_http_chunks *chunks, char byte) {
    chunks->line_bytes += 1;
    if (chunks->line_bytes > CLEF_TRAILER_BYTES_LIMIT) {
        return -1;
    }
    switch (chunks->state) {
    case TRAILER:
        if (byte == '\r') {
            return LAST_END;
        }
        return is_text(byte) && byte != ' ' && byte != '\t' && byte != ':' ? TRAILER_NAME : -1;
    case TRAILER_NAME:
        if (byte == ':') {
            return TRAILER_VALUE;
        }
        return is_text(byte) && byte != ' ' && byte != '\t' ? TRAILER_NAME : -1;
    case TRAILER_VALUE:
        if (byte == '\r') {
            return TRAILER_END;
        }
        return is_text(byte) ? TRAILER_VALUE : -1;
    default:
        return byte == '\n' ? TRAILER : -1;
    }
}

/* Takes one byte that is not data; returns the next state or -1. */
static int read_byte(clef_http_chunks *chunks, char byte) {
    switch (chunks->state) {
    case SIZE:
    case SIZE_BLANK:
    case EXTENSION:
        return read_size(chunks, byte);
    case SIZE_END:
        return byte == '\n' ? begin_chunk(chunks) : -1;
    case DATA_RETURN:
        return byte == '\r' ? DATA_END : -1;
    case DATA_END:
        chunks->digits = 0;
        return byte == '\n' ? SIZE : -1;
    default:
        return read_trailer(chunks, byte);
    }
}

clef_chunk_result clef_http_chunks_feed(clef_http_chunks *chunks, clef_text bytes, uint64_t limit,
                                        clef_buffer *out, size_t *used) {
    size_t i = 0;
    clef_chunk_result result = CLEF_CHUNKS_MORE;
    while (i < bytes.length && result == CLEF_CHUNKS_MORE) {
        if (chunks->state == DATA) {
            size_t here = bytes.length - i;
            size_t run = chunks->left < here ? (size_t)chunks->left : here;
            if (out != NULL) {
                clef_buffer_append(out, bytes.bytes + i, run);
            }
            chunks->left -= run;
            i += run;
            chunks->state = chunks->left == 0 ? DATA_RETURN : DATA;
            continue;
        }
        char byte = bytes.bytes[i];
        i += 1;
        if (chunks->state == LAST_END) {
            result = byte == '\n' ? CLEF_CHUNKS_END : CLEF_CHUNKS_MALFORMED;
            break;
        }
        int next = read_byte(chunks, byte);
        if (next < 0) {
            result = CLEF_CHUNKS_MALFORMED;
        } else if (chunks->state == SIZE_END) {
            /* Before any of its data is taken: a size may be near 2^64. */
            if (chunks->left > limit || chunks->total > limit - chunks->left) {
                result = CLEF_CHUNKS_TOO_LARGE;
            } else {
                chunks->total += chunks->left;
            }
        }
        chunks->state = next;
    }
    *used = i;
    return result;
}
