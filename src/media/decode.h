/* Encoded pictures to RGB: PNG, JPEG and WebP, recognised by their bytes.
 *
 * Bounded: the size in the header is judged before any memory is taken for pixels; beside the
 * picture a decoder holds at most 8 bytes a pixel. Texts, profiles and thumbnails inside a file are
 * skipped unread. Of an animation the first frame is read. */
#ifndef CLEF_MEDIA_DECODE_H
#define CLEF_MEDIA_DECODE_H

#include "media/picture.h"
#include "media/picture_format.h"

/* All-zero means default. */
typedef struct clef_decode_options {
    uint64_t pixel_limit; /* 0: CLEF_PICTURE_PIXEL_LIMIT */
    bool ignores_exif;    /* leave the picture as stored instead of turning it upright */
} clef_decode_options;

/* A picture judged by its header. */
typedef struct clef_picture_facts {
    clef_picture_format format;
    uint32_t width, height; /* as clef_picture_decode will give them */
} clef_picture_facts;

/* Decodes `length` bytes, borrowed for the call. 8-bit RGB as Pillow's convert("RGB") gives it:
 * alpha is dropped, not blended; of 16 bits the high byte is kept, also for grey (which Pillow
 * clips). Errors are of kind "media_error": CLEF_BAD_REQUEST for what is no picture, damaged, cut
 * off or of a format that is not read (named); CLEF_TOO_LARGE for too many pixels. */
clef_status clef_picture_decode(const void *bytes, size_t length,
                                const clef_decode_options *options, clef_picture *picture,
                                clef_error *error);

/* The same judgement of header and size without decoding; errors as above. */
clef_status clef_picture_probe(const void *bytes, size_t length, const clef_decode_options *options,
                               clef_picture_facts *facts, clef_error *error);

#endif
