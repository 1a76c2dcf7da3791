/* What the targets of the picture adapters share: one file through one decoder, with a small limit
 * so that the fuzzer is fast. */
#ifndef CLEF_FUZZ_DECODING_H
#define CLEF_FUZZ_DECODING_H

#include "media/decoders.h"

#include <string.h>

#define PIXEL_LIMIT 400000

typedef clef_status decode_function(const clef_encoded *encoded, clef_stored *stored,
                                    clef_error *error);

static inline int decode_any(decode_function *decode, const uint8_t *bytes, size_t length) {
    static const uint8_t nothing = 0;
    clef_encoded encoded = {length == 0 ? &nothing : bytes, length, PIXEL_LIMIT, false};
    clef_stored stored = {.orientation = 1};
    clef_error error = {0};
    clef_status status = decode(&encoded, &stored, &error);
    if ((status == CLEF_OK) != (stored.picture.rgb != NULL) ||
        (status != CLEF_OK && error.message[0] == '\0')) {
        __builtin_trap();
    }
    if (status == CLEF_OK) {
        unsigned sum = 0;
        size_t count = (size_t)stored.picture.width * stored.picture.height * 3;
        for (size_t i = 0; i < count; i++) {
            sum += stored.picture.rgb[i];
        }
        if (count > 3 * PIXEL_LIMIT || sum > 255 * count || stored.orientation - 1 > 7) {
            __builtin_trap();
        }
    }
    clef_picture_release(&stored.picture);
    /* The header alone says the same. */
    clef_stored header = {.orientation = 1};
    encoded.is_header_only = true;
    clef_status judged = decode(&encoded, &header, NULL);
    if (header.picture.rgb != NULL ||
        (status == CLEF_OK &&
         (judged != CLEF_OK || header.width != stored.width || header.height != stored.height ||
          header.orientation != stored.orientation))) {
        __builtin_trap();
    }
    return 0;
}

#endif
