/* The size that a picture or the frames of a video are resized to before they are cut into patches,
 * in the reference's arithmetic. */
#ifndef CLEF_MEDIA_PICTURE_SIZE_H
#define CLEF_MEDIA_PICTURE_SIZE_H

#include "base/error.h"

#include <stdbool.h>

/* Sides become multiples of this: two patches of 16, merged into one token. */
#define CLEF_SIZE_FACTOR 32
/* Longer side by shorter side. */
#define CLEF_ASPECT_LIMIT 200

/* Pixels after resizing: of one picture, or of all frames of a video. All-zero means default. */
typedef struct clef_pixel_budget {
    uint64_t minimum, maximum; /* 0: the default of the function */
} clef_pixel_budget;

#define CLEF_IMAGE_PIXELS ((clef_pixel_budget){65536, 16777216})
#define CLEF_VIDEO_PIXELS ((clef_pixel_budget){4096, 25165824})

/* 1 ≤ sides; *width and *height hold the old size and become the new one. CLEF_BAD_REQUEST, kind
 * "media_error", for an aspect ratio over CLEF_ASPECT_LIMIT, a size that would pass 2^31 pixels or
 * a budget whose minimum is over its maximum. */
clef_status clef_image_size_fit(uint32_t *width, uint32_t *height, clef_pixel_budget budget,
                                clef_error *error);

/* The same for frame_count ≥ 1 frames of one size, whose pixels share the budget; frames with a
 * side under CLEF_SIZE_FACTOR are refused. `caps_frame_pixels`: no frame takes more than 768 tokens
 * or its even share, with a floor a little over the minimum. */
clef_status clef_video_size_fit(uint32_t frame_count, uint32_t *width, uint32_t *height,
                                clef_pixel_budget budget, bool caps_frame_pixels,
                                clef_error *error);

#endif
