/* Decoding by kind of file: our decisions where the reference has others, orientation in every
 * container, refusals by name, limits from the header. (Pixels of whole pictures: parity suite.) */
#include "made_pictures.h"

#include "base/system_memory.h"
#include "media/decode.h"

static const clef_decode_options defaults = {0};

static clef_picture decode(const clef_buffer *file, const clef_decode_options *options) {
    clef_error error = {0};
    clef_picture picture;
    clef_picture_facts facts;
    assert_ok(clef_picture_decode(file->bytes, file->length, options, &picture, &error), &error);
    assert_ok(clef_picture_probe(file->bytes, file->length, options, &facts, &error), &error);
    assert_int_equal(facts.width, picture.width);
    assert_int_equal(facts.height, picture.height);
    return picture;
}

/* Both ways to read refuse, with these words. */
static void refuses(const void *bytes, size_t length, clef_status status, const char *words) {
    clef_error error = {0};
    clef_picture picture;
    clef_picture_facts facts;
    assert_int_equal(clef_picture_decode(bytes, length, &defaults, &picture, &error), status);
    assert_null(picture.rgb);
    assert_string_equal(error.kind, "media_error");
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    }
    error = (clef_error){0};
    assert_int_equal(clef_picture_probe(bytes, length, &defaults, &facts, &error), status);
    assert_non_null(strstr(error.message, words));
}

/* ---- PNG of every kind ---------------------------------------------------------------------- */

/* One row of raw samples, and the RGB that comes of it. */
static void check_row(unsigned depth, unsigned colour_type, uint32_t width, const char *row,
                      size_t length, const uint8_t *expected) {
    clef_buffer file = {0};
    begin_png(&file, width, 1, depth, colour_type);
    add_chunk(&file, "gAMA", "\0\0\x27\x10", 4); /* 0.1: would change every value */
    add_chunk(&file, "sBIT", "\1\1\1\1", colour_type == 3 || colour_type == 2 ? 3 : 1);
    if (colour_type == 3) {
        add_chunk(&file, "PLTE", "\1\2\3\x10\x20\x30\xFF\xFE\xFD", 9);
        add_chunk(&file, "tRNS", "\0\x80", 2);
    }
    if (colour_type == 0) {
        add_chunk(&file, "tRNS", "\0\1", 2);
    }
    uint8_t rows[64] = {0};
    memcpy(rows + 1, row, length);
    end_png(&file, rows, length + 1);
    clef_picture picture = decode(&file, &defaults);
    assert_int_equal(picture.width, width);
    assert_int_equal(picture.height, 1);
    assert_memory_equal(picture.rgb, expected, (size_t)width * 3);
    clef_picture_release(&picture);
    clef_buffer_release(&file);
}

#define GREY3(a, b, c) ((const uint8_t[]){a, a, a, b, b, b, c, c, c})

static void png_of_every_kind(void **state) {
    (void)state;
    /* Grey: few bits are spread to 255, 16 bits keep the high byte (the reference clips). */
    check_row(1, 0, 3, "\xA0", 1, GREY3(255, 0, 255));
    check_row(2, 0, 3, "\x1B", 1, GREY3(0, 85, 170));
    check_row(4, 0, 3, "\x0F\x70", 2, GREY3(0, 255, 119));
    check_row(8, 0, 3, "\0\x7F\xFF", 3, GREY3(0, 127, 255));
    check_row(16, 0, 3, "\x12\xFF\x80\0\xFF\xFE", 6, GREY3(0x12, 0x80, 0xFF));
    /* Grey and alpha, RGB and alpha: alpha is dropped, what lies under it stays. */
    check_row(8, 4, 3, "\x10\0\x20\xFF\x30\x01", 6, GREY3(0x10, 0x20, 0x30));
    check_row(16, 4, 3, "\x10\xEE\0\0\x20\xEE\xFF\xFF\x30\xEE\0\1", 12, GREY3(0x10, 0x20, 0x30));
    static const uint8_t colours[] = {1, 2, 3, 0xFF, 0xFE, 0xFD, 0x10, 0x20, 0x30};
    check_row(8, 2, 3, (const char *)colours, 9, colours);
    check_row(16, 2, 3, "\1\xFF\2\xFF\3\xFF\xFF\0\xFE\0\xFD\0\x10\0\x20\0\x30\0", 18, colours);
    check_row(8, 6, 3, "\1\2\3\0\xFF\xFE\xFD\xFF\x10\x20\x30\x40", 12, colours);
    check_row(16, 6, 3, "\1\0\2\0\3\0\0\0\xFF\0\xFE\0\xFD\0\xFF\xFF\x10\0\x20\0\x30\0\0\0", 24,
              colours);
    /* Palettes of every width: entries 0, 2, 1; transparency is dropped. */
    check_row(8, 3, 3, "\0\2\1", 3, colours);
    check_row(4, 3, 3, "\x02\x10", 2, colours);
    check_row(2, 3, 3, "\x24", 1, colours);
}

/* ---- orientation ---------------------------------------------------------------------------- */

/* Where the pixel of the upright picture comes from, per the definition of EXIF. */
static void find_source(unsigned orientation, uint32_t width, uint32_t height, uint32_t x,
                        uint32_t y, uint32_t *from_x, uint32_t *from_y) {
    uint32_t right = width - 1, bottom = height - 1;
    const uint32_t sources[9][2] = {
        {x, y}, {x, y},          {right - x, y},          {right - x, bottom - y}, {x, bottom - y},
        {y, x}, {y, bottom - x}, {right - y, bottom - x}, {right - y, x}};
    *from_x = sources[orientation][0];
    *from_y = sources[orientation][1];
}

static void check_turned(const clef_buffer *file, unsigned orientation) {
    clef_picture stored = decode(file, &(clef_decode_options){.ignores_exif = true});
    clef_picture upright = decode(file, &defaults);
    bool is_sideways = orientation >= 5;
    assert_int_equal(upright.width, is_sideways ? stored.height : stored.width);
    assert_int_equal(upright.height, is_sideways ? stored.width : stored.height);
    for (uint32_t y = 0; y < upright.height; y++) {
        for (uint32_t x = 0; x < upright.width; x++) {
            uint32_t from_x, from_y;
            find_source(orientation, stored.width, stored.height, x, y, &from_x, &from_y);
            assert_memory_equal(upright.rgb + ((size_t)y * upright.width + x) * 3,
                                stored.rgb + ((size_t)from_y * stored.width + from_x) * 3, 3);
        }
    }
    clef_picture_release(&stored);
    clef_picture_release(&upright);
}

static void make_png_with_exif(clef_buffer *file, clef_text exif, bool is_behind) {
    uint8_t rows[5 * (1 + 3 * 40)];
    for (size_t i = 0; i < sizeof rows; i++) {
        rows[i] = (uint8_t)(i % 121 == 0 ? 0 : i * 37 + (i >> 4));
    }
    begin_png(file, 40, 5, 8, 2);
    if (!is_behind) {
        add_chunk(file, "eXIf", exif.bytes, exif.length);
    }
    end_png(file, rows, sizeof rows);
    if (is_behind) {
        file->length -= 12; /* IEND */
        add_chunk(file, "eXIf", exif.bytes, exif.length);
        add_chunk(file, "IEND", "", 0);
    }
}

static void make_webp_with_exif(clef_buffer *file, clef_text exif, bool has_mark) {
    clef_text webp = load_picture("lossless-90x70.webp");
    clef_buffer body = {0}, data = {0};
    begin_webp(&body, 8, 70, 90);
    clef_buffer_append(&body, webp.bytes + 12, webp.length - 12);
    clef_buffer_append(&data, "Exif\0\0", has_mark ? 6 : 0);
    clef_buffer_append_text(&data, exif);
    add_riff_chunk(&body, "EXIF", data.bytes, data.length);
    end_webp(file, &body);
    clef_buffer_release(&data);
    clef_buffer_release(&body);
    release_text(webp);
}

/* C03: every orientation in every container, both byte orders; 0, 9 and others mean upright. */
static void c03_every_orientation(void **state) {
    (void)state;
    clef_text jpeg = load_picture("jpeg422-101x203.jpg");
    static const uint32_t values[] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 65535};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        unsigned expected = values[i] >= 1 && values[i] <= 8 ? values[i] : 1;
        clef_buffer exif = {0}, files[5] = {{0}};
        add_exif(&exif, i % 2 == 0, i % 3 == 0 ? 4 : 3, values[i]);
        clef_text text = clef_buffer_text(&exif);
        add_jpeg_with_exif(&files[0], jpeg, text);
        make_png_with_exif(&files[1], text, false);
        make_png_with_exif(&files[2], text, true);
        make_webp_with_exif(&files[3], text, false);
        make_webp_with_exif(&files[4], text, true);
        for (size_t j = 0; j < 5; j++) {
            check_turned(&files[j], expected);
            clef_buffer_release(&files[j]);
        }
        clef_buffer_release(&exif);
    }
    release_text(jpeg);
}

/* EXIF cut at every length: the field counts while it is whole, and nothing else happens. */
static void damaged_exif_means_upright(void **state) {
    (void)state;
    clef_text jpeg = load_picture("jpeg422-101x203.jpg");
    clef_buffer exif = {0};
    add_exif(&exif, false, 3, 6);
    for (size_t length = 0; length <= exif.length; length++) {
        clef_buffer file = {0};
        add_jpeg_with_exif(&file, jpeg, (clef_text){exif.bytes, length});
        check_turned(&file, length >= 22 ? 6 : 1);
        clef_buffer_release(&file);
    }
    /* An offset or a count that lies. */
    for (size_t at = 4; at < 10; at++) {
        clef_buffer file = {0};
        char damaged[64];
        memcpy(damaged, exif.bytes, exif.length);
        damaged[at] = (char)0xFF;
        add_jpeg_with_exif(&file, jpeg, (clef_text){damaged, exif.length});
        check_turned(&file, at >= 8 ? 6 : 1);
        clef_buffer_release(&file);
    }
    clef_buffer_release(&exif);
    release_text(jpeg);
}

/* ---- WebP animations ------------------------------------------------------------------------ */

static void add_frame(clef_buffer *body, clef_text webp, uint32_t left, uint32_t top,
                      uint32_t width, uint32_t height) {
    clef_buffer frame = {0};
    add_little_endian(&frame, left / 2, 3);
    add_little_endian(&frame, top / 2, 3);
    add_little_endian(&frame, width - 1, 3);
    add_little_endian(&frame, height - 1, 3);
    add_little_endian(&frame, 100, 4);
    clef_buffer_append(&frame, webp.bytes + 12, webp.length - 12);
    add_riff_chunk(body, "ANMF", frame.bytes, frame.length);
    clef_buffer_release(&frame);
}

/* The first frame lies on a black canvas. */
static void first_frame_of_an_animation(void **state) {
    (void)state;
    clef_text first = load_picture("lossless-90x70.webp");
    clef_text second = load_picture("lossy-200x300.webp");
    clef_buffer body = {0}, file = {0}, still = {0};
    begin_webp(&body, 2, 300, 200);
    add_riff_chunk(&body, "ANIM", "\xFF\xFF\xFF\xFF\0\0", 6);
    add_frame(&body, first, 20, 40, 70, 90);
    add_frame(&body, second, 0, 0, 300, 200);
    end_webp(&file, &body);
    clef_buffer_append_text(&still, first);
    clef_picture canvas = decode(&file, &defaults), frame = decode(&still, &defaults);
    assert_int_equal(canvas.width, 300);
    assert_int_equal(canvas.height, 200);
    for (uint32_t y = 0; y < 200; y++) {
        for (uint32_t x = 0; x < 300; x++) {
            bool is_inside = x >= 20 && x < 90 && y >= 40 && y < 130;
            static const uint8_t black[3] = {0};
            assert_memory_equal(
                canvas.rgb + ((size_t)y * 300 + x) * 3,
                is_inside ? frame.rgb + ((size_t)(y - 40) * 70 + x - 20) * 3 : black, 3);
        }
    }
    clef_picture_release(&canvas);
    clef_picture_release(&frame);
    clef_buffer_release(&file);
    clef_buffer_release(&still);
    /* A frame that reaches beyond the canvas. */
    body.length = 0;
    begin_webp(&body, 2, 300, 200);
    add_riff_chunk(&body, "ANIM", "\xFF\xFF\xFF\xFF\0\0", 6);
    add_frame(&body, first, 240, 40, 70, 90);
    end_webp(&file, &body);
    refuses(file.bytes, file.length, CLEF_BAD_REQUEST, "WebP: its container is damaged");
    clef_buffer_release(&file);
    clef_buffer_release(&body);
    release_text(first);
    release_text(second);
}

/* ---- refusals ------------------------------------------------------------------------------- */

#define REFUSES(literal, words) refuses(literal, sizeof(literal) - 1, CLEF_BAD_REQUEST, words)

/* C11 */
static void c11_formats_are_refused_by_name(void **state) {
    (void)state;
    REFUSES("GIF89a\1\0\1\0", "format GIF is not supported (PNG, JPEG, WebP)");
    REFUSES("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "format BMP is not");
    REFUSES("II*\0\x08\0\0\0", "format TIFF is not");
    REFUSES("MM\0*\0\0\0\x08", "format TIFF is not");
    REFUSES("\0\0\0\x1C"
            "ftypavif\0\0\0\0",
            "format AVIF is not");
    REFUSES("\0\0\0\x18"
            "ftypheic\0\0\0\0",
            "format HEIC is not");
    REFUSES("\0\0\0\x18"
            "ftypmif1\0\0\0\0",
            "format HEIF is not");
    REFUSES("\0\0\0\x18"
            "ftypisom\0\0\0\0",
            "format MP4 video is not");
    REFUSES("<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "format SVG is not");
    REFUSES("\xEF\xBB\xBF <?xml version=\"1.0\"?>\n<!-- a -->\n<SVG/>", "format SVG is not");
    REFUSES("<!DOCTYPE html><html>not found</html>", "format HTML is not");
    REFUSES("<?xml version=\"1.0\"?><error/>", "format XML is not");
    REFUSES("%PDF-1.7\n", "format PDF is not");
    REFUSES("\0\0\0\x0CJXL \r\n\x87\n", "format JPEG XL is not");
    REFUSES("\0\0\0\x0CjP  \r\n\x87\n", "format JPEG 2000 is not");
    REFUSES("\0\0\1\0\1\0", "format ICO is not");
    REFUSES("8BPS\0\1", "format Photoshop is not");
    REFUSES("P6\n3 2\n255\n", "format PNM is not");
    REFUSES("PK\3\4", "format ZIP is not");
    REFUSES("RIFF\x24\0\0\0AVI LIST", "format AVI video is not");
    REFUSES("RIFF\x24\0\0\0WAVEfmt ", "format WAV sound is not");
    REFUSES("\x1A\x45\xDF\xA3", "format Matroska or WebM video is not");
    REFUSES("", "not a decodable image (it is empty)");
    REFUSES("\1\2\3", "not a decodable image (it begins with 01 02 03 and is no PNG");
    REFUSES("BM no bitmap, only a text", "it begins with 42 4D 20");
    REFUSES("<b>text</b>", "not a decodable image (it begins with 3C 62");
    REFUSES("\x89PNG\r\n\x1A\n", "cut off after 8 bytes");
    REFUSES("\xFF\xD8\xFF", "cut off after 3 bytes");
    REFUSES("RIFF\0\0\0\0WEBP", "WebP:");
}

/* The fixture with one byte changed. */
static void refuses_changed(clef_text file, size_t at, unsigned value, const char *words) {
    char *bytes = malloc(file.length);
    memcpy(bytes, file.bytes, file.length);
    bytes[at] = (char)value;
    refuses(bytes, file.length, CLEF_BAD_REQUEST, words);
    free(bytes);
}

static size_t find_bytes(clef_text file, const char *bytes, size_t length) {
    for (size_t at = 0; at + length <= file.length; at++) {
        if (memcmp(file.bytes + at, bytes, length) == 0) {
            return at;
        }
    }
    fail_msg("the bytes are not there");
    return 0;
}

static void kinds_of_jpeg(void **state) {
    (void)state;
    clef_text jpeg = load_picture("jpeg422-101x203.jpg");
    size_t frame = find_bytes(jpeg, "\xFF\xC0", 2);
    refuses_changed(jpeg, frame + 1, 0xC9, "format arithmetic-coded JPEG is not supported");
    refuses_changed(jpeg, frame + 1, 0xC3, "format lossless or hierarchical JPEG is not supported");
    refuses_changed(jpeg, frame + 1, 0xC5, "format lossless or hierarchical JPEG is not supported");
    refuses_changed(jpeg, frame + 4, 12, "format 12-bit JPEG is not supported (PNG, JPEG, WebP)");
    refuses_changed(jpeg, frame + 4, 7, "format other than 8-bit JPEG is not supported");
    refuses_changed(jpeg, frame + 9, 5, "not a decodable image (JPEG:");
    /* A height of 0, to be named later, is not read. */
    assert_int_equal(jpeg.bytes[frame + 5], 0);
    refuses_changed(jpeg, frame + 6, 0, "not a decodable image (JPEG:");
    release_text(jpeg);
}

/* Every prefix of a file is refused as one, and the whole is read. */
static void cut_off_anywhere(void **state) {
    (void)state;
    static const char *const names[] = {"rgb-16x16.png", "jpeg-grey-150x90.jpg",
                                        "lossy-200x300.webp", "palette-transparent-70x60.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        clef_text file = load_picture(names[i]);
        for (size_t length = 0; length <= file.length; length++) {
            clef_error error = {0};
            clef_picture picture;
            /* A block of its own, so that a sanitizer sees a read behind the end. */
            char *bytes = malloc(length + 1);
            char *exact = realloc(bytes, length > 0 ? length : 1);
            memcpy(exact, file.bytes, length);
            clef_status status = clef_picture_decode(exact, length, &defaults, &picture, &error);
            assert_int_equal(status, length == file.length ? CLEF_OK : CLEF_BAD_REQUEST);
            if (status != CLEF_OK && length > 16) {
                assert_true(strstr(error.message, "cut off") != NULL);
            }
            clef_picture_release(&picture);
            free(exact);
        }
        release_text(file);
    }
}

/* A PNG of a few bytes that claims a huge size is refused before any memory is taken. */
static void limits_come_from_the_header(void **state) {
    (void)state;
    static const uint8_t row[2] = {0};
    clef_buffer file = {0};
    clef_system_memory_restart_peak();
    uint64_t before = clef_system_memory_peak();
    begin_png(&file, 60000, 60000, 8, 0);
    end_png(&file, row, sizeof row);
    assert_true(file.length < 100);
    refuses(file.bytes, file.length, CLEF_TOO_LARGE,
            "image is 60000x60000, over the 64-megapixel limit");
    assert_true(clef_system_memory_peak() - before < (16u << 20));
    clef_buffer_release(&file);
    begin_png(&file, 8000, 8001, 1, 0);
    end_png(&file, row, sizeof row);
    refuses(file.bytes, file.length, CLEF_TOO_LARGE, "image is 8000x8001, over");
    clef_buffer_release(&file);
    /* At the limit the header passes, and the pixels that are not there are missed. */
    begin_png(&file, 8000, 8000, 1, 0);
    end_png(&file, row, sizeof row);
    clef_error error = {0};
    clef_picture_facts facts;
    assert_ok(clef_picture_probe(file.bytes, file.length, &defaults, &facts, &error), &error);
    assert_int_equal(facts.width, 8000);
    clef_buffer_release(&file);
    static const uint32_t sides[][2] = {{0, 5}, {5, 0}, {0x7FFFFFFF, 1}, {0xFFFFFFFF, 1}};
    for (size_t i = 0; i < 4; i++) {
        begin_png(&file, sides[i][0], sides[i][1], 8, 0);
        end_png(&file, row, sizeof row);
        clef_picture picture;
        assert_int_not_equal(
            clef_picture_decode(file.bytes, file.length, &defaults, &picture, &error), CLEF_OK);
        clef_buffer_release(&file);
    }
    clef_text webp = load_picture("lossy-200x300.webp");
    assert_int_equal(clef_picture_probe(webp.bytes, webp.length,
                                        &(clef_decode_options){.pixel_limit = 59999}, &facts,
                                        &error),
                     CLEF_TOO_LARGE);
    assert_string_equal(error.message, "image is 300x200, over the 59999-pixel limit");
    assert_ok(clef_picture_probe(webp.bytes, webp.length,
                                 &(clef_decode_options){.pixel_limit = 60000}, &facts, &error),
              &error);
    release_text(webp);
}

/* ---- bombs ---------------------------------------------------------------------------------- */

/* Chunks that would unpack to much are not unpacked; a chunk longer than the file is refused. */
static void ancillary_chunks_cost_nothing(void **state) {
    (void)state;
    clef_buffer file = {0};
    begin_png(&file, 3, 1, 8, 0);
    char *text = malloc(4u << 20);
    memset(text, 'x', 4u << 20);
    memcpy(text, "Title\0\0", 7);
    add_chunk(&file, "zTXt", text, 4u << 20);
    add_chunk(&file, "iTXt", text, 4u << 20);
    memcpy(text, "icc\0\0", 5);
    add_chunk(&file, "iCCP", text, 4u << 20);
    free(text);
    end_png(&file, (const uint8_t *)"\0\1\2\3", 4);
    clef_picture picture = decode(&file, &defaults);
    assert_memory_equal(picture.rgb, GREY3(1, 2, 3), 9);
    clef_picture_release(&picture);
    clef_buffer_release(&file);
    begin_png(&file, 3, 1, 8, 0);
    add_big_endian(&file, 0x7FFFFFF0);
    clef_buffer_append(&file, "eXIfabcd", 8);
    refuses(file.bytes, file.length, CLEF_BAD_REQUEST, "PNG:");
    clef_buffer_release(&file);
}

/* A checksum that is wrong in a chunk that matters. */
static void checksums_are_checked(void **state) {
    (void)state;
    clef_text file = load_picture("rgb-16x16.png");
    size_t data = find_bytes(file, "IDAT", 4);
    clef_error error = {0};
    clef_picture picture;
    char *bytes = malloc(file.length);
    memcpy(bytes, file.bytes, file.length);
    bytes[data + 200] ^= 1;
    assert_int_equal(clef_picture_decode(bytes, file.length, &defaults, &picture, &error),
                     CLEF_BAD_REQUEST);
    assert_non_null(strstr(error.message, "not a decodable image (PNG: "));
    free(bytes);
    release_text(file);
}

/* The last scan of a progressive JPEG, again and again. */
static void scans_of_a_jpeg_are_counted(void **state) {
    (void)state;
    clef_text jpeg = load_picture("progressive-720x1280.jpg");
    size_t last = jpeg.length - 2;
    while (memcmp(jpeg.bytes + last, "\xFF\xDA", 2) != 0) {
        last--;
    }
    for (int repeats = 80; repeats <= 120; repeats += 40) {
        clef_buffer file = {0};
        clef_buffer_append(&file, jpeg.bytes, last);
        for (int i = 0; i < repeats; i++) {
            clef_buffer_append(&file, jpeg.bytes + last, jpeg.length - 2 - last);
        }
        clef_buffer_append(&file, "\xFF\xD9", 2);
        clef_error error = {0};
        clef_picture picture;
        clef_status status =
            clef_picture_decode(file.bytes, file.length, &defaults, &picture, &error);
        assert_int_equal(status, repeats > 100 ? CLEF_BAD_REQUEST : CLEF_OK);
        assert_true(status == CLEF_OK || strstr(error.message, "more than 100 scans") != NULL);
        clef_picture_release(&picture);
        clef_buffer_release(&file);
    }
    release_text(jpeg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_of_every_kind),
        cmocka_unit_test(c03_every_orientation),
        cmocka_unit_test(damaged_exif_means_upright),
        cmocka_unit_test(first_frame_of_an_animation),
        cmocka_unit_test(c11_formats_are_refused_by_name),
        cmocka_unit_test(kinds_of_jpeg),
        cmocka_unit_test(cut_off_anywhere),
        cmocka_unit_test(limits_come_from_the_header),
        cmocka_unit_test(ancillary_chunks_cost_nothing),
        cmocka_unit_test(checksums_are_checked),
        cmocka_unit_test(scans_of_a_jpeg_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
