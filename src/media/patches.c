/* Cuts resized frames into patches and normalises their bytes by a table of 256 numbers. */
#include "media/patches.h"

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

static void fill_table(float table[256], clef_pixel_rule rule) {
    for (int byte = 0; byte < 256; byte++) {
        table[byte] = rule == CLEF_PIXEL_TORCH ? ((float)byte - 127.5f) / 127.5f
                                               : ((float)byte / 255.0f - 0.5f) / 0.5f;
    }
}

/* One frame of a patch: [16, 16, 3] bytes at `from` to the planes [16, 16] of its colours, which
 * stand two planes apart in out. */
static void write_frame(const uint8_t *from, size_t row, const float table[256], float *out) {
    for (size_t y = 0; y < SIDE; y++) {
        float *red = out + y * SIDE;
        float *green = red + CLEF_PATCH_FRAMES * PLANE_VALUES;
        float *blue = green + CLEF_PATCH_FRAMES * PLANE_VALUES;
        for (size_t x = 0; x < SIDE; x++) {
            red[x] = table[from[3 * x]];
            green[x] = table[from[3 * x + 1]];
            blue[x] = table[from[3 * x + 2]];
        }
        from += row;
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
    float table[256];
    fill_table(table, rule);
    for (size_t number = first; number < first + count; number++) {
        size_t frame = number / pair_patches * CLEF_PATCH_FRAMES;
        size_t offset = find_patch(number % pair_patches, grid, row);
        write_frame(frames[frame].rgb + offset, row, table, out);
        if (frame + 1 < frame_count) {
            write_frame(frames[frame + 1].rgb + offset, row, table, out + PLANE_VALUES);
        } else {
            repeat_frame(out);
        }
        out += CLEF_PATCH_VALUES;
    }
}
