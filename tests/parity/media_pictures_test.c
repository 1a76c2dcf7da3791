/* Every picture of the fixtures through decoding, resizing and cutting into patches: the same bytes
 * and the same floats as the reference, and our own decisions where we differ. */
#include "support_media.h"

#include "base/memory.h"
#include "media/image.h"
#include "media/media_text.h"
#include "weights/safetensors.h"

#include <math.h>
#include <stdio.h>

static clef_safetensors *arrays;
static size_t checked_count, refused_count;

static bool is_named(const clef_json *row, const char *name) {
    return clef_text_equals(member(row, "file")->text, clef_text_of(name));
}

/* Where the fixtures hold the array itself, the first difference is named. */
static void compare_array(const clef_json *row, const char *kind, const void *bytes,
                          size_t length) {
    char name[128];
    clef_text file = member(row, "file")->text;
    snprintf(name, sizeof name, "%.*s.%s", (int)file.length, file.bytes, kind);
    const clef_stored_tensor *tensor = clef_safetensors_find(arrays, clef_text_of(name));
    if (tensor == NULL) {
        return;
    }
    assert_int_equal(tensor->bytes, length);
    const uint8_t *expected = tensor->data, *found = bytes;
    for (size_t i = 0; i < length; i++) {
        if (expected[i] != found[i]) {
            fail_msg("%s: byte %zu is %u, expected %u", name, i, found[i], expected[i]);
        }
    }
}

/* Files that the reference reads and we refuse by name. */
static bool check_refusal(const clef_json *row, clef_text bytes) {
    bool is_gif = is_named(row, "palette-33x47.gif"), is_bmp = is_named(row, "rgb-31x45.bmp");
    bool is_thin = is_named(row, "ratio-10x2001.png");
    if (!is_gif && !is_bmp && !is_thin) {
        return false;
    }
    clef_image image;
    clef_error error = {0};
    assert_int_equal(
        clef_image_read(bytes.bytes, bytes.length, &(clef_image_options){0}, &image, &error),
        CLEF_BAD_REQUEST);
    assert_string_equal(error.kind, "media_error");
    assert_string_equal(error.message,
                        is_gif   ? "format GIF is not supported (PNG, JPEG, WebP)"
                        : is_bmp ? "format BMP is not supported (PNG, JPEG, WebP)"
                                 : "aspect ratio over 200: image is 2001x10, ratio 200.1");
    assert_null(image.picture.rgb);
    refused_count++;
    return !is_thin;
}

static void check_patches(const clef_json *row, const clef_image *image) {
    size_t count = clef_patch_grid_patches(image->grid);
    const clef_json *grid = member(row, "grid_thw");
    assert_int_equal(image->grid.frames, number_at(grid, 0));
    assert_int_equal(image->grid.rows, number_at(grid, 1));
    assert_int_equal(image->grid.columns, number_at(grid, 2));
    uint64_t tokens = 0;
    assert_true(clef_json_unsigned(member(row, "tokens"), &tokens));
    assert_int_equal(clef_patch_token_count(image->grid), tokens);
    assert_int_equal(count, number_at(member(row, "pixel_values_shape"), 0));
    float *values = clef_allocate(count, CLEF_PATCH_VALUES * sizeof *values);
    /* In two ranges, so that a range that begins in the middle is right too. */
    size_t half = count / 2 + 1;
    clef_patches_write(&image->picture, 1, CLEF_PIXEL_TORCH, 0, half, values);
    clef_patches_write(&image->picture, 1, CLEF_PIXEL_TORCH, half, count - half,
                       values + half * CLEF_PATCH_VALUES);
    size_t bytes = count * CLEF_PATCH_VALUES * sizeof *values;
    compare_array(row, "pixel_values", values, bytes);
    assert_sha256(values, bytes, row, "pixel_values_sha256");
    double expected = clef_json_double(member(row, "pixel_values_sum")->text);
    assert_true(fabs(sum_floats(values, count * CLEF_PATCH_VALUES) - expected) <
                1e-9 * fabs(expected));
    clef_release(values);
}

static void check_picture(void *context, size_t number, clef_text line) {
    (void)context;
    (void)number;
    clef_arena arena = {0};
    clef_error error = {0};
    const clef_json *row = parse_json(line, &arena);
    clef_text bytes = load_picture_file(member(row, "file")->text);
    if (!check_refusal(row, bytes)) {
        /* The reference applies no EXIF orientation. */
        clef_image_options options = {.decode = {.ignores_exif = true}};
        clef_picture picture;
        assert_ok(clef_picture_decode(bytes.bytes, bytes.length, &options.decode, &picture, &error),
                  &error);
        uint64_t width = 0, height = 0;
        assert_true(clef_json_unsigned(member(row, "width"), &width));
        assert_true(clef_json_unsigned(member(row, "height"), &height));
        assert_int_equal(picture.width, width);
        assert_int_equal(picture.height, height);
        size_t length = (size_t)width * height * 3;
        if (is_named(row, "grey16-60x75.png")) {
            /* Values up to 1275: the high byte, where Pillow clips to white. */
            for (size_t i = 0; i < length; i++) {
                assert_true(picture.rgb[i] <= 1275 >> 8);
            }
        } else {
            compare_array(row, "rgb", picture.rgb, length);
            assert_sha256(picture.rgb, length, row, "rgb_sha256");
        }
        clef_picture_release(&picture);
        if (!has_member(row, "error") && !is_named(row, "grey16-60x75.png")) {
            clef_image image;
            assert_ok(clef_image_read(bytes.bytes, bytes.length, &options, &image, &error), &error);
            size_t resized = (size_t)image.picture.width * image.picture.height * 3;
            compare_array(row, "resized", image.picture.rgb, resized);
            assert_sha256(image.picture.rgb, resized, row, "resized_sha256");
            check_patches(row, &image);
            clef_image_release(&image);
        }
        checked_count++;
    }
    release_text(bytes);
    clef_arena_release(&arena);
}

static void every_picture_equals_the_reference(void **state) {
    (void)state;
    clef_error error = {0};
    assert_ok(
        clef_safetensors_open(fixture("tiny-random/media/arrays.safetensors"), &arrays, &error),
        &error);
    for_each_line(fixture("tiny-random/media/images.jsonl"), check_picture, NULL);
    clef_safetensors_close(arrays);
    assert_int_equal(checked_count, 27);
    assert_int_equal(refused_count, 3);
}

/* By default a picture is turned upright, which the reference does not do. */
static void orientation_is_applied(void **state) {
    (void)state;
    static const char *const names[] = {"exif-rotated-60x120.jpg", "exif-mirrored-64x96.png"};
    for (size_t i = 0; i < 2; i++) {
        clef_error error = {0};
        clef_text bytes = load_picture_file(clef_text_of(names[i]));
        clef_picture stored, upright;
        assert_ok(clef_picture_decode(bytes.bytes, bytes.length,
                                      &(clef_decode_options){.ignores_exif = true}, &stored,
                                      &error),
                  &error);
        assert_ok(clef_picture_decode(bytes.bytes, bytes.length, &(clef_decode_options){0},
                                      &upright, &error),
                  &error);
        assert_int_equal(upright.width, i == 0 ? stored.height : stored.width);
        for (uint32_t y = 0; y < upright.height; y++) {
            for (uint32_t x = 0; x < upright.width; x++) {
                /* A quarter turn clockwise; a mirror. */
                uint32_t from_y = i == 0 ? stored.height - 1 - x : y;
                uint32_t from_x = i == 0 ? y : stored.width - 1 - x;
                assert_memory_equal(upright.rgb + ((size_t)y * upright.width + x) * 3,
                                    stored.rgb + ((size_t)from_y * stored.width + from_x) * 3, 3);
            }
        }
        clef_picture_release(&stored);
        clef_picture_release(&upright);
        release_text(bytes);
    }
}

/* The pictures of requests that the reference refuses, as they come: base64. */
static void check_request(void *context, size_t number, clef_text line) {
    (void)number;
    clef_arena arena = {0};
    const clef_json *row = parse_json(line, &arena);
    const clef_json *request = parse_json(member(row, "request")->text, &arena);
    const clef_json *images = clef_json_member(request, "images");
    for (const clef_json *item = images == NULL ? NULL : images->first; item != NULL;
         item = item->next) {
        clef_error error = {0};
        uint8_t *bytes;
        size_t length;
        clef_image image;
        assert_ok(clef_media_text_decode(item->text, CLEF_MEDIA_IMAGE, 0, &bytes, &length, &error),
                  &error);
        clef_status status =
            clef_image_read(bytes, length, &(clef_image_options){0}, &image, &error);
        bool is_thin = clef_text_equals(member(row, "name")->text, CLEF_TEXT("ratio-over-200"));
        assert_int_equal(status, is_thin ? CLEF_BAD_REQUEST : CLEF_OK);
        assert_true(!is_thin || strstr(error.message, "aspect ratio over 200") != NULL);
        clef_image_release(&image);
        clef_release(bytes);
        *(size_t *)context += 1;
    }
    clef_arena_release(&arena);
}

static void pictures_of_refused_requests(void **state) {
    (void)state;
    size_t count = 0;
    for_each_line(fixture("tiny-random/media/refused.jsonl"), check_request, &count);
    assert_int_equal(count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_picture_equals_the_reference),
        cmocka_unit_test(orientation_is_applied),
        cmocka_unit_test(pictures_of_refused_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
