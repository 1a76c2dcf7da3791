/* What kind of file some bytes are. The bytes decide, never a declared type. */
#ifndef CLEF_MEDIA_PICTURE_FORMAT_H
#define CLEF_MEDIA_PICTURE_FORMAT_H

#include <stddef.h>

typedef enum clef_picture_format {
    CLEF_PICTURE_UNKNOWN,
    CLEF_PICTURE_PNG,
    CLEF_PICTURE_JPEG,
    CLEF_PICTURE_WEBP,
    CLEF_PICTURE_FOREIGN, /* known by name, not read here */
} clef_picture_format;

/* *name: "PNG", "GIF", "PDF" …, static; NULL for CLEF_PICTURE_UNKNOWN. */
clef_picture_format clef_picture_format_of(const void *bytes, size_t length, const char **name);

#endif
