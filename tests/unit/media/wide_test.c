/* Loops that are compiled twice make the same bytes and floats: the sources once more, as they are
 * for the lowest processor, beside the library's. */
#include "drawn_pictures.h"

#include "base/memory.h"
#include "media/patches.h"
#include "media/resize.h"

#include <stdbool.h>
#include <string.h>

#define CLEF_MEDIA_WIDE_H
#define CLEF_WIDE
#define CLEF_WIDE_BODY static inline

static bool clef_has_wide(void) {
    return false;
}

#define clef_picture_resize    plain_picture_resize
#define clef_patch_grid_of     plain_patch_grid_of
#define clef_patch_token_count plain_patch_token_count
#define clef_patches_write     plain_patches_write
clef_status plain_picture_resize(clef_picture *, uint32_t, uint32_t, clef_resize_rule,
                                 clef_error *);
clef_patch_grid plain_patch_grid_of(uint32_t, uint32_t, uint32_t);
size_t plain_patch_token_count(clef_patch_grid);
void plain_patches_write(const clef_picture *, uint32_t, clef_pixel_rule, size_t, size_t, float *);
#include "media/patches.c"
#include "media/resize.c"
#undef clef_picture_resize
#undef clef_patch_grid_of
#undef clef_patch_token_count
#undef clef_patches_write

static void resized_bytes_are_the_same(void **state) {
    (void)state;
    static const uint32_t sizes[][4] = {
        {1, 1, 32, 32}, {33, 70, 64, 32}, {640, 90, 96, 96}, {171, 171, 352, 192}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int rule = 0; rule < 2; rule++) {
            const uint32_t *size = sizes[i];
            clef_error error = {0};
            clef_picture wide = draw_picture(size[0], size[1], 1);
            clef_picture plain = draw_picture(size[0], size[1], 1);
            clef_resize_rule by = (clef_resize_rule)rule;
            assert_ok(clef_picture_resize(&wide, size[2], size[3], by, &error), &error);
            assert_ok(plain_picture_resize(&plain, size[2], size[3], by, &error), &error);
            assert_memory_equal(wide.rgb, plain.rgb, (size_t)size[2] * size[3] * 3);
            clef_picture_release(&wide);
            clef_picture_release(&plain);
        }
    }
}

/* All bytes there are, in every colour. */
static void patches_are_the_same(void **state) {
    (void)state;
    clef_picture picture = draw_picture(64, 32, 1);
    clef_patch_grid grid = clef_patch_grid_of(1, 64, 32);
    size_t count = clef_patch_grid_patches(grid);
    for (uint32_t i = 0; i < 768; i++) {
        picture.rgb[i] = (uint8_t)(i / 3);
    }
    for (int rule = 0; rule < 2; rule++) {
        float *wide = clef_allocate(count, CLEF_PATCH_VALUES * sizeof *wide);
        float *plain = clef_allocate(count, CLEF_PATCH_VALUES * sizeof *plain);
        assert_true(wide != NULL && plain != NULL);
        clef_patches_write(&picture, 1, (clef_pixel_rule)rule, 0, count, wide);
        plain_patches_write(&picture, 1, (clef_pixel_rule)rule, 0, count, plain);
        assert_memory_equal(wide, plain, count * CLEF_PATCH_VALUES * sizeof *wide);
        clef_release(wide);
        clef_release(plain);
    }
    clef_picture_release(&picture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resized_bytes_are_the_same),
        cmocka_unit_test(patches_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
