/* A decoded picture: rows of RGB bytes in memory of its own. */
#ifndef CLEF_MEDIA_PICTURE_H
#define CLEF_MEDIA_PICTURE_H

#include "base/digest.h"
#include "base/error.h"

/* Pixels of one picture, judged before any memory is taken. */
#define CLEF_PICTURE_PIXEL_LIMIT UINT64_C(64000000)

/* Zero-initialised is a valid empty picture. */
typedef struct clef_picture {
    uint32_t width, height;
    uint8_t *rgb; /* owned: [height, width, 3], no gaps */
} clef_picture;

/* Of its pixels. */
static inline uint64_t clef_picture_bytes(uint32_t width, uint32_t height) {
    return (uint64_t)width * height * 3;
}

/* CLEF_TOO_LARGE with both sides when width · height passes pixel_limit (0:
 * CLEF_PICTURE_PIXEL_LIMIT); CLEF_BAD_REQUEST for a side of 0. */
clef_status clef_picture_check_size(uint64_t width, uint64_t height, uint64_t pixel_limit,
                                    clef_error *error);

/* Memory for a picture of a size that was checked; the bytes are not set. */
clef_status clef_picture_create(uint32_t width, uint32_t height, clef_picture *picture,
                                clef_error *error);

/* Turns the picture upright, given its EXIF orientation (1 to 8, anything else counts as 1).
 * Unchanged on failure. */
clef_status clef_picture_turn(clef_picture *picture, unsigned orientation, clef_error *error);

/* Adds sides and bytes: equal digests mean equal pictures. */
void clef_picture_add_digest(const clef_picture *picture, clef_digest_state *state);

/* Leaves the picture empty. */
void clef_picture_release(clef_picture *picture);

#endif
