/* A picture made ready for the vision tower: decoded, resized, counted. */
#ifndef CLEF_MEDIA_IMAGE_H
#define CLEF_MEDIA_IMAGE_H

#include "base/digest.h"
#include "base/memory_budget.h"
#include "media/decode.h"
#include "media/patches.h"
#include "media/picture_size.h"
#include "media/resize.h"

/* All-zero means default. */
typedef struct clef_image_options {
    clef_decode_options decode;
    clef_pixel_budget pixels; /* 0: CLEF_IMAGE_PIXELS */
    clef_resize_rule rule;
    clef_memory_grant *memory; /* for decoded pictures; NULL: as much as there is */
} clef_image_options;

typedef struct clef_image {
    clef_picture picture; /* owned; resized */
    clef_patch_grid grid; /* for clef_patches_write(&picture, 1, …) */
    uint32_t decoded_width, decoded_height;
} clef_image;

/* From encoded bytes, borrowed for the call. Errors as clef_picture_decode and clef_image_size_fit;
 * the size is judged before anything is decoded. Leaves nothing on failure. The grant then holds
 * what the picture takes, and waits for what reading it takes besides. */
clef_status clef_image_read(const void *bytes, size_t length, const clef_image_options *options,
                            clef_image *image, clef_error *error);
/* Of `picture`: what the model sees, so a key of caches. */
clef_digest clef_image_digest(const clef_image *image);
void clef_image_release(clef_image *image);

#endif
