/* Base64. Groups of four plain characters go the fast way; white space, padding and faults are
 * looked at one character at a time. */
#include "base/base64.h"

#include "base/memory.h"

/* An entry of the table: six bits of value, and what the character tells. */
#define VALUE        0x3Fu
#define IS_STANDARD  0x40u /* of the standard alphabet alone: + and / */
#define IS_URL_SAFE  0x80u /* of the URL-safe alphabet alone: - and _ */
#define IS_SPACE     0x100u
#define IS_PADDING   0x200u
#define IS_FOREIGN   0x400u
#define IS_NOT_PLAIN (IS_SPACE | IS_PADDING | IS_FOREIGN)

typedef struct base64_reading {
    uint16_t table[256];
    unsigned seen;          /* union of the entries so far */
    unsigned bits;          /* of the group begun */
    unsigned group_count;   /* characters of the group begun, 0 to 3 */
    unsigned padding_count; /* "=" so far; nothing else but white space may follow */
    uint8_t *bytes;
    size_t length;
} base64_reading;

static void fill_table(uint16_t table[256]) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (unsigned c = 0; c < 256; c++) {
        table[c] = IS_FOREIGN;
    }
    for (unsigned value = 0; value < 62; value++) {
        table[(unsigned char)alphabet[value]] = (uint16_t)value;
    }
    table['+'] = 62 | IS_STANDARD;
    table['/'] = 63 | IS_STANDARD;
    table['-'] = 62 | IS_URL_SAFE;
    table['_'] = 63 | IS_URL_SAFE;
    table['='] = IS_PADDING;
    for (const char *space = " \t\n\v\f\r"; *space != '\0'; space++) {
        table[(unsigned char)*space] = IS_SPACE;
    }
}

static clef_status fail_at(clef_error *error, size_t at, unsigned char c, const char *why) {
    if (c >= 0x21 && c <= 0x7E) {
        return clef_fail(error, CLEF_BAD_REQUEST, "byte %zu is '%c', %s", at, c, why);
    }
    return clef_fail(error, CLEF_BAD_REQUEST, "byte %zu is 0x%02X, %s", at, c, why);
}

/* Takes one character; the fast way has not. */
static clef_status take_character(base64_reading *reading, unsigned char c, size_t at,
                                  clef_error *error) {
    unsigned entry = reading->table[c];
    if ((entry & IS_SPACE) != 0) {
        return CLEF_OK;
    }
    if ((entry & IS_FOREIGN) != 0) {
        return fail_at(error, at, c, "which is not of the base64 alphabet");
    }
    if ((entry & IS_PADDING) != 0) {
        reading->padding_count++;
        if (reading->group_count + reading->padding_count > 4 || reading->group_count < 2) {
            return fail_at(error, at, c, "padding where none belongs");
        }
        return CLEF_OK;
    }
    if (reading->padding_count > 0) {
        return fail_at(error, at, c, "behind the padding");
    }
    reading->seen |= entry;
    if ((reading->seen & IS_STANDARD) != 0 && (reading->seen & IS_URL_SAFE) != 0) {
        return fail_at(error, at, c,
                       "so the standard and the URL-safe alphabet stand in the same text");
    }
    reading->bits = reading->bits << 6 | (entry & VALUE);
    reading->group_count++;
    if (reading->group_count == 4) {
        reading->bytes[reading->length++] = (uint8_t)(reading->bits >> 16);
        reading->bytes[reading->length++] = (uint8_t)(reading->bits >> 8);
        reading->bytes[reading->length++] = (uint8_t)reading->bits;
        reading->bits = 0;
        reading->group_count = 0;
    }
    return CLEF_OK;
}

/* Whole groups of plain characters from *at on. Stops in front of anything else, also in front of
 * the character that mixes the alphabets, so that the fault is found where it is. */
static void take_groups(base64_reading *reading, const unsigned char *s, size_t length,
                        size_t *at) {
    const uint16_t *table = reading->table;
    while (length - *at >= 4) {
        const unsigned char *c = s + *at;
        unsigned first = table[c[0]], second = table[c[1]], third = table[c[2]],
                 fourth = table[c[3]];
        unsigned seen = reading->seen | first | second | third | fourth;
        if ((seen & IS_NOT_PLAIN) != 0 ||
            (seen & (IS_STANDARD | IS_URL_SAFE)) == (IS_STANDARD | IS_URL_SAFE)) {
            return;
        }
        unsigned bits = (first & VALUE) << 18 | (second & VALUE) << 12 | (third & VALUE) << 6 |
                        (fourth & VALUE);
        uint8_t *out = reading->bytes + reading->length;
        out[0] = (uint8_t)(bits >> 16);
        out[1] = (uint8_t)(bits >> 8);
        out[2] = (uint8_t)bits;
        reading->seen = seen;
        reading->length += 3;
        *at += 4;
    }
}

/* The group that the end of the text leaves open. */
static clef_status take_end(base64_reading *reading, clef_error *error) {
    if (reading->group_count == 1) {
        return clef_fail(error, CLEF_BAD_REQUEST,
                         "it is cut off: its last group has one character of four");
    }
    if (reading->padding_count > 0 && reading->group_count + reading->padding_count != 4) {
        return clef_fail(error, CLEF_BAD_REQUEST, "its padding is cut off");
    }
    if (reading->group_count == 2) {
        reading->bytes[reading->length++] = (uint8_t)(reading->bits >> 4);
    } else if (reading->group_count == 3) {
        reading->bytes[reading->length++] = (uint8_t)(reading->bits >> 10);
        reading->bytes[reading->length++] = (uint8_t)(reading->bits >> 2);
    }
    return CLEF_OK;
}

clef_status clef_base64_decode(clef_text text, uint8_t **bytes, size_t *length, clef_error *error) {
    *bytes = NULL;
    *length = 0;
    size_t room = text.length / 4 * 3 + 3;
    base64_reading reading = {.bytes = clef_allocate_aligned(room, 1)};
    if (reading.bytes == NULL) {
        return clef_fail_memory(error, room, "the bytes of a base64 text");
    }
    fill_table(reading.table);
    clef_status status = CLEF_OK;
    const unsigned char *s = (const unsigned char *)text.bytes;
    size_t at = 0;
    while (at < text.length && status == CLEF_OK) {
        if (reading.group_count == 0 && reading.padding_count == 0) {
            take_groups(&reading, s, text.length, &at);
        }
        if (at < text.length) {
            status = take_character(&reading, s[at], at, error);
            at++;
        }
    }
    if (status == CLEF_OK) {
        status = take_end(&reading, error);
    }
    if (status != CLEF_OK) {
        clef_release(reading.bytes);
        return status;
    }
    *bytes = reading.bytes;
    *length = reading.length;
    return CLEF_OK;
}

void clef_base64_append(clef_buffer *out, const void *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t group = (uint32_t)from[i] << 16;
        group |= count > 1 ? (uint32_t)from[i + 1] << 8 : 0;
        group |= count > 2 ? from[i + 2] : 0;
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        count > 1 ? digits[group >> 6 & 63] : '=',
                        count > 2 ? digits[group & 63] : '='};
        clef_buffer_append(out, text, sizeof text);
    }
}
