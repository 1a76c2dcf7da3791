/* Signatures of file formats: those that are read, and those that people send by mistake, so that a
 * refusal can name what came. */
#include "media/picture_format.h"

#include "base/text.h"

#include <string.h>

typedef struct file_signature {
    size_t at;
    const char *bytes;
    size_t length;
    clef_picture_format format;
    const char *name;
} file_signature;

#define STARTS(literal, format, name)                                                              \
    { 0, literal, sizeof(literal) - 1, format, name }
#define HOLDS_AT(at, literal, name)                                                                \
    { at, literal, sizeof(literal) - 1, CLEF_PICTURE_FOREIGN, name }
#define FOREIGN(literal, name) STARTS(literal, CLEF_PICTURE_FOREIGN, name)

/* The first that fits; the longer of two that share a start comes first. */
static const file_signature signatures[] = {
    STARTS("\x89PNG\r\n\x1A\n", CLEF_PICTURE_PNG, "PNG"),
    STARTS("\xFF\xD8\xFF", CLEF_PICTURE_JPEG, "JPEG"),
    FOREIGN("GIF87a", "GIF"),
    FOREIGN("GIF89a", "GIF"),
    FOREIGN("II*\0", "TIFF"),
    FOREIGN("MM\0*", "TIFF"),
    FOREIGN("II+\0", "BigTIFF"),
    FOREIGN("MM\0+", "BigTIFF"),
    HOLDS_AT(4, "ftypavif", "AVIF"),
    HOLDS_AT(4, "ftypavis", "AVIF"),
    HOLDS_AT(4, "ftyphei", "HEIC"),
    HOLDS_AT(4, "ftyphev", "HEIC"),
    HOLDS_AT(4, "ftypmif1", "HEIF"),
    HOLDS_AT(4, "ftypmsf1", "HEIF"),
    HOLDS_AT(4, "ftypqt  ", "QuickTime video"),
    HOLDS_AT(4, "ftyp", "MP4 video"),
    FOREIGN("\x1A\x45\xDF\xA3", "Matroska or WebM video"),
    FOREIGN("\0\0\0\x0CjP  \r\n\x87\n", "JPEG 2000"),
    FOREIGN("\xFF\x4F\xFF\x51", "JPEG 2000"),
    FOREIGN("\0\0\0\x0CJXL \r\n\x87\n", "JPEG XL"),
    FOREIGN("\xFF\x0A", "JPEG XL"),
    FOREIGN("%PDF-", "PDF"),
    FOREIGN("%!PS", "PostScript"),
    FOREIGN("8BPS", "Photoshop"),
    FOREIGN("gimp xcf", "XCF"),
    FOREIGN("qoif", "QOI"),
    FOREIGN("#?RADIANCE", "Radiance HDR"),
    FOREIGN("\x76\x2F\x31\x01", "OpenEXR"),
    FOREIGN("DDS ", "DDS"),
    FOREIGN("\0\0\1\0", "ICO"),
    FOREIGN("\0\0\2\0", "CUR"),
    FOREIGN("PK\3\4", "ZIP"),
    FOREIGN("\x1F\x8B", "gzip"),
};

static bool holds(clef_text text, size_t at, const char *bytes, size_t length) {
    return text.length >= at && text.length - at >= length &&
           memcmp(text.bytes + at, bytes, length) == 0;
}

/* RIFF names its contents behind its length. */
static clef_picture_format name_riff(clef_text text, const char **name) {
    if (holds(text, 8, "WEBP", 4)) {
        *name = "WebP";
        return CLEF_PICTURE_WEBP;
    }
    *name = holds(text, 8, "AVI ", 4)   ? "AVI video"
            : holds(text, 8, "WAVE", 4) ? "WAV sound"
                                        : "RIFF";
    return CLEF_PICTURE_FOREIGN;
}

/* "BM" alone is too little to go by: the size of the second header must be one of those in use. */
static bool is_bitmap(clef_text text) {
    static const unsigned char header_sizes[] = {12, 16, 40, 52, 56, 64, 108, 124};
    return holds(text, 0, "BM", 2) && text.length >= 18 &&
           memchr(header_sizes, text.bytes[14], sizeof header_sizes) != NULL &&
           memcmp(text.bytes + 15, "\0\0\0", 3) == 0;
}

static bool is_portable_map(clef_text text) {
    return text.length >= 3 && text.bytes[0] == 'P' && text.bytes[1] >= '1' &&
           text.bytes[1] <= '7' && memchr(" \t\r\n#", text.bytes[2], 5) != NULL;
}

/* Whether the lower-case word stands in the first kilobyte, in any case. */
static bool mentions(clef_text text, const char *word) {
    size_t length = strlen(word);
    size_t end = text.length < 1024 ? text.length : 1024;
    for (size_t at = 0; at + length <= end; at++) {
        size_t same = 0;
        while (same < length && (text.bytes[at + same] | 0x20) == (word[same] | 0x20)) {
            same++;
        }
        if (same == length) {
            return true;
        }
    }
    return false;
}

/* Text that begins with a tag, behind a byte order mark or white space. */
static const char *name_markup(clef_text text) {
    size_t at = holds(text, 0, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (at < text.length && memchr(" \t\r\n", text.bytes[at], 4) != NULL) {
        at++;
    }
    if (at == text.length || text.bytes[at] != '<') {
        return NULL;
    }
    return mentions(text, "<svg")    ? "SVG"
           : mentions(text, "<html") ? "HTML"
           : mentions(text, "<?xml") ? "XML"
                                     : NULL;
}

clef_picture_format clef_picture_format_of(const void *bytes, size_t length, const char **name) {
    clef_text text = {bytes, length};
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const file_signature *signature = &signatures[i];
        if (holds(text, signature->at, signature->bytes, signature->length)) {
            *name = signature->name;
            return signature->format;
        }
    }
    if (holds(text, 0, "RIFF", 4) && length >= 12) {
        return name_riff(text, name);
    }
    *name = is_bitmap(text) ? "BMP" : is_portable_map(text) ? "PNM" : name_markup(text);
    return *name != NULL ? CLEF_PICTURE_FOREIGN : CLEF_PICTURE_UNKNOWN;
}
