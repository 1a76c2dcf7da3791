/* Bicubic resizing of bytes, equal to the bit to the reference's. */
#ifndef CLEF_MEDIA_RESIZE_H
#define CLEF_MEDIA_RESIZE_H

#include "media/picture.h"

/* How weights become whole numbers; the two differ by one in about 0.3 % of the bytes. */
typedef enum clef_resize_rule {
    CLEF_RESIZE_TORCH,  /* 16-bit weights: torch's uint8 kernel, what the usual installation runs */
    CLEF_RESIZE_PILLOW, /* 22 bits behind the point: Pillow, before it took the height first at
                           times */
} clef_resize_rule;

/* Resizes in place: width first, rounded to bytes, then height. Nothing happens when the size is
 * right. Sides ≥ 1. Unchanged on failure, CLEF_OUT_OF_MEMORY. Single-threaded. */
clef_status clef_picture_resize(clef_picture *picture, uint32_t width, uint32_t height,
                                clef_resize_rule rule, clef_error *error);

#endif
