/* Pictures in memory: limits, turning, digest. Knows no file format. */
#include "media/picture.h"

#include "base/memory.h"
#include "media/media_error.h"

#include <stdbool.h>
#include <string.h>

/* Sides of the tiles in which a picture is turned, so that the columns read stay in the cache. */
#define TILE 32

clef_status clef_picture_check_size(uint64_t width, uint64_t height, uint64_t pixel_limit,
                                    clef_error *error) {
    uint64_t limit = pixel_limit != 0 ? pixel_limit : CLEF_PICTURE_PIXEL_LIMIT;
    if (width == 0 || height == 0) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "not a decodable image (it is %llux%llu: a side is 0)",
                               (unsigned long long)width, (unsigned long long)height);
    }
    if (width <= limit / height && width <= UINT32_MAX && height <= UINT32_MAX) {
        return CLEF_OK;
    }
    if (limit % 1000000 == 0) {
        return clef_fail_media(error, CLEF_TOO_LARGE,
                               "image is %llux%llu, over the %llu-megapixel limit",
                               (unsigned long long)width, (unsigned long long)height,
                               (unsigned long long)(limit / 1000000));
    }
    return clef_fail_media(error, CLEF_TOO_LARGE, "image is %llux%llu, over the %llu-pixel limit",
                           (unsigned long long)width, (unsigned long long)height,
                           (unsigned long long)limit);
}

clef_status clef_picture_create(uint32_t width, uint32_t height, clef_picture *picture,
                                clef_error *error) {
    size_t bytes;
    if (!clef_multiply_size(width, height, &bytes) || !clef_multiply_size(bytes, 3, &bytes)) {
        bytes = SIZE_MAX;
    }
    *picture = (clef_picture){width, height, clef_allocate_aligned(bytes, 1)};
    if (picture->rgb == NULL) {
        *picture = (clef_picture){0};
        return clef_fail_memory(error, bytes, "the pixels of a picture");
    }
    return CLEF_OK;
}

/* Where a turned picture finds its pixels in the old one: first + y · down + x · right, in bytes.
 */
typedef struct pixel_walk {
    const uint8_t *first;
    ptrdiff_t down, right;
} pixel_walk;

static pixel_walk plan_walk(const clef_picture *old, unsigned orientation) {
    ptrdiff_t row = (ptrdiff_t)old->width * 3;
    ptrdiff_t last_row = row * ((ptrdiff_t)old->height - 1), last_column = row - 3;
    const uint8_t *rgb = old->rgb;
    switch (orientation) {
    case 2: /* mirrored */
        return (pixel_walk){rgb + last_column, row, -3};
    case 3: /* upside down */
        return (pixel_walk){rgb + last_row + last_column, -row, -3};
    case 4: /* upside down and mirrored */
        return (pixel_walk){rgb + last_row, -row, 3};
    case 5: /* rows are columns */
        return (pixel_walk){rgb, 3, row};
    case 6: /* lies on its left side */
        return (pixel_walk){rgb + last_row, 3, -row};
    case 7: /* rows are columns, both from their ends */
        return (pixel_walk){rgb + last_row + last_column, -3, -row};
    default: /* 8: lies on its right side */
        return (pixel_walk){rgb + last_column, -3, row};
    }
}

static void copy_tile(const pixel_walk *walk, const clef_picture *turned, uint32_t top,
                      uint32_t left) {
    uint32_t bottom = turned->height - top < TILE ? turned->height : top + TILE;
    uint32_t right = turned->width - left < TILE ? turned->width : left + TILE;
    for (uint32_t y = top; y < bottom; y++) {
        const uint8_t *from =
            walk->first + (ptrdiff_t)y * walk->down + (ptrdiff_t)left * walk->right;
        uint8_t *to = turned->rgb + ((size_t)y * turned->width + left) * 3;
        for (uint32_t x = left; x < right; x++) {
            to[0] = from[0];
            to[1] = from[1];
            to[2] = from[2];
            to += 3;
            from += walk->right;
        }
    }
}

clef_status clef_picture_turn(clef_picture *picture, unsigned orientation, clef_error *error) {
    if (orientation < 2 || orientation > 8) {
        return CLEF_OK;
    }
    bool is_sideways = orientation >= 5;
    clef_picture turned;
    clef_status status =
        clef_picture_create(is_sideways ? picture->height : picture->width,
                            is_sideways ? picture->width : picture->height, &turned, error);
    if (status != CLEF_OK) {
        return status;
    }
    pixel_walk walk = plan_walk(picture, orientation);
    for (uint32_t top = 0; top < turned.height; top += TILE) {
        for (uint32_t left = 0; left < turned.width; left += TILE) {
            copy_tile(&walk, &turned, top, left);
        }
    }
    clef_picture_release(picture);
    *picture = turned;
    return CLEF_OK;
}

void clef_picture_add_digest(const clef_picture *picture, clef_digest_state *state) {
    clef_digest_add_number(state, picture->width);
    clef_digest_add_number(state, picture->height);
    clef_digest_add(state, picture->rgb, (size_t)picture->width * picture->height * 3);
}

void clef_picture_release(clef_picture *picture) {
    clef_release(picture->rgb);
    *picture = (clef_picture){0};
}
