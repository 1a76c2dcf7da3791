/* smart_resize, for one picture and for frames. Whole numbers where the reference has whole
 * numbers, doubles in the reference's order of operations where it has floats. */
#include "media/picture_size.h"

#include "media/media_error.h"
#include "media/patches.h"

#include <math.h>
#include <stdbool.h>

#define FACTOR          CLEF_SIZE_FACTOR
#define TEMPORAL_FACTOR 2
#define FRAME_TOKENS    768
#define FRAME_PIXELS    ((uint64_t)FRAME_TOKENS * FACTOR * FACTOR)
/* More than any budget gives; only an absurd minimum gets here. */
#define PIXELS_PRACTICAL ((double)(INT64_C(1) << 31))

/* The nearest multiple of the factor; in the middle, the one whose quotient is even. */
static uint32_t round_side(uint32_t side) {
    uint32_t quotient = side / FACTOR, rest = side % FACTOR;
    bool rounds_up = rest > FACTOR / 2 || (rest == FACTOR / 2 && quotient % 2 == 1);
    return (quotient + rounds_up) * FACTOR;
}

static double shrink_side(uint32_t side, double beta) {
    return fmax(FACTOR, floor(side / beta / FACTOR) * FACTOR);
}

static double enlarge_side(uint32_t side, double beta) {
    return ceil(side * beta / FACTOR) * FACTOR;
}

/* `old_count` frames of the old size, `new_count` of the new one. */
static clef_status fit(uint64_t old_count, uint64_t new_count, uint32_t *width, uint32_t *height,
                       clef_pixel_budget budget, clef_error *error) {
    uint32_t longer = *width > *height ? *width : *height;
    uint32_t shorter = *width > *height ? *height : *width;
    if (longer > (uint64_t)shorter * CLEF_ASPECT_LIMIT) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "aspect ratio over %d: image is %ux%u, ratio %.4g",
                               CLEF_ASPECT_LIMIT, *width, *height, (double)longer / shorter);
    }
    if (budget.minimum > budget.maximum) {
        return clef_fail_media(
            error, CLEF_BAD_REQUEST, "the least number of pixels, %llu, is over the greatest, %llu",
            (unsigned long long)budget.minimum, (unsigned long long)budget.maximum);
    }
    double new_height = round_side(*height);
    double new_width = round_side(*width);
    double pixels = (double)new_count * new_height * new_width;
    double old_pixels = (double)old_count * *height * *width;
    if (pixels > (double)budget.maximum) {
        double beta = sqrt(old_pixels / (double)budget.maximum);
        new_height = shrink_side(*height, beta);
        new_width = shrink_side(*width, beta);
    } else if (pixels < (double)budget.minimum) {
        double beta = sqrt((double)budget.minimum / old_pixels);
        new_height = enlarge_side(*height, beta);
        new_width = enlarge_side(*width, beta);
    }
    if ((double)old_count * new_height * new_width > PIXELS_PRACTICAL) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "a %ux%u image would become %.0fx%.0f: ask for fewer pixels", *width,
                               *height, new_width, new_height);
    }
    *height = (uint32_t)new_height;
    *width = (uint32_t)new_width;
    return CLEF_OK;
}

static clef_pixel_budget complete(clef_pixel_budget budget, clef_pixel_budget defaults) {
    return (clef_pixel_budget){budget.minimum != 0 ? budget.minimum : defaults.minimum,
                               budget.maximum != 0 ? budget.maximum : defaults.maximum};
}

clef_status clef_image_size_fit(uint32_t *width, uint32_t *height, clef_pixel_budget budget,
                                clef_error *error) {
    return fit(1, 1, width, height, complete(budget, CLEF_IMAGE_PIXELS), error);
}

clef_status clef_video_size_fit(uint32_t frame_count, uint32_t *width, uint32_t *height,
                                clef_pixel_budget budget, bool caps_frame_pixels,
                                clef_error *error) {
    clef_pixel_budget whole = complete(budget, CLEF_VIDEO_PIXELS);
    if (*width < FACTOR || *height < FACTOR) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "height:%u or width:%u must be larger than factor:%d", *height,
                               *width, FACTOR);
    }
    if (caps_frame_pixels) {
        uint64_t share = whole.maximum / frame_count;
        uint64_t cap = share < FRAME_PIXELS ? share : FRAME_PIXELS;
        uint64_t floor_pixels = (uint64_t)((double)whole.minimum * 1.05);
        whole.maximum = (cap > floor_pixels ? cap : floor_pixels) * frame_count;
    }
    /* An odd frame is shown twice. */
    uint64_t shown = (uint64_t)frame_count + frame_count % CLEF_PATCH_FRAMES;
    return fit(frame_count, shown, width, height, whole, error);
}
