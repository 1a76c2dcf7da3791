/* Picture files built byte by byte: PNG of every kind with stored (not compressed) data, and the
 * fixtures with something put in. Knows nothing of the code under test. */
#ifndef CLEF_TEST_MADE_PICTURES_H
#define CLEF_TEST_MADE_PICTURES_H

#include "support.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t checksum(uint32_t crc, const void *bytes, size_t length) {
    const uint8_t *s = bytes;
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc ^= s[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1)));
        }
    }
    return ~crc;
}

static inline void add_big_endian(clef_buffer *out, uint32_t number) {
    const uint8_t bytes[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
                              (uint8_t)(number >> 8), (uint8_t)number};
    clef_buffer_append(out, bytes, 4);
}

static inline void add_little_endian(clef_buffer *out, uint32_t number, size_t size) {
    for (size_t i = 0; i < size; i++) {
        clef_buffer_append_byte(out, (char)(number >> 8 * i));
    }
}

static inline void add_chunk(clef_buffer *out, const char *type, const void *data, size_t length) {
    add_big_endian(out, (uint32_t)length);
    clef_buffer_append(out, type, 4);
    clef_buffer_append(out, data, length);
    add_big_endian(out, checksum(checksum(0, type, 4), data, length));
}

static inline void begin_png(clef_buffer *out, uint32_t width, uint32_t height, unsigned depth,
                             unsigned colour_type) {
    clef_buffer header = {0};
    add_big_endian(&header, width);
    add_big_endian(&header, height);
    const uint8_t rest[5] = {(uint8_t)depth, (uint8_t)colour_type, 0, 0, 0};
    clef_buffer_append(&header, rest, sizeof rest);
    clef_buffer_append(out, "\x89PNG\r\n\x1A\n", 8);
    add_chunk(out, "IHDR", header.bytes, header.length);
    clef_buffer_release(&header);
}

/* IDAT of rows with their filter bytes in front, at most 65535 bytes in all, and IEND. */
static inline void end_png(clef_buffer *out, const uint8_t *rows, size_t length) {
    clef_buffer data = {0};
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < length; i++) {
        low = (low + rows[i]) % 65521;
        high = (high + low) % 65521;
    }
    clef_buffer_append(&data, "\x78\x01\x01", 3);
    add_little_endian(&data, (uint32_t)length, 2);
    add_little_endian(&data, ~(uint32_t)length & 0xFFFF, 2);
    clef_buffer_append(&data, rows, length);
    add_big_endian(&data, high << 16 | low);
    add_chunk(out, "IDAT", data.bytes, data.length);
    add_chunk(out, "IEND", "", 0);
    clef_buffer_release(&data);
}

/* EXIF with one field. `type`: 3 short, 4 long. */
static inline void add_exif(clef_buffer *out, bool is_big_endian, unsigned type, uint32_t value) {
    if (is_big_endian) {
        clef_buffer_append(out, "MM\0*\0\0\0\x08\0\x01\x01\x12\0", 13);
        clef_buffer_append_byte(out, (char)type);
        add_big_endian(out, 1);
        add_big_endian(out, type == 3 ? value << 16 : value);
    } else {
        clef_buffer_append(out, "II*\0\x08\0\0\0\x01\0\x12\x01", 12);
        add_little_endian(out, type, 2);
        add_little_endian(out, 1, 4);
        add_little_endian(out, value, 4);
    }
    add_big_endian(out, 0);
}

static inline clef_text load_picture(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "tiny-random/media/images/%s", name);
    return load_file(fixture(path));
}

/* A JPEG with an APP1 segment behind its first mark. */
static inline void add_jpeg_with_exif(clef_buffer *out, clef_text jpeg, clef_text exif) {
    clef_buffer_append(out, jpeg.bytes, 2);
    clef_buffer_append(out, "\xFF\xE1", 2);
    size_t length = exif.length + 8;
    clef_buffer_append_byte(out, (char)(length >> 8));
    clef_buffer_append_byte(out, (char)length);
    clef_buffer_append(out, "Exif\0\0", 6);
    clef_buffer_append_text(out, exif);
    clef_buffer_append(out, jpeg.bytes + 2, jpeg.length - 2);
}

static inline void add_riff_chunk(clef_buffer *out, const char *type, const void *data,
                                  size_t length) {
    clef_buffer_append(out, type, 4);
    add_little_endian(out, (uint32_t)length, 4);
    clef_buffer_append(out, data, length);
    if (length % 2 == 1) {
        clef_buffer_append_byte(out, 0);
    }
}

/* The extended header: `flags` 8 EXIF, 2 animation, 16 alpha. */
static inline void begin_webp(clef_buffer *body, unsigned flags, uint32_t width, uint32_t height) {
    clef_buffer header = {0};
    add_little_endian(&header, flags, 4);
    add_little_endian(&header, width - 1, 3);
    add_little_endian(&header, height - 1, 3);
    add_riff_chunk(body, "VP8X", header.bytes, header.length);
    clef_buffer_release(&header);
}

static inline void end_webp(clef_buffer *out, const clef_buffer *body) {
    clef_buffer_append(out, "RIFF", 4);
    add_little_endian(out, (uint32_t)body->length + 4, 4);
    clef_buffer_append(out, "WEBP", 4);
    clef_buffer_append(out, body->bytes, body->length);
}

#endif
