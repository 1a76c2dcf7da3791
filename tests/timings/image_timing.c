/* Times pictures to patches, for comparisons with other libraries (bench/compare):
 *
 *     image_timing PICTURE RUNS
 *
 * Decodes, resizes and cuts the picture into normalised patches, once to warm up and RUNS times
 * more, on one thread; prints the number of patches and then the seconds of each run, one a line.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "media/image.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_LIMIT ((size_t)64 << 20)
/* Patches at a time, as the vision tower takes them. */
#define BLOCK ((size_t)512)

static clef_status make_patches(const clef_file *file, size_t *count, clef_error *error) {
    clef_image image;
    clef_status status =
        clef_image_read(file->bytes, file->length, &(clef_image_options){0}, &image, error);
    if (status != CLEF_OK) {
        return status;
    }
    *count = clef_patch_grid_patches(image.grid);
    float *patches = clef_allocate_aligned(BLOCK, CLEF_PATCH_VALUES * sizeof *patches);
    if (patches == NULL) {
        status = clef_fail_memory(error, BLOCK, "patches");
    }
    for (size_t first = 0; status == CLEF_OK && first < *count; first += BLOCK) {
        size_t rows = *count - first < BLOCK ? *count - first : BLOCK;
        clef_patches_write(&image.picture, 1, CLEF_PIXEL_TORCH, first, rows, patches);
    }
    clef_release(patches);
    clef_image_release(&image);
    return status;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) {
        fprintf(stderr, "usage: %s PICTURE RUNS\n", arguments[0]);
        return 2;
    }
    long runs = strtol(arguments[2], NULL, 10);
    clef_file file = {0};
    clef_error error = {0};
    size_t count = 0;
    clef_status status = clef_file_read(arguments[1], FILE_LIMIT, &file, &error);
    if (status == CLEF_OK) {
        status = make_patches(&file, &count, &error);
        printf("%zu\n", count);
    }
    for (long run = 0; status == CLEF_OK && run < runs; run += 1) {
        uint64_t start = clef_clock_ns();
        status = make_patches(&file, &count, &error);
        printf("%.9f\n", (double)(clef_clock_ns() - start) * 1e-9);
    }
    if (status != CLEF_OK) {
        fprintf(stderr, "%s: %s\n", error.place, error.message);
    }
    clef_file_close(&file);
    return status == CLEF_OK ? 0 : 1;
}
