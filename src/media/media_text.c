/* The spellings of a picture in a request. Knows no JSON and fetches nothing. */
#include "media/media_text.h"

#include "base/base64.h"
#include "base/memory.h"
#include "media/media_error.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static clef_text skip_spaces(clef_text text) {
    while (text.length > 0 && is_space(text.bytes[0])) {
        text.bytes++;
        text.length--;
    }
    return text;
}

/* Whether text begins with the lower-case word, in any case. */
static bool begins_with(clef_text text, const char *word) {
    size_t length = strlen(word);
    if (text.length < length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text.bytes[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != word[i]) {
            return false;
        }
    }
    return true;
}

/* Letters, digits and "+-." up to a colon. */
static bool has_scheme(clef_text text) {
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == ':') {
            return i > 0;
        }
        bool may_follow = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!is_letter(c) && (i == 0 || !may_follow)) {
            return false;
        }
    }
    return false;
}

clef_media_form clef_media_form_of(clef_text text) {
    text = skip_spaces(text);
    if (begins_with(text, "data:")) {
        return CLEF_MEDIA_DATA_URL;
    }
    if (begins_with(text, "http://") || begins_with(text, "https://")) {
        return CLEF_MEDIA_REMOTE;
    }
    return text.length == 0 || has_scheme(text) ? CLEF_MEDIA_OTHER : CLEF_MEDIA_BASE64;
}

clef_status clef_media_refuse_form(clef_media_kind kind, clef_error *error) {
    return clef_fail_media(error, CLEF_BAD_REQUEST,
                           "expected %sa base64 string, a data: URL or an http(s) URL",
                           kind == CLEF_MEDIA_VIDEO ? "a list of frames, or a video file as " : "");
}

static const char *kind_name(clef_media_kind kind) {
    return kind == CLEF_MEDIA_VIDEO ? "video" : "image";
}

clef_status clef_media_check_bytes(size_t length, clef_media_kind kind, size_t byte_limit,
                                   clef_error *error) {
    size_t own_limit = kind == CLEF_MEDIA_VIDEO ? CLEF_VIDEO_BYTE_LIMIT : CLEF_MEDIA_BYTE_LIMIT;
    size_t limit = byte_limit != 0 ? byte_limit : own_limit;
    if (length <= limit) {
        return CLEF_OK;
    }
    if (limit % ((size_t)1 << 20) == 0) {
        return clef_fail_media(error, CLEF_TOO_LARGE, "%s over the %zu MiB limit (%zu bytes)",
                               kind_name(kind), limit >> 20, length);
    }
    return clef_fail_media(error, CLEF_TOO_LARGE, "%s over the %zu-byte limit (%zu bytes)",
                           kind_name(kind), limit, length);
}

/* What stands behind "data:…;base64,". */
static clef_status find_data(clef_text url, clef_text *data, clef_error *error) {
    static const char mark[] = ";base64";
    const char *comma = memchr(url.bytes, ',', url.length);
    size_t head = comma == NULL ? 0 : (size_t)(comma - url.bytes);
    size_t mark_length = sizeof mark - 1;
    if (head < mark_length ||
        !begins_with((clef_text){url.bytes + head - mark_length, mark_length}, mark)) {
        return clef_fail_media(error, CLEF_BAD_REQUEST, "data: URL must be base64 encoded");
    }
    *data = (clef_text){comma + 1, url.length - head - 1};
    return CLEF_OK;
}

clef_status clef_media_text_decode(clef_text text, clef_media_kind kind, size_t byte_limit,
                                   uint8_t **bytes, size_t *length, clef_error *error) {
    *bytes = NULL;
    *length = 0;
    clef_text data = skip_spaces(text);
    switch (clef_media_form_of(text)) {
    case CLEF_MEDIA_BASE64:
        break;
    case CLEF_MEDIA_DATA_URL: {
        clef_status status = find_data(data, &data, error);
        if (status != CLEF_OK) {
            return status;
        }
        break;
    }
    case CLEF_MEDIA_REMOTE:
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "remote image URLs are disabled on this server");
    case CLEF_MEDIA_OTHER:
        return clef_media_refuse_form(kind, error);
    }
    clef_status status = clef_base64_decode(data, bytes, length, error);
    if (status == CLEF_BAD_REQUEST) {
        clef_error_prefix(error, kind == CLEF_MEDIA_VIDEO ? "invalid base64 video data"
                                                          : "invalid base64 image data");
        clef_error_set_kind(error, "media_error", 0);
    }
    if (status == CLEF_OK) {
        status = clef_media_check_bytes(*length, kind, byte_limit, error);
    }
    if (status != CLEF_OK) {
        clef_release(*bytes);
        *bytes = NULL;
        *length = 0;
    }
    return status;
}
