/* The way of one picture through the layer. */
#include "media/image.h"

/* Decoded and resized, within what the grant allows; afterwards it holds the resized one. */
static clef_status read_pixels(const void *bytes, size_t length, const clef_image_options *options,
                               const clef_picture_facts *facts, uint32_t width, uint32_t height,
                               clef_picture *picture, clef_error *error) {
    clef_memory_grant none = {0};
    clef_memory_grant *memory = options->memory != NULL ? options->memory : &none;
    uint64_t decoded = clef_picture_bytes(facts->width, facts->height);
    uint64_t resized = clef_picture_bytes(width, height);
    clef_status status = clef_memory_grant_grow(memory, decoded + resized, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_picture_decode(bytes, length, &options->decode, picture, error);
    if (status == CLEF_OK) {
        status = clef_picture_resize(picture, width, height, options->rule, error);
    }
    clef_memory_grant_shrink(memory, decoded + (status == CLEF_OK ? 0 : resized));
    return status;
}

clef_status clef_image_read(const void *bytes, size_t length, const clef_image_options *options,
                            clef_image *image, clef_error *error) {
    clef_picture_facts facts;
    *image = (clef_image){0};
    clef_status status = clef_picture_probe(bytes, length, &options->decode, &facts, error);
    uint32_t width = facts.width, height = facts.height;
    if (status == CLEF_OK) {
        status = clef_image_size_fit(&width, &height, options->pixels, error);
    }
    if (status == CLEF_OK) {
        status = read_pixels(bytes, length, options, &facts, width, height, &image->picture, error);
    }
    if (status != CLEF_OK) {
        clef_image_release(image);
        return status;
    }
    image->decoded_width = facts.width;
    image->decoded_height = facts.height;
    image->grid = clef_patch_grid_of(1, width, height);
    return CLEF_OK;
}

clef_digest clef_image_digest(const clef_image *image) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_picture_add_digest(&image->picture, &state);
    return clef_digest_finish(&state);
}

void clef_image_release(clef_image *image) {
    clef_picture_release(&image->picture);
    *image = (clef_image){0};
}
