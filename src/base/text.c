/* Texts and UTF-8. Knows nothing of JSON or tokens. */
#include "base/text.h"

bool clef_text_equals(clef_text a, clef_text b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

int clef_text_compare(clef_text a, clef_text b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter == 0 ? 0 : memcmp(a.bytes, b.bytes, shorter);
    if (order != 0) {
        return order;
    }
    return (a.length > b.length) - (a.length < b.length);
}

/* Bytes of the valid character at `s` (length left > 0), or 0. Table 3-7 of the Unicode standard.
 */
static size_t valid_character(const unsigned char *s, size_t left) {
    unsigned lead = s[0];
    if (lead < 0x80) {
        return 1;
    }
    size_t size = lead >= 0xC2 && lead <= 0xDF   ? 2
                  : (lead & 0xF0) == 0xE0        ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                 : 0;
    if (size == 0 || left < size) {
        return 0;
    }
    unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return size;
}

size_t clef_utf8_valid_prefix(const char *bytes, size_t length) {
    const unsigned char *s = (const unsigned char *)bytes;
    size_t at = 0;
    while (at < length) {
        /* Eight ASCII bytes at a time: most texts are ASCII for long stretches. */
        while (length - at >= 8) {
            uint64_t word;
            memcpy(&word, s + at, 8);
            if ((word & UINT64_C(0x8080808080808080)) != 0) {
                break;
            }
            at += 8;
        }
        if (at == length) {
            break;
        }
        size_t size = valid_character(s + at, length - at);
        if (size == 0) {
            break;
        }
        at += size;
    }
    return at;
}

uint32_t clef_utf8_next(const char *bytes, size_t length, size_t *position) {
    const unsigned char *s = (const unsigned char *)bytes + *position;
    (void)length;
    if (s[0] < 0x80) {
        *position += 1;
        return s[0];
    }
    if (s[0] < 0xE0) {
        *position += 2;
        return (uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F);
    }
    if (s[0] < 0xF0) {
        *position += 3;
        return (uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
    }
    *position += 4;
    return (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 |
           (uint32_t)(s[2] & 0x3F) << 6 | (s[3] & 0x3F);
}

size_t clef_utf8_write(uint32_t c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

uint64_t clef_hash(const void *bytes, size_t length) {
    /* Multiply and fold eight bytes at a time; the tail is padded with zeros and the length mixed
     * in first, so that texts of different lengths differ. */
    const unsigned char *s = bytes;
    uint64_t hash = UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)length;
    while (length > 0) {
        uint64_t word = 0;
        size_t take = length < 8 ? length : 8;
        memcpy(&word, s, take);
        hash = (hash ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
        hash ^= hash >> 32;
        s += take;
        length -= take;
    }
    hash *= UINT64_C(0xC4CEB9FE1A85EC53);
    return hash ^ hash >> 29;
}
