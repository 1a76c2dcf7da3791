/* How the patches of a picture or video lie: frame behind frame; in a frame, merged cell behind
 * merged cell in raster order, and the patches of a cell in raster order. */
#ifndef CLEF_TENSOR_PATCH_GRID_H
#define CLEF_TENSOR_PATCH_GRID_H

#include <stddef.h>
#include <stdint.h>

/* Sizes in patches, none of them 0; rows and columns are multiples of spatial_merge_size. A still
 * picture has one frame; a frame of patches covers temporal_patch_size frames of a video. */
typedef struct clef_patch_grid {
    uint32_t frames, rows, columns;
} clef_patch_grid;

/* Patches of one frame, and of all. */
static inline size_t clef_patch_grid_frame(clef_patch_grid grid) {
    return (size_t)grid.rows * grid.columns;
}
static inline size_t clef_patch_grid_patches(clef_patch_grid grid) {
    return grid.frames * clef_patch_grid_frame(grid);
}

/* Feature rows of all frames, which is the number of placeholder tokens; `merge` is
 * spatial_merge_size. */
static inline size_t clef_patch_grid_features(clef_patch_grid grid, size_t merge) {
    return clef_patch_grid_patches(grid) / (merge * merge);
}

#endif
