/* The parts of JSON text that hold characters: strings with their escapes, numbers with their
 * digits. Works on offsets into one text and knows no containers and no events. */
#include "base/json_scan.h"

#include "base/json_reader.h"

#define REPEATED(byte) (UINT64_C(0x0101010101010101) * (byte))

clef_status clef_json_fail(clef_error *error, size_t offset, const char *what) {
    clef_fail(error, CLEF_BAD_REQUEST, "%s at byte %zu", what, offset);
    clef_error_set_kind(error, "json_invalid", offset);
    return CLEF_BAD_REQUEST;
}

clef_status clef_json_fail_expected(clef_error *error, clef_text input, size_t offset,
                                    const char *what) {
    unsigned found = offset < input.length ? (unsigned char)input.bytes[offset] : 0;
    if (offset >= input.length) {
        clef_fail(error, CLEF_BAD_REQUEST, "expected %s at byte %zu, found the end of the text",
                  what, offset);
    } else if (found > 0x20 && found < 0x7F) {
        clef_fail(error, CLEF_BAD_REQUEST, "expected %s at byte %zu, found '%c'", what, offset,
                  (int)found);
    } else {
        clef_fail(error, CLEF_BAD_REQUEST, "expected %s at byte %zu, found byte 0x%02X", what,
                  offset, found);
    }
    clef_error_set_kind(error, "json_invalid", offset);
    return CLEF_BAD_REQUEST;
}

/* ---- strings ---- */

static bool ends_plain_run(unsigned char byte) {
    return byte == '"' || byte == '\\' || byte < 0x20;
}

/* Offset of the first quote, backslash or control character at or after `at`. */
static size_t skip_plain(clef_text input, size_t at) {
    while (input.length - at >= 8) {
        uint64_t word;
        memcpy(&word, input.bytes + at, 8);
        uint64_t quote = word ^ REPEATED('"');
        uint64_t backslash = word ^ REPEATED('\\');
        /* x - n borrows into the top bit of some byte exactly when one of the bytes is below n. */
        uint64_t found = ((word - REPEATED(0x20)) & ~word) | ((quote - REPEATED(1)) & ~quote) |
                         ((backslash - REPEATED(1)) & ~backslash);
        if ((found & REPEATED(0x80)) != 0) {
            break;
        }
        at += 8;
    }
    while (at < input.length && !ends_plain_run((unsigned char)input.bytes[at])) {
        at++;
    }
    return at;
}

/* Finds the closing quote of the string whose content begins at `begin`. */
static clef_status find_string_end(clef_text input, size_t begin, size_t *end, bool *has_escapes,
                                   clef_error *error) {
    size_t at = begin;
    *has_escapes = false;
    while ((at = skip_plain(input, at)) < input.length) {
        if (input.bytes[at] == '"') {
            *end = at;
            return CLEF_OK;
        }
        if (input.bytes[at] != '\\') {
            return clef_json_fail(error, at, "a string holds a raw control character");
        }
        *has_escapes = true;
        if (input.length - at < 2) {
            break;
        }
        at += 2; /* whatever is escaped, a quote too, does not end the string */
    }
    return clef_json_fail(error, begin - 1, "a string is never closed that begins");
}

/* Value of the four hexadecimal digits at `at`, or -1; `end` bounds the string. */
static int32_t read_hexadecimal(const char *bytes, size_t at, size_t end) {
    if (end - at < 4) {
        return -1;
    }
    int32_t value = 0;
    for (size_t i = at; i < at + 4; i++) {
        char c = bytes[i];
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* Decodes the \u escape whose backslash is at *at, with its second half for a pair. */
static clef_status read_unicode_escape(const char *bytes, size_t *at, size_t end,
                                       uint32_t *code_point, clef_error *error) {
    size_t begin = *at;
    int32_t unit = read_hexadecimal(bytes, begin + 2, end);
    if (unit < 0) {
        return clef_json_fail(error, begin, "\\u is not followed by four hexadecimal digits");
    }
    *at = begin + 6;
    *code_point = (uint32_t)unit;
    if (unit < 0xD800 || unit > 0xDFFF) {
        return CLEF_OK;
    }
    if (unit < 0xDC00 && end - *at >= 6 && bytes[*at] == '\\' && bytes[*at + 1] == 'u') {
        int32_t low = read_hexadecimal(bytes, *at + 2, end);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *at += 6;
            *code_point = 0x10000 + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
            return CLEF_OK;
        }
    }
    return clef_json_fail(error, begin, "a string holds a lone surrogate escape");
}

static char simple_escape(char letter) {
    switch (letter) {
    case '"':
    case '\\':
    case '/':
        return letter;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return '\0';
    }
}

/* Decodes bytes [at, end) to `out`, which has room for as many bytes: no escape grows. With
 * out NULL the escapes are only checked. */
static clef_status decode_string(const char *bytes, size_t at, size_t end, char *out,
                                 size_t *length, clef_error *error) {
    size_t written = 0;
    while (at < end) {
        const char *backslash = memchr(bytes + at, '\\', end - at);
        size_t run = backslash == NULL ? end - at : (size_t)(backslash - bytes) - at;
        if (out != NULL) {
            memcpy(out + written, bytes + at, run);
        }
        written += run;
        at += run;
        if (at == end) {
            break;
        }
        char character[4];
        size_t size = 1;
        if (bytes[at + 1] == 'u') {
            uint32_t code_point;
            clef_status status = read_unicode_escape(bytes, &at, end, &code_point, error);
            if (status != CLEF_OK) {
                return status;
            }
            size = clef_utf8_write(code_point, character);
        } else {
            character[0] = simple_escape(bytes[at + 1]);
            if (character[0] == '\0') {
                return clef_json_fail(error, at,
                                      "a string holds an escape that JSON does not have");
            }
            at += 2;
        }
        if (out != NULL) {
            memcpy(out + written, character, size);
        }
        written += size;
    }
    *length = written;
    return CLEF_OK;
}

clef_status clef_json_scan_string(clef_text input, size_t *offset, clef_arena *strings,
                                  clef_text *text, clef_error *error) {
    size_t begin = *offset + 1;
    size_t end;
    bool has_escapes;
    clef_status status = find_string_end(input, begin, &end, &has_escapes, error);
    if (status != CLEF_OK) {
        return status;
    }
    *offset = end + 1;
    *text = (clef_text){input.bytes + begin, end - begin};
    if (!has_escapes) {
        return CLEF_OK;
    }
    char *out = NULL;
    if (strings != NULL) {
        out = clef_arena_allocate(strings, end - begin, 1);
        if (out == NULL) {
            return clef_fail_memory(error, end - begin, "a string of the JSON text");
        }
    }
    size_t length = 0;
    status = decode_string(input.bytes, begin, end, out, &length, error);
    *text = (clef_text){out == NULL ? "" : out, out == NULL ? 0 : length};
    return status;
}

/* ---- numbers ---- */

/* Decimal with a comma between groups of three; 64 bits have at most 20 digits and 6 commas. */
static void write_grouped(size_t count, char out[32]) {
    char digits[24];
    size_t length = 0;
    do {
        digits[length++] = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    size_t at = 0;
    while (length > 0) {
        out[at++] = digits[--length];
        if (length > 0 && length % 3 == 0) {
            out[at++] = ',';
        }
    }
    out[at] = '\0';
}

static clef_status fail_digits(size_t count, size_t offset, clef_error *error) {
    char found[32];
    char limit[32];
    write_grouped(count, found);
    write_grouped(CLEF_JSON_DIGIT_LIMIT, limit);
    clef_fail(error, CLEF_BAD_REQUEST, "a number has %s digits at byte %zu; the limit is %s", found,
              offset, limit);
    clef_error_set_kind(error, "json_invalid", offset);
    return CLEF_BAD_REQUEST;
}

/* Moves *offset over one digit or more and adds how many. */
static clef_status scan_digits(clef_text input, size_t *offset, size_t *count, clef_error *error) {
    size_t at = *offset;
    while (at < input.length && input.bytes[at] >= '0' && input.bytes[at] <= '9') {
        at++;
    }
    if (at == *offset) {
        return clef_json_fail_expected(error, input, at, "a digit");
    }
    *count += at - *offset;
    *offset = at;
    return CLEF_OK;
}

/* Moves *offset over `a` or `b` if one of them is there. */
static bool accept_either(clef_text input, size_t *offset, char a, char b) {
    bool is_there =
        *offset < input.length && (input.bytes[*offset] == a || input.bytes[*offset] == b);
    *offset += is_there;
    return is_there;
}

clef_status clef_json_scan_number(clef_text input, size_t *offset, clef_text *text,
                                  clef_error *error) {
    size_t begin = *offset;
    size_t at = begin;
    size_t count = 0;
    accept_either(input, &at, '-', '-');
    size_t first = at;
    clef_status status = scan_digits(input, &at, &count, error);
    if (status == CLEF_OK && input.bytes[first] == '0' && count > 1) {
        return clef_json_fail(error, first, "a number has a leading zero");
    }
    if (status == CLEF_OK && accept_either(input, &at, '.', '.')) {
        status = scan_digits(input, &at, &count, error);
    }
    if (status == CLEF_OK && accept_either(input, &at, 'e', 'E')) {
        accept_either(input, &at, '+', '-');
        status = scan_digits(input, &at, &count, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    if (count > CLEF_JSON_DIGIT_LIMIT) {
        return fail_digits(count, begin, error);
    }
    *text = (clef_text){input.bytes + begin, at - begin};
    *offset = at;
    return CLEF_OK;
}
