/* Pictures as rows of numbers: what the vision tower reads. */
#ifndef CLEF_MEDIA_PATCHES_H
#define CLEF_MEDIA_PATCHES_H

#include "media/picture.h"
#include "tensor/patch_grid.h"

#define CLEF_PATCH_SIDE   16
#define CLEF_PATCH_MERGE  2 /* patches a side that become one token */
#define CLEF_PATCH_FRAMES 2
/* [3 colours, 2 frames, 16 rows, 16 columns] */
#define CLEF_PATCH_VALUES 1536

/* How a byte becomes a number; the two differ in the last bit of half the values. */
typedef enum clef_pixel_rule {
    CLEF_PIXEL_TORCH,  /* (byte − 127.5) / 127.5 */
    CLEF_PIXEL_PILLOW, /* (byte / 255 − 0.5) / 0.5 */
} clef_pixel_rule;

/* Of frame_count ≥ 1 frames whose sides are multiples of 32. Two frames of the video become one of
 * the grid. */
clef_patch_grid clef_patch_grid_of(uint32_t frame_count, uint32_t width, uint32_t height);
/* Tokens: patches by 4. */
size_t clef_patch_token_count(clef_patch_grid grid);

/* Writes patches first … first + count − 1 to out [count, CLEF_PATCH_VALUES].
 *
 * `frames`: frame_count pictures of one size, sides multiples of 32. One picture stands for two
 * equal frames; an odd count repeats the last. Order of patches: pair, row of blocks, column of
 * blocks, row in the block, column in the block, with blocks of 2 × 2 patches, so that each four in
 * a row become one token. Any range can be written, by any thread, so whoever multiplies patches by
 * weights needs no more than a few of them at a time. */
void clef_patches_write(const clef_picture *frames, uint32_t frame_count, clef_pixel_rule rule,
                        size_t first, size_t count, float *out);

#endif
