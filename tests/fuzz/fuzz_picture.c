/* libFuzzer entry: any bytes as a picture, the whole way to patches. The first byte holds the
 * switches (1 leave the orientation, 2 the other rule, 4 a small budget), the second the pixel
 * limit by 1024.
 */
#include "base/memory.h"
#include "media/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    clef_image_options options = {
        .decode = {.ignores_exif = (data[0] & 1) != 0, .pixel_limit = (data[1] + 1u) * 1024},
        .rule = (data[0] & 2) != 0 ? CLEF_RESIZE_PILLOW : CLEF_RESIZE_TORCH,
        .pixels =
            (data[0] & 4) != 0 ? (clef_pixel_budget){1, 4096} : (clef_pixel_budget){65536, 70000}};
    clef_error error = {0};
    clef_image image;
    if (clef_image_read(data + 2, size - 2, &options, &image, &error) == CLEF_OK) {
        size_t count = clef_patch_grid_patches(image.grid);
        float patch[CLEF_PATCH_VALUES];
        for (size_t i = 0; i < count; i += 1 + count / 3) {
            clef_patches_write(&image.picture, 1, CLEF_PIXEL_TORCH, i, 1, patch);
            for (size_t j = 0; j < CLEF_PATCH_VALUES; j++) {
                if (!(patch[j] >= -1 && patch[j] <= 1)) {
                    __builtin_trap();
                }
            }
        }
        if (count % 4 != 0 || image.picture.width % 32 != 0 || image.picture.height % 32 != 0) {
            __builtin_trap();
        }
    } else if (error.message[0] == '\0') {
        __builtin_trap();
    }
    clef_image_release(&image);
    return 0;
}
