/* Patches against the description's index formula, value by value. */
#include "drawn_pictures.h"

#include "base/memory.h"
#include "media/patches.h"

#include <stdlib.h>

static float expected_value(uint8_t byte, clef_pixel_rule rule) {
    return rule == CLEF_PIXEL_TORCH ? ((float)byte - 127.5f) / 127.5f
                                    : ((float)byte / 255.0f - 0.5f) / 0.5f;
}

/* Walks the frames as [pair, 2, 3, h/32, 2, 16, w/32, 2, 16] and asks where each value went. */
static void check_frames(uint32_t frame_count, uint32_t width, uint32_t height,
                         clef_pixel_rule rule) {
    clef_picture frames[5];
    for (uint32_t i = 0; i < frame_count; i++) {
        frames[i] = draw_picture(width, height, i + 1);
    }
    clef_patch_grid grid = clef_patch_grid_of(frame_count, width, height);
    size_t count = clef_patch_grid_patches(grid);
    float *values = malloc(count * CLEF_PATCH_VALUES * sizeof *values);
    clef_patches_write(frames, frame_count, rule, 0, count, values);
    size_t seen = 0;
    for (uint32_t frame = 0; frame < 2 * grid.frames; frame++) {
        const clef_picture *picture = &frames[frame < frame_count ? frame : frame_count - 1];
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                size_t patch = (((frame / 2 * (height / 32) + y / 32) * (width / 32) + x / 32) * 2 +
                                y / 16 % 2) *
                                   2 +
                               x / 16 % 2;
                for (uint32_t c = 0; c < 3; c++) {
                    size_t inside = ((c * 2 + frame % 2) * 16 + y % 16) * 16 + x % 16;
                    float found = values[patch * CLEF_PATCH_VALUES + inside];
                    uint8_t byte = picture->rgb[((size_t)y * width + x) * 3 + c];
                    assert_true(found == expected_value(byte, rule));
                    seen++;
                }
            }
        }
    }
    assert_int_equal(seen, count * CLEF_PATCH_VALUES);
    /* Any range alone gives the same, and writes nothing behind itself. */
    for (size_t first = 0; first < count; first += 3) {
        float range[2 * CLEF_PATCH_VALUES + 1];
        size_t length = count - first < 2 ? count - first : 2;
        range[length * CLEF_PATCH_VALUES] = 77;
        clef_patches_write(frames, frame_count, rule, first, length, range);
        assert_memory_equal(range, values + first * CLEF_PATCH_VALUES,
                            length * CLEF_PATCH_VALUES * sizeof *values);
        assert_true(range[length * CLEF_PATCH_VALUES] == 77);
    }
    free(values);
    for (uint32_t i = 0; i < frame_count; i++) {
        clef_picture_release(&frames[i]);
    }
}

static void every_value_is_where_the_formula_says(void **state) {
    (void)state;
    check_frames(1, 32, 32, CLEF_PIXEL_TORCH);
    check_frames(1, 96, 64, CLEF_PIXEL_PILLOW);
    check_frames(2, 64, 96, CLEF_PIXEL_TORCH);
    check_frames(5, 64, 32, CLEF_PIXEL_TORCH);
}

static void grids_count(void **state) {
    (void)state;
    clef_patch_grid grid = clef_patch_grid_of(UINT32_MAX, 32, 64);
    assert_int_equal(grid.frames, UINT32_C(1) << 31);
    grid = clef_patch_grid_of(3, 64, 96);
    assert_int_equal(grid.frames, 2);
    assert_int_equal(grid.rows, 6);
    assert_int_equal(grid.columns, 4);
    assert_int_equal(clef_patch_grid_patches(grid), 48);
    assert_int_equal(clef_patch_token_count(grid), 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_where_the_formula_says),
        cmocka_unit_test(grids_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
