/* Cuts resized frames into patches and normalises their bytes. */
#include "media/patches.h"

#include "media/wide.h"

#include <string.h>

#define SIDE         CLEF_PATCH_SIDE
#define MERGE        CLEF_PATCH_MERGE
#define PLANE_VALUES (SIDE * SIDE) /* one colour of one frame */

clef_patch_grid clef_patch_grid_of(uint32_t frame_count, uint32_t width, uint32_t height) {
    return (clef_patch_grid){frame_count / CLEF_PATCH_FRAMES + frame_count % CLEF_PATCH_FRAMES,
                             height / SIDE, width / SIDE};
}

size_t clef_patch_token_count(clef_patch_grid grid) {
    return clef_patch_grid_features(grid, MERGE);
}

CLEF_WIDE_BODY float value_of(uint8_t byte, const clef_pixel_rule rule) {
    return rule == CLEF_PIXEL_TORCH ? ((float)byte - 127.5f) / 127.5f
                                    : ((float)byte / 255.0f - 0.5f) / 0.5f;
}

/* One frame of a patch: [16, 16, 3] bytes at `from` to the planes [16, 16] of its colours, which
 * stand two planes apart in out. */
CLEF_WIDE_BODY void write_planes(const uint8_t *restrict from, size_t row,
                                 const clef_pixel_rule rule, float *restrict out) {
    for (size_t y = 0; y < SIDE; y++) {
        uint8_t colours[3][SIDE];
        for (size_t x = 0; x < SIDE; x++) {
            colours[0][x] = from[3 * x];
            colours[1][x] = from[3 * x + 1];
            colours[2][x] = from[3 * x + 2];
        }
        for (size_t c = 0; c < 3; c++) {
            float *plane = out + c * CLEF_PATCH_FRAMES * PLANE_VALUES + y * SIDE;
            for (size_t x = 0; x < SIDE; x++) {
                plane[x] = value_of(colours[c][x], rule);
            }
        }
        from += row;
    }
}

static CLEF_WIDE void write_frame_wide(const uint8_t *from, size_t row, clef_pixel_rule rule,
                                       float *out) {
    if (rule == CLEF_PIXEL_TORCH) {
        write_planes(from, row, CLEF_PIXEL_TORCH, out);
    } else {
        write_planes(from, row, rule, out);
    }
}

static void write_frame(const uint8_t *from, size_t row, clef_pixel_rule rule, float *out) {
    if (clef_has_wide()) {
        write_frame_wide(from, row, rule, out);
    } else {
        write_planes(from, row, rule, out);
    }
}

/* The second frame of a patch is the first. */
static void repeat_frame(float *out) {
    for (size_t colour = 0; colour < 3; colour++) {
        memcpy(out + PLANE_VALUES, out, PLANE_VALUES * sizeof *out);
        out += CLEF_PATCH_FRAMES * PLANE_VALUES;
    }
}

/* Offset in a frame of the first byte of a patch, given its number among the patches of a pair. */
static size_t find_patch(size_t number, clef_patch_grid grid, size_t row) {
    size_t inner = number % (MERGE * MERGE), block = number / (MERGE * MERGE);
    size_t block_columns = grid.columns / MERGE;
    size_t y = block / block_columns * MERGE + inner / MERGE;
    size_t x = block % block_columns * MERGE + inner % MERGE;
    return y * SIDE * row + x * SIDE * 3;
}

void clef_patches_write(const clef_picture *frames, uint32_t frame_count, clef_pixel_rule rule,
                        size_t first, size_t count, float *out) {
    clef_patch_grid grid = clef_patch_grid_of(frame_count, frames->width, frames->height);
    size_t pair_patches = clef_patch_grid_frame(grid);
    size_t row = (size_t)frames->width * 3;
    for (size_t number = first; number < first + count; number++) {
        size_t frame = number / pair_patches * CLEF_PATCH_FRAMES;
        size_t offset = find_patch(number % pair_patches, grid, row);
        write_frame(frames[frame].rgb + offset, row, rule, out);
        if (frame + 1 < frame_count) {
            write_frame(frames[frame + 1].rgb + offset, row, rule, out + PLANE_VALUES);
        } else {
            repeat_frame(out);
        }
        out += CLEF_PATCH_VALUES;
    }
}
