/* Thousands of damaged files of each format, made by a fixed recipe: each gives a picture within
 * the limits or an error that says something, and memory stays bounded. Worth most under
 * sanitizers. */
#include "drawn_pictures.h"
#include "made_pictures.h"

#include "base/system_memory.h"
#include "media/image.h"

#define MUTATIONS   400 /* of each file */
#define PIXEL_LIMIT UINT64_C(2000000)

/* Takes a few bytes out, puts some in twice, changes some, or writes a number at the ends of a
 * range. Early bytes, where headers are, are hit more often. */
static void damage(clef_buffer *file, uint64_t *seed) {
    static const uint8_t telling[] = {0, 1, 0x7F, 0x80, 0xFF, 0xFE, 0xC4, 0xD8, 0xDA};
    for (uint32_t count = 1 + next_random(seed) % 4; count > 0 && file->length > 1; count--) {
        size_t reach = next_random(seed) % 2 == 0 && file->length > 64 ? 64 : file->length;
        size_t at = next_random(seed) % reach;
        size_t length = 1 + next_random(seed) % 8;
        length = length < file->length - at ? length : file->length - at;
        switch (next_random(seed) % 6) {
        case 0:
            file->bytes[at] = (char)(file->bytes[at] ^ 1 << next_random(seed) % 8);
            break;
        case 1:
            file->bytes[at] = (char)telling[next_random(seed) % sizeof telling];
            break;
        case 2:
            file->bytes[at] = (char)next_random(seed);
            break;
        case 3:
            memset(file->bytes + at, next_random(seed) % 2 == 0 ? 0 : 0xFF, length);
            break;
        case 4:
            memmove(file->bytes + at, file->bytes + at + length, file->length - at - length);
            file->length -= length;
            break;
        default:
            clef_buffer_append(file, file->bytes + at, length);
            memmove(file->bytes + at + length, file->bytes + at, file->length - at - length);
            break;
        }
    }
}

/* Makes the checksums of a PNG right again, so that the damage is seen behind them. */
static void mend_checksums(clef_buffer *file) {
    size_t at = 8;
    while (file->length >= 12 && at <= file->length - 12) {
        const uint8_t *bytes = (const uint8_t *)file->bytes + at;
        size_t length =
            (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
        if (length > file->length - at - 12) {
            return;
        }
        uint32_t crc = checksum(0, bytes + 4, length + 4);
        for (size_t i = 0; i < 4; i++) {
            file->bytes[at + 8 + length + i] = (char)(crc >> (24 - 8 * i));
        }
        at += length + 12;
    }
}

/* Reads one file; true for a picture. */
static bool survives(const clef_buffer *file) {
    clef_error error = {0};
    clef_image image;
    clef_image_options options = {.decode = {.pixel_limit = PIXEL_LIMIT}, .pixels = {1024, 65536}};
    /* A block of exactly its size. */
    char *bytes = malloc(file->length > 0 ? file->length : 1);
    memcpy(bytes, file->bytes, file->length);
    clef_status status = clef_image_read(bytes, file->length, &options, &image, &error);
    free(bytes);
    if (status != CLEF_OK) {
        assert_true(status == CLEF_BAD_REQUEST || status == CLEF_TOO_LARGE);
        assert_string_equal(error.kind, "media_error");
        assert_true(strlen(error.message) > 10);
        assert_null(image.picture.rgb);
        return false;
    }
    assert_true((uint64_t)image.decoded_width * image.decoded_height <= PIXEL_LIMIT);
    assert_true(clef_patch_grid_patches(image.grid) > 0);
    clef_image_release(&image);
    return true;
}

static void mutate(const char *const *names, size_t name_count) {
    size_t pictures = 0, refusals = 0;
    uint64_t seed = 11;
    clef_system_memory_restart_peak();
    uint64_t before = clef_system_memory_peak();
    for (size_t i = 0; i < name_count; i++) {
        clef_text original = load_picture(names[i]);
        bool is_png = strstr(names[i], ".png") != NULL;
        for (int round = 0; round < MUTATIONS; round++) {
            clef_buffer file = {0};
            clef_buffer_append_text(&file, original);
            damage(&file, &seed);
            if (is_png && round % 4 != 0) {
                mend_checksums(&file);
            }
            bool is_picture = survives(&file);
            pictures += is_picture;
            refusals += !is_picture;
            clef_buffer_release(&file);
        }
        release_text(original);
    }
    print_message("%zu pictures, %zu refusals\n", pictures, refusals);
    assert_int_equal(pictures + refusals, name_count * MUTATIONS);
    /* The recipe is neither too mild nor too harsh to find anything. */
    assert_true(pictures > MUTATIONS / 20 && refusals > MUTATIONS / 20);
    /* Three bytes a pixel of the picture, up to eight of the decoder, and what a sanitizer keeps.
     */
    assert_true(clef_system_memory_peak() - before < (600u << 20));
}

static void damaged_png(void **state) {
    (void)state;
    static const char *const names[] = {"rgb-16x16.png", "interlaced-77x131.png",
                                        "palette-transparent-70x60.png", "grey-alpha-50x50.png",
                                        "bilevel-40x300.png"};
    mutate(names, sizeof names / sizeof *names);
}

static void damaged_jpeg(void **state) {
    (void)state;
    static const char *const names[] = {"jpeg-cmyk-64x64.jpg", "jpeg-grey-150x90.jpg",
                                        "exif-rotated-60x120.jpg", "jpeg422-101x203.jpg"};
    mutate(names, sizeof names / sizeof *names);
}

static void damaged_progressive_jpeg(void **state) {
    (void)state;
    static const char *const names[] = {"progressive-720x1280.jpg"};
    mutate(names, 1);
}

static void damaged_webp(void **state) {
    (void)state;
    static const char *const names[] = {"lossy-200x300.webp", "lossless-90x70.webp",
                                        "lossless-alpha-90x130.webp"};
    mutate(names, sizeof names / sizeof *names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_png),
        cmocka_unit_test(damaged_jpeg),
        cmocka_unit_test(damaged_progressive_jpeg),
        cmocka_unit_test(damaged_webp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
