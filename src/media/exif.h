/* The one EXIF field that matters here. */
#ifndef CLEF_MEDIA_EXIF_H
#define CLEF_MEDIA_EXIF_H

#include <stddef.h>

/* Orientation (1 to 8) from an EXIF block, with or without "Exif\0\0" in front. A block that is
 * damaged, lacks the field or holds another value means 1: upright. */
unsigned clef_exif_orientation(const void *bytes, size_t length);

#endif
