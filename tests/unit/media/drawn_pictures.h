/* Numbers and pictures by a fixed recipe. */
#ifndef CLEF_TEST_DRAWN_PICTURES_H
#define CLEF_TEST_DRAWN_PICTURES_H

#include "support.h"

#include "media/picture.h"

static inline uint32_t next_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* Released with clef_picture_release. */
static inline clef_picture draw_picture(uint32_t width, uint32_t height, uint64_t seed) {
    clef_error error = {0};
    clef_picture picture;
    assert_ok(clef_picture_create(width, height, &picture, &error), &error);
    for (size_t i = 0; i < (size_t)width * height * 3; i++) {
        picture.rgb[i] = (uint8_t)next_random(&seed);
    }
    return picture;
}

#endif
