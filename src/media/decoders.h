/* What decode.c asks of the adapters of the picture libraries; nobody else includes this.
 *
 * An adapter reads the header, has the size checked, takes memory only then and decodes to RGB as
 * stored: 8 bits, alpha dropped, grey repeated, nothing turned. It leaves no memory on failure. */
#ifndef CLEF_MEDIA_DECODERS_H
#define CLEF_MEDIA_DECODERS_H

#include "media/picture.h"

typedef struct clef_encoded {
    const uint8_t *bytes; /* borrowed */
    size_t length;
    uint64_t pixel_limit; /* 0: the default */
    bool is_header_only;  /* facts, no pixels */
} clef_encoded;

typedef struct clef_stored {
    uint32_t width, height; /* as stored */
    unsigned orientation;   /* EXIF, 1 to 8 */
    clef_picture picture;   /* owned by the caller; empty when only the header was asked for */
} clef_stored;

clef_status clef_jpeg_decode(const clef_encoded *encoded, clef_stored *stored, clef_error *error);
clef_status clef_png_decode(const clef_encoded *encoded, clef_stored *stored, clef_error *error);
clef_status clef_webp_decode(const clef_encoded *encoded, clef_stored *stored, clef_error *error);

#endif
