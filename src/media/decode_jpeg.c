/* Adapter of libjpeg-turbo, the only file that names it.
 *
 * The library reports a fatal fault by calling give_up, which must not return: it leaves through
 * the escape. All that must be released then lives in the reader. Faults in the data that the
 * library mends (a warning) are accepted as every viewer accepts them, but for data that ends
 * early: a picture that was cut off is refused. */
#include "media/decoders.h"

#include "base/memory.h"
#include "media/escape.h"
#include "media/exif.h"
#include "media/media_error.h"

#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
/* Behind jpeglib.h: the numbers of the library's messages. */
#include <jerror.h>

/* Encoders write about ten scans. Each scan visits every block of the picture, however few bytes it
 * has, so their number bounds the time. */
#define SCAN_LIMIT 100
/* Rows asked for in one call; the library gives as many as it has ready. */
#define ROWS_AT_ONCE 16

typedef struct jpeg_reader {
    struct jpeg_decompress_struct library;
    struct jpeg_error_mgr faults;
    struct jpeg_progress_mgr progress;
    clef_escape escape;
    const clef_encoded *encoded;
    clef_stored *stored;
    uint8_t *ink_row; /* owned: [width, 4], CMYK only */
    clef_status status;
    clef_error *error;
} jpeg_reader;

/* ---- what the library calls ---------------------------------------------------------------- */

static _Noreturn void leave(jpeg_reader *reader, clef_status status) {
    reader->status = status;
    clef_escape_leave(&reader->escape);
}

static _Noreturn void refuse_kind(jpeg_reader *reader, const char *kind) {
    leave(reader, clef_fail_media(reader->error, CLEF_BAD_REQUEST,
                                  "format %s JPEG is not supported (PNG, JPEG, WebP)", kind));
}

static _Noreturn void give_up(j_common_ptr library) {
    jpeg_reader *reader = library->client_data;
    switch (library->err->msg_code) {
    case JERR_BAD_PRECISION:
        refuse_kind(reader, library->err->msg_parm.i[0] == 12 ? "12-bit" : "other than 8-bit");
    case JERR_SOF_UNSUPPORTED:
        refuse_kind(reader, "lossless or hierarchical");
    case JERR_OUT_OF_MEMORY:
        leave(reader, clef_fail(reader->error, CLEF_OUT_OF_MEMORY,
                                "out of memory: the JPEG decoder could not take more"));
    default:
        break;
    }
    char message[JMSG_LENGTH_MAX];
    library->err->format_message(library, message);
    leave(reader, clef_fail_media(reader->error, CLEF_BAD_REQUEST,
                                  "not a decodable image (JPEG: %s)", message));
}

static void hear_message(j_common_ptr library, int level) {
    jpeg_reader *reader = library->client_data;
    if (level < 0 && library->err->msg_code == JWRN_JPEG_EOF) {
        leave(reader, clef_fail_media(reader->error, CLEF_BAD_REQUEST,
                                      "not a decodable image (JPEG: it is cut off after %zu bytes)",
                                      reader->encoded->length));
    }
}

static void print_nothing(j_common_ptr library) {
    (void)library;
}

static void count_scans(j_common_ptr library) {
    jpeg_reader *reader = library->client_data;
    if (reader->library.input_scan_number > SCAN_LIMIT) {
        leave(reader,
              clef_fail_media(reader->error, CLEF_BAD_REQUEST,
                              "not a decodable image (JPEG: more than %d scans)", SCAN_LIMIT));
    }
}

/* ---- pixels -------------------------------------------------------------------------------- */

/* a · b / 255, rounded. */
static uint8_t multiply_shares(unsigned a, unsigned b) {
    return (uint8_t)((a * b + 127) / 255);
}

/* Files hold inks the way Adobe writes them: 255 is no ink, so what is stored is what is left. */
static void convert_inks(const uint8_t *ink, uint8_t *rgb, uint32_t width) {
    for (uint32_t x = 0; x < width; x++) {
        rgb[0] = multiply_shares(ink[0], ink[3]);
        rgb[1] = multiply_shares(ink[1], ink[3]);
        rgb[2] = multiply_shares(ink[2], ink[3]);
        rgb += 3;
        ink += 4;
    }
}

static void read_inks(jpeg_reader *reader) {
    clef_stored *stored = reader->stored;
    reader->ink_row = clef_allocate(stored->width, 4);
    if (reader->ink_row == NULL) {
        leave(reader, clef_fail_memory(reader->error, (size_t)stored->width * 4, "a row of inks"));
    }
    for (uint32_t y = 0; y < stored->height; y++) {
        JSAMPROW row = reader->ink_row;
        jpeg_read_scanlines(&reader->library, &row, 1);
        convert_inks(reader->ink_row, stored->picture.rgb + (size_t)y * stored->width * 3,
                     stored->width);
    }
}

static void read_colours(jpeg_reader *reader) {
    clef_stored *stored = reader->stored;
    JSAMPROW rows[ROWS_AT_ONCE];
    while (reader->library.output_scanline < stored->height) {
        uint32_t first = reader->library.output_scanline, left = stored->height - first;
        uint32_t count = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        for (uint32_t i = 0; i < count; i++) {
            rows[i] = stored->picture.rgb + (size_t)(first + i) * stored->width * 3;
        }
        jpeg_read_scanlines(&reader->library, rows, count);
    }
}

/* ---- header -------------------------------------------------------------------------------- */

static unsigned find_orientation(const struct jpeg_decompress_struct *library) {
    for (jpeg_saved_marker_ptr marker = library->marker_list; marker != NULL;
         marker = marker->next) {
        if (marker->data_length >= 6 && memcmp(marker->data, "Exif\0\0", 6) == 0) {
            return clef_exif_orientation(marker->data, marker->data_length);
        }
    }
    return 1;
}

static void read_header(jpeg_reader *reader) {
    struct jpeg_decompress_struct *library = &reader->library;
    jpeg_save_markers(library, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(library, TRUE);
    if (library->arith_code) {
        refuse_kind(reader, "arithmetic-coded");
    }
    if (library->num_components == 2 || library->jpeg_color_space == JCS_UNKNOWN) {
        leave(reader, clef_fail_media(reader->error, CLEF_BAD_REQUEST,
                                      "not a decodable image (JPEG: %d colour components; 1, 3 and "
                                      "4 are read)",
                                      library->num_components));
    }
    reader->stored->width = library->image_width;
    reader->stored->height = library->image_height;
    reader->stored->orientation = find_orientation(library);
    reader->status = clef_picture_check_size(library->image_width, library->image_height,
                                             reader->encoded->pixel_limit, reader->error);
    if (reader->status != CLEF_OK) {
        leave(reader, reader->status);
    }
}

static void read_all(void *context) {
    jpeg_reader *reader = context;
    clef_stored *stored = reader->stored;
    struct jpeg_decompress_struct *library = &reader->library;
    jpeg_create_decompress(library);
    library->progress = &reader->progress;
    jpeg_mem_src(library, reader->encoded->bytes, (unsigned long)reader->encoded->length);
    read_header(reader);
    if (reader->encoded->is_header_only) {
        return;
    }
    reader->status =
        clef_picture_create(stored->width, stored->height, &stored->picture, reader->error);
    if (reader->status != CLEF_OK) {
        return;
    }
    bool has_inks = library->num_components == 4;
    library->out_color_space = has_inks ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(library);
    if (has_inks) {
        read_inks(reader);
    } else {
        read_colours(reader);
    }
    /* Reads on to the end mark, so that a file without one is noticed. */
    jpeg_finish_decompress(library);
}

clef_status clef_jpeg_decode(const clef_encoded *encoded, clef_stored *stored, clef_error *error) {
    jpeg_reader reader = {.encoded = encoded, .stored = stored, .error = error};
    reader.library.err = jpeg_std_error(&reader.faults);
    reader.library.client_data = &reader;
    reader.faults.error_exit = give_up;
    reader.faults.emit_message = hear_message;
    reader.faults.output_message = print_nothing;
    reader.progress.progress_monitor = count_scans;
    (void)clef_escape_guard(&reader.escape, read_all, &reader);
    jpeg_destroy_decompress(&reader.library);
    clef_release(reader.ink_row);
    if (reader.status != CLEF_OK) {
        clef_picture_release(&stored->picture);
    }
    return reader.status;
}
