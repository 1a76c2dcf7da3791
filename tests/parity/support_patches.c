/* Cutting of frames into patches. */
#include "support_patches.h"

#include "support_vectors.h"

#include "base/memory.h"

enum { SIDE = 16, PAIR = 2, COLOURS = 3, MERGE = 2 };

/* Value of a patch at (row, column) of the grid: colour, frame of the pair, line, pixel. */
static float value_of(const unsigned char *pixels, size_t width, size_t row, size_t column,
                      size_t index) {
    size_t colour = index / (PAIR * SIDE * SIDE);
    size_t y = row * SIDE + index / SIDE % SIDE;
    size_t x = column * SIDE + index % SIDE;
    return ((float)pixels[(y * width + x) * COLOURS + colour] - 127.5f) / 127.5f;
}

cut_picture cut_frames(const clef_safetensors *file, const char *const *names, size_t count) {
    const clef_stored_tensor *first = vector_named(file, names[0]);
    size_t width = (size_t)first->shape[1];
    cut_picture cut = {.grid = {.frames = (uint32_t)((count + 1) / PAIR),
                                .rows = (uint32_t)first->shape[0] / SIDE,
                                .columns = (uint32_t)first->shape[1] / SIDE}};
    cut.patches = clef_allocate(clef_patch_grid_patches(cut.grid) * PATCH_VALUES, sizeof(float));
    assert_non_null(cut.patches);
    float *out = cut.patches;
    for (size_t pair = 0; pair < cut.grid.frames; pair++) {
        const unsigned char *frames[PAIR];
        for (size_t i = 0; i < PAIR; i++) {
            size_t index = pair * PAIR + i < count ? pair * PAIR + i : count - 1;
            const clef_stored_tensor *frame = vector_named(file, names[index]);
            assert_int_equal(frame->dtype, CLEF_DTYPE_U8);
            assert_int_equal(frame->bytes, first->bytes);
            frames[i] = frame->data;
        }
        for (size_t row = 0; row < cut.grid.rows; row += MERGE) {
            for (size_t column = 0; column < cut.grid.columns; column += MERGE) {
                for (size_t k = 0; k < (size_t)MERGE * MERGE * PATCH_VALUES; k++) {
                    size_t in_cell = k / PATCH_VALUES;
                    size_t index = k % PATCH_VALUES;
                    *out++ = value_of(frames[index / (SIDE * SIDE) % PAIR], width,
                                      row + in_cell / MERGE, column + in_cell % MERGE, index);
                }
            }
        }
    }
    return cut;
}

clef_vision_picture picture_of(const cut_picture *cut) {
    return (clef_vision_picture){.grid = cut->grid, .patches = cut->patches};
}
