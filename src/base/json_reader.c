/* The JSON event reader: one state byte, one bit of nesting a level, no recursion. The whole input
 * is checked for UTF-8 before the first event, so that everything below may treat bytes over 0x7F
 * as ordinary string content, and so that bad bytes are reported before bad syntax. Knows nothing
 * of trees or of what the values mean. */
#include "base/json_reader.h"

#include "base/json_scan.h"

#include <stdio.h>

/* What may come next; kept in clef_json_reader.expect. */
enum {
    EXPECT_START,         /* nothing is read yet, not even the UTF-8 is checked */
    EXPECT_VALUE,         /* a value and nothing else */
    EXPECT_FIRST_ELEMENT, /* a value or ']' */
    EXPECT_FIRST_KEY,     /* a key or '}' */
    EXPECT_KEY,           /* a key: there was a comma */
    EXPECT_AFTER_VALUE,   /* a comma, the end of the container, or the end of the text */
};

static clef_status fail_text(const clef_json_reader *reader, size_t offset, clef_error *error) {
    clef_text input = reader->input;
    unsigned found = (unsigned char)input.bytes[offset];
    /* A character cut off by the end is the usual fault of a body cut to a length; say so. */
    size_t size = found >= 0xF0 ? 4 : found >= 0xE0 ? 3 : 2;
    bool is_lead = found >= 0xC2 && found <= 0xF4;
    for (size_t i = offset + 1; i < input.length && is_lead; i++) {
        is_lead = ((unsigned char)input.bytes[i] & 0xC0) == 0x80;
    }
    if (is_lead && size > input.length - offset) {
        clef_fail(error, CLEF_BAD_TEXT,
                  "the text is not UTF-8: it ends inside the character that begins at byte %zu",
                  offset);
    } else {
        clef_fail(error, CLEF_BAD_TEXT, "the text is not UTF-8: invalid byte 0x%02X at byte %zu",
                  found, offset);
    }
    clef_error_set_kind(error, "", offset);
    return CLEF_BAD_TEXT;
}

/* The next byte, or -1 at the end. */
static int peek(const clef_json_reader *reader) {
    return reader->offset < reader->input.length
               ? (unsigned char)reader->input.bytes[reader->offset]
               : -1;
}

static void skip_space(clef_json_reader *reader) {
    const char *bytes = reader->input.bytes;
    size_t at = reader->offset;
    while (at < reader->input.length &&
           (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t')) {
        at++;
    }
    reader->offset = at;
}

/* ---- values and containers ---- */

static clef_status fail_expected(const clef_json_reader *reader, const char *what,
                                 clef_error *error) {
    return clef_json_fail_expected(error, reader->input, reader->offset, what);
}

static bool accept_word(clef_json_reader *reader, clef_text word) {
    if (reader->input.length - reader->offset < word.length ||
        memcmp(reader->input.bytes + reader->offset, word.bytes, word.length) != 0) {
        return false;
    }
    reader->offset += word.length;
    return true;
}

/* The three literals that Python writes and JSON does not have. */
static bool has_infinity(const clef_json_reader *reader) {
    clef_json_reader probe = *reader;
    return accept_word(&probe, CLEF_TEXT("NaN")) || accept_word(&probe, CLEF_TEXT("Infinity")) ||
           accept_word(&probe, CLEF_TEXT("-Infinity"));
}

static clef_status fail_value(const clef_json_reader *reader, clef_error *error) {
    if (has_infinity(reader)) {
        return clef_json_fail(error, reader->offset, "NaN and Infinity are not JSON: found one");
    }
    bool may_close = reader->expect == EXPECT_FIRST_ELEMENT;
    return fail_expected(reader, may_close ? "a value or ']'" : "a value", error);
}

static bool is_in_object(const clef_json_reader *reader) {
    unsigned level = reader->depth - 1;
    return (reader->nesting[level / 8] >> (level % 8) & 1) != 0;
}

static clef_status open_container(clef_json_reader *reader, bool is_object, clef_json_event *event,
                                  clef_error *error) {
    unsigned level = reader->depth;
    if (level == CLEF_JSON_DEPTH_LIMIT) {
        char what[64];
        snprintf(what, sizeof what, "JSON nesting is deeper than %d levels", CLEF_JSON_DEPTH_LIMIT);
        return clef_json_fail(error, reader->offset, what);
    }
    unsigned bit = 1u << (level % 8);
    unsigned others = reader->nesting[level / 8] & ~bit;
    reader->nesting[level / 8] = (unsigned char)(others | (is_object ? bit : 0));
    reader->depth++;
    reader->offset++;
    reader->expect = is_object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
    *event = is_object ? CLEF_JSON_EVENT_OBJECT_BEGIN : CLEF_JSON_EVENT_ARRAY_BEGIN;
    return CLEF_OK;
}

static clef_status close_container(clef_json_reader *reader, clef_json_event *event) {
    *event = is_in_object(reader) ? CLEF_JSON_EVENT_OBJECT_END : CLEF_JSON_EVENT_ARRAY_END;
    reader->depth--;
    reader->offset++;
    reader->expect = EXPECT_AFTER_VALUE;
    return CLEF_OK;
}

static clef_status read_key(clef_json_reader *reader, clef_json_event *event, clef_error *error) {
    if (peek(reader) != '"') {
        return fail_expected(reader,
                             reader->expect == EXPECT_FIRST_KEY ? "a key in quotes or '}'"
                                                                : "a key in quotes",
                             error);
    }
    clef_status status = clef_json_scan_string(reader->input, &reader->offset, reader->strings,
                                               &reader->text, error);
    if (status != CLEF_OK) {
        return status;
    }
    skip_space(reader);
    if (peek(reader) != ':') {
        return fail_expected(reader, "':' after a key", error);
    }
    reader->offset++;
    reader->expect = EXPECT_VALUE;
    *event = CLEF_JSON_EVENT_KEY;
    return CLEF_OK;
}

static clef_status read_value(clef_json_reader *reader, clef_json_event *event, clef_error *error) {
    clef_status status = CLEF_OK;
    int next = peek(reader);
    if (next == '{' || next == '[') {
        return open_container(reader, next == '{', event, error);
    }
    if (next == '"') {
        *event = CLEF_JSON_EVENT_STRING;
        status = clef_json_scan_string(reader->input, &reader->offset, reader->strings,
                                       &reader->text, error);
    } else if ((next >= '0' && next <= '9') || (next == '-' && !has_infinity(reader))) {
        *event = CLEF_JSON_EVENT_NUMBER;
        status = clef_json_scan_number(reader->input, &reader->offset, &reader->text, error);
    } else if (accept_word(reader, CLEF_TEXT("null"))) {
        *event = CLEF_JSON_EVENT_NULL;
    } else if (accept_word(reader, CLEF_TEXT("true"))) {
        *event = CLEF_JSON_EVENT_TRUE;
    } else if (accept_word(reader, CLEF_TEXT("false"))) {
        *event = CLEF_JSON_EVENT_FALSE;
    } else {
        status = fail_value(reader, error);
    }
    reader->expect = EXPECT_AFTER_VALUE;
    return status;
}

/* ---- the reader ---- */

void clef_json_reader_init(clef_json_reader *reader, clef_text input, clef_arena *strings) {
    *reader = (clef_json_reader){.input = input, .strings = strings, .expect = EXPECT_START};
    if (input.bytes == NULL) {
        reader->input = CLEF_TEXT("");
    }
}

static clef_status check_text(clef_json_reader *reader, clef_error *error) {
    clef_text input = reader->input;
    size_t valid = clef_utf8_valid_prefix(input.bytes, input.length);
    if (valid < input.length) {
        return fail_text(reader, valid, error);
    }
    accept_word(reader, CLEF_TEXT("\xEF\xBB\xBF"));
    reader->expect = EXPECT_VALUE;
    return CLEF_OK;
}

clef_status clef_json_read(clef_json_reader *reader, clef_json_event *event, clef_error *error) {
    if (reader->expect == EXPECT_START) {
        clef_status status = check_text(reader, error);
        if (status != CLEF_OK) {
            return status;
        }
    }
    skip_space(reader);
    if (reader->expect == EXPECT_AFTER_VALUE) {
        if (reader->depth == 0) {
            *event = CLEF_JSON_EVENT_END;
            return peek(reader) < 0 ? CLEF_OK : fail_expected(reader, "the end of the text", error);
        }
        bool in_object = is_in_object(reader);
        if (peek(reader) == (in_object ? '}' : ']')) {
            return close_container(reader, event);
        }
        if (peek(reader) != ',') {
            return fail_expected(reader, in_object ? "',' or '}'" : "',' or ']'", error);
        }
        reader->offset++;
        skip_space(reader);
        reader->expect = in_object ? EXPECT_KEY : EXPECT_VALUE;
    }
    if ((reader->expect == EXPECT_FIRST_ELEMENT && peek(reader) == ']') ||
        (reader->expect == EXPECT_FIRST_KEY && peek(reader) == '}')) {
        return close_container(reader, event);
    }
    if (reader->expect == EXPECT_FIRST_KEY || reader->expect == EXPECT_KEY) {
        return read_key(reader, event, error);
    }
    return read_value(reader, event, error);
}

clef_status clef_json_skip(clef_json_reader *reader, clef_error *error) {
    /* Nobody will look at the strings: check their escapes, but keep none of them. */
    clef_arena *strings = reader->strings;
    reader->strings = NULL;
    unsigned depth = reader->depth;
    clef_status status;
    do {
        clef_json_event event;
        status = clef_json_read(reader, &event, error);
    } while (status == CLEF_OK && (reader->depth > depth || reader->expect != EXPECT_AFTER_VALUE));
    reader->strings = strings;
    return status;
}
