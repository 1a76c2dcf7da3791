/* Chooses the decoder by the bytes and turns the result upright. Names no library. */
#include "media/decode.h"

#include "media/decoders.h"
#include "media/media_error.h"

#include <stdio.h>

/* Bytes of an unknown file shown to whoever wonders what it is. */
#define BYTES_SHOWN 8

static clef_status refuse_unknown(const uint8_t *bytes, size_t length, clef_error *error) {
    if (length == 0) {
        return clef_fail_media(error, CLEF_BAD_REQUEST, "not a decodable image (it is empty)");
    }
    char shown[3 * BYTES_SHOWN + 1] = "";
    for (size_t i = 0; i < length && i < BYTES_SHOWN; i++) {
        snprintf(shown + 3 * i, sizeof shown - 3 * i, "%02X ", bytes[i]);
    }
    return clef_fail_media(error, CLEF_BAD_REQUEST,
                           "not a decodable image (it begins with %sand is no PNG, JPEG or WebP)",
                           shown);
}

static clef_status read_stored(const clef_encoded *encoded, clef_picture_format *format,
                               clef_stored *stored, clef_error *error) {
    const char *name;
    *stored = (clef_stored){.orientation = 1};
    *format = clef_picture_format_of(encoded->bytes, encoded->length, &name);
    switch (*format) {
    case CLEF_PICTURE_PNG:
        return clef_png_decode(encoded, stored, error);
    case CLEF_PICTURE_JPEG:
        return clef_jpeg_decode(encoded, stored, error);
    case CLEF_PICTURE_WEBP:
        return clef_webp_decode(encoded, stored, error);
    case CLEF_PICTURE_FOREIGN:
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "format %s is not supported (PNG, JPEG, WebP)", name);
    case CLEF_PICTURE_UNKNOWN:
        break;
    }
    return refuse_unknown(encoded->bytes, encoded->length, error);
}

clef_status clef_picture_decode(const void *bytes, size_t length,
                                const clef_decode_options *options, clef_picture *picture,
                                clef_error *error) {
    clef_encoded encoded = {bytes, length, options->pixel_limit, false};
    clef_picture_format format;
    clef_stored stored;
    *picture = (clef_picture){0};
    clef_status status = read_stored(&encoded, &format, &stored, error);
    if (status == CLEF_OK && !options->ignores_exif) {
        status = clef_picture_turn(&stored.picture, stored.orientation, error);
    }
    if (status != CLEF_OK) {
        clef_picture_release(&stored.picture);
        return status;
    }
    *picture = stored.picture;
    return CLEF_OK;
}

clef_status clef_picture_probe(const void *bytes, size_t length, const clef_decode_options *options,
                               clef_picture_facts *facts, clef_error *error) {
    clef_encoded encoded = {bytes, length, options->pixel_limit, true};
    clef_stored stored;
    *facts = (clef_picture_facts){0};
    clef_status status = read_stored(&encoded, &facts->format, &stored, error);
    if (status != CLEF_OK) {
        return status;
    }
    bool is_sideways = stored.orientation >= 5 && !options->ignores_exif;
    facts->width = is_sideways ? stored.height : stored.width;
    facts->height = is_sideways ? stored.width : stored.height;
    return CLEF_OK;
}
