/* Reads one entry of the first directory of a TIFF structure, every offset checked. */
#include "media/exif.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ORIENTATION_TAG 0x0112
#define TYPE_SHORT      3
#define TYPE_LONG       4
#define ENTRY_BYTES     12

typedef struct tiff_block {
    const uint8_t *bytes;
    size_t length;
    bool is_big_endian;
} tiff_block;

/* `size` bytes (2 or 4) at `at`, which the caller has checked. */
static uint32_t read_number(const tiff_block *block, size_t at, size_t size) {
    uint32_t number = 0;
    for (size_t i = 0; i < size; i++) {
        size_t from = block->is_big_endian ? i : size - 1 - i;
        number = number << 8 | block->bytes[at + from];
    }
    return number;
}

unsigned clef_exif_orientation(const void *bytes, size_t length) {
    tiff_block block = {bytes, length, false};
    if (length >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0) {
        block.bytes += 6;
        block.length -= 6;
    }
    if (block.length < 8) {
        return 1;
    }
    block.is_big_endian = memcmp(block.bytes, "MM\0*", 4) == 0;
    if (!block.is_big_endian && memcmp(block.bytes, "II*\0", 4) != 0) {
        return 1;
    }
    size_t directory = read_number(&block, 4, 4);
    if (directory > block.length || block.length - directory < 2) {
        return 1;
    }
    size_t count = read_number(&block, directory, 2);
    for (size_t at = directory + 2; count > 0 && block.length - at >= ENTRY_BYTES; count--) {
        if (read_number(&block, at, 2) == ORIENTATION_TAG) {
            uint32_t type = read_number(&block, at + 2, 2);
            uint32_t value = type == TYPE_SHORT  ? read_number(&block, at + 8, 2)
                             : type == TYPE_LONG ? read_number(&block, at + 8, 4)
                                                 : 1;
            return value >= 1 && value <= 8 ? value : 1;
        }
        at += ENTRY_BYTES;
    }
    return 1;
}
