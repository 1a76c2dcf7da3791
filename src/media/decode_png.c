/* Adapter of libpng, the only file that names it.
 *
 * Colour is read as stored: gamma, profiles and backgrounds do not touch it. Every chunk but those
 * that make the pixels is skipped unread (its checksum is still checked), so that nothing in a file
 * can be unpacked to more than the picture itself. */
#include "media/decoders.h"

#include "base/memory.h"
#include "media/escape.h"
#include "media/exif.h"
#include "media/media_error.h"

#include <string.h>

#include <png.h>

#define SIGNATURE_BYTES 8

typedef struct png_reader {
    png_structp library; /* owned */
    png_infop info;      /* owned, with the library */
    clef_escape escape;
    const clef_encoded *encoded;
    clef_stored *stored;
    size_t at; /* bytes read so far */
    bool is_out_of_memory;
    clef_status status;
    clef_error *error;
} png_reader;

/* ---- what the library calls ---------------------------------------------------------------- */

static void give_up(png_structp library, png_const_charp message) {
    png_reader *reader = png_get_error_ptr(library);
    if (reader->is_out_of_memory) {
        reader->status = clef_fail(reader->error, CLEF_OUT_OF_MEMORY,
                                   "out of memory: the PNG decoder could not take more");
    } else {
        reader->status = clef_fail_media(reader->error, CLEF_BAD_REQUEST,
                                         "not a decodable image (PNG: %s)", message);
    }
    clef_escape_leave(&reader->escape);
}

static void hear_warning(png_structp library, png_const_charp message) {
    (void)library;
    (void)message;
}

static void give_bytes(png_structp library, png_bytep bytes, size_t length) {
    png_reader *reader = png_get_io_ptr(library);
    if (reader->encoded->length - reader->at < length) {
        reader->status = clef_fail_media(
            reader->error, CLEF_BAD_REQUEST,
            "not a decodable image (PNG: it is cut off after %zu bytes)", reader->encoded->length);
        clef_escape_leave(&reader->escape);
    }
    memcpy(bytes, reader->encoded->bytes + reader->at, length);
    reader->at += length;
}

static png_voidp allocate(png_structp library, png_alloc_size_t bytes) {
    png_reader *reader = png_get_mem_ptr(library);
    void *block = clef_allocate(bytes, 1);
    reader->is_out_of_memory |= block == NULL;
    return block;
}

static void release(png_structp library, png_voidp block) {
    (void)library;
    clef_release(block);
}

/* ---- header -------------------------------------------------------------------------------- */

static uint32_t read_big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The first eXIf chunk, wherever it stands: some writers put it behind the pixels, where the
 * library would find it only after decoding. */
static unsigned find_orientation(const clef_encoded *encoded) {
    size_t at = SIGNATURE_BYTES;
    while (encoded->length - at >= 12) {
        const uint8_t *chunk = encoded->bytes + at;
        size_t length = read_big_endian(chunk);
        if (length > encoded->length - at - 12) {
            return 1;
        }
        if (memcmp(chunk + 4, "eXIf", 4) == 0) {
            return clef_exif_orientation(chunk + 8, length);
        }
        at += length + 12;
    }
    return 1;
}

static void read_header(png_reader *reader) {
    png_structp library = reader->library;
    png_set_read_fn(library, reader, give_bytes);
    png_set_keep_unknown_chunks(library, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    /* No chunk can be longer than the file; whatever says so is refused at once. */
    png_set_chunk_malloc_max(library, reader->encoded->length);
    png_read_info(library, reader->info);
    clef_stored *stored = reader->stored;
    stored->width = png_get_image_width(library, reader->info);
    stored->height = png_get_image_height(library, reader->info);
    stored->orientation = find_orientation(reader->encoded);
    reader->status = clef_picture_check_size(stored->width, stored->height,
                                             reader->encoded->pixel_limit, reader->error);
}

/* ---- pixels -------------------------------------------------------------------------------- */

/* Whatever the file holds becomes three bytes a pixel. */
static void ask_for_rgb(png_structp library) {
    png_set_palette_to_rgb(library);
    png_set_expand_gray_1_2_4_to_8(library);
    png_set_strip_16(library);
    png_set_strip_alpha(library);
    png_set_gray_to_rgb(library);
}

static void read_rows(png_reader *reader) {
    png_structp library = reader->library;
    clef_stored *stored = reader->stored;
    ask_for_rgb(library);
    int pass_count = png_set_interlace_handling(library);
    png_read_update_info(library, reader->info);
    size_t row_bytes = (size_t)stored->width * 3;
    if (png_get_rowbytes(library, reader->info) != row_bytes) {
        png_error(library, "its rows have an unexpected length");
    }
    /* Each pass of an interlaced picture fills in more of the same rows. */
    for (int pass = 0; pass < pass_count; pass++) {
        for (uint32_t y = 0; y < stored->height; y++) {
            png_read_row(library, stored->picture.rgb + row_bytes * y, NULL);
        }
    }
    png_read_end(library, NULL);
}

static void read_all(void *context) {
    png_reader *reader = context;
    reader->info = png_create_info_struct(reader->library);
    if (reader->info == NULL) {
        reader->is_out_of_memory = true;
        png_error(reader->library, "no memory");
    }
    read_header(reader);
    if (reader->status == CLEF_OK && !reader->encoded->is_header_only) {
        clef_stored *stored = reader->stored;
        reader->status =
            clef_picture_create(stored->width, stored->height, &stored->picture, reader->error);
        if (reader->status == CLEF_OK) {
            read_rows(reader);
        }
    }
}

/* Apart, because the library's first call may already give up. */
static void create_library(void *context) {
    png_reader *reader = context;
    reader->library = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, reader, give_up, hear_warning,
                                               reader, allocate, release);
}

clef_status clef_png_decode(const clef_encoded *encoded, clef_stored *stored, clef_error *error) {
    png_reader reader = {.encoded = encoded, .stored = stored, .error = error};
    (void)clef_escape_guard(&reader.escape, create_library, &reader);
    if (reader.library == NULL) {
        return reader.is_out_of_memory
                   ? clef_fail(error, CLEF_OUT_OF_MEMORY,
                               "out of memory: the PNG decoder could not be created")
                   : clef_fail(error, CLEF_INTERNAL,
                               "libpng is of another version than its headers");
    }
    (void)clef_escape_guard(&reader.escape, read_all, &reader);
    png_destroy_read_struct(&reader.library, &reader.info, NULL);
    if (reader.status != CLEF_OK) {
        clef_picture_release(&stored->picture);
    }
    return reader.status;
}
