/* The event reader: what it accepts, what it refuses, where it says the fault is, and that no text
 * of any kind makes it crash, recurse or read past the end. */
#include "support.h"

#include "base/json_reader.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static const char rich_document[] =
    "\xEF\xBB\xBF {\"plain\" : [1, -2.5e+3,0.0E-7, true,false ,null,[],{}],"
    "\"esc\\u0061ped\\n\":\"\\ud83d\\ude00 \\\"\\\\\\/\\b\\f\\n\\r\\t \\u0000\","
    "\"\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80\":{\"\":{\"deep\":[[[\"\"]]]}},\"last\":\t-0\r\n}";

/* A copy that ends exactly where its block ends, so that a sanitizer sees any byte read beyond. */
static clef_text copy_exactly(const char *bytes, size_t length) {
    char *copy = malloc(length == 0 ? 1 : length);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return (clef_text){copy, length};
}

static void free_text(clef_text text) {
    free((void *)(uintptr_t)text.bytes);
}

/* Reads to the end or to the first error. */
static clef_status read_all(clef_text text, clef_error *error) {
    clef_text copy = copy_exactly(text.bytes, text.length);
    clef_arena strings = {0};
    clef_json_reader reader;
    clef_json_reader_init(&reader, copy, &strings);
    clef_json_event event = CLEF_JSON_EVENT_NULL;
    clef_status status = CLEF_OK;
    while (status == CLEF_OK && event != CLEF_JSON_EVENT_END) {
        status = clef_json_read(&reader, &event, error);
        assert_true(reader.offset <= copy.length);
        assert_true(reader.depth <= CLEF_JSON_DEPTH_LIMIT);
    }
    clef_arena_release(&strings);
    free_text(copy);
    return status;
}

static void expect_refusal(clef_text text, clef_status status, size_t offset, const char *part) {
    clef_error error = {0};
    clef_status found = read_all(text, &error);
    if (found != status || error.status != status || error.offset != offset ||
        strstr(error.message, part) == NULL) {
        fail_msg("%.*s: %s at %zu, \"%s\"; expected %s at %zu, \"%s\"", (int)text.length,
                 text.bytes, clef_status_name(found), (size_t)error.offset, error.message,
                 clef_status_name(status), offset, part);
    }
    assert_string_equal(error.kind, status == CLEF_BAD_REQUEST ? "json_invalid" : "");
}

static void expect_ok(clef_text text) {
    clef_error error = {0};
    assert_ok(read_all(text, &error), &error);
}

/* ---- events ---- */

static void expect_event(clef_json_reader *reader, clef_json_event event, const char *text) {
    clef_error error = {0};
    clef_json_event found;
    assert_ok(clef_json_read(reader, &found, &error), &error);
    assert_int_equal(found, event);
    if (text != NULL) {
        assert_int_equal(reader->text.length, strlen(text));
        assert_memory_equal(reader->text.bytes, text, strlen(text));
    }
}

static void events_come_in_order(void **state) {
    (void)state;
    clef_arena strings = {0};
    clef_json_reader reader;
    clef_json_reader_init(
        &reader, CLEF_TEXT(" {\"a\":[1,-2.50e+1 ,\"x\\ny\",true],\"\\u00e9\":{},\"c\":null} \n"),
        &strings);
    expect_event(&reader, CLEF_JSON_EVENT_OBJECT_BEGIN, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_KEY, "a");
    expect_event(&reader, CLEF_JSON_EVENT_ARRAY_BEGIN, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_NUMBER, "1");
    expect_event(&reader, CLEF_JSON_EVENT_NUMBER, "-2.50e+1");
    expect_event(&reader, CLEF_JSON_EVENT_STRING, "x\ny");
    expect_event(&reader, CLEF_JSON_EVENT_TRUE, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_ARRAY_END, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_KEY, "\xC3\xA9");
    expect_event(&reader, CLEF_JSON_EVENT_OBJECT_BEGIN, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_OBJECT_END, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_KEY, "c");
    expect_event(&reader, CLEF_JSON_EVENT_NULL, NULL);
    assert_int_equal(reader.depth, 1);
    expect_event(&reader, CLEF_JSON_EVENT_OBJECT_END, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_END, NULL);
    clef_arena_release(&strings);
}

static void plain_strings_are_slices(void **state) {
    (void)state;
    static const char input[] = "[\"plain \xC3\xA9\",\"with\\u0000nul\"]";
    clef_arena strings = {0};
    clef_json_reader reader;
    clef_json_reader_init(&reader, CLEF_TEXT(input), &strings);
    expect_event(&reader, CLEF_JSON_EVENT_ARRAY_BEGIN, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_STRING, "plain \xC3\xA9");
    assert_ptr_equal(reader.text.bytes, input + 2);
    assert_int_equal(strings.used_bytes, 0);
    clef_json_event event;
    clef_error error = {0};
    assert_ok(clef_json_read(&reader, &event, &error), &error);
    assert_int_equal(reader.text.length, 8);
    assert_memory_equal(reader.text.bytes, "with\0nul", 8);
    assert_true(strings.used_bytes > 0);
    clef_arena_release(&strings);
}

static void escapes_are_decoded(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *decoded;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u65E5\\uFFFF\"", "A\xC3\xA9\xE6\x97\xA5\xEF\xBF\xBF"},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80"},
        {"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
        {"\"\\\\ud83d\"", "\\ud83d"},
        {"\"a\\\\\"", "a\\"},
        {"\"\"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_arena strings = {0};
        clef_json_reader reader;
        clef_json_reader_init(&reader, clef_text_of(cases[i].json), &strings);
        expect_event(&reader, CLEF_JSON_EVENT_STRING, cases[i].decoded);
        expect_event(&reader, CLEF_JSON_EVENT_END, NULL);
        clef_arena_release(&strings);
    }
}

static void skip_passes_exactly_one_value(void **state) {
    (void)state;
    clef_arena strings = {0};
    clef_json_reader reader;
    clef_error error = {0};
    clef_json_reader_init(
        &reader,
        CLEF_TEXT("{\"a\":{\"x\":[1,{\"\\u0061\":\"\\n\"}]},\"b\":7,\"c\":[\"\\n\",[],2]}"),
        &strings);
    expect_event(&reader, CLEF_JSON_EVENT_OBJECT_BEGIN, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_KEY, "a");
    assert_ok(clef_json_skip(&reader, &error), &error);
    expect_event(&reader, CLEF_JSON_EVENT_KEY, "b");
    assert_ok(clef_json_skip(&reader, &error), &error);
    expect_event(&reader, CLEF_JSON_EVENT_KEY, "c");
    expect_event(&reader, CLEF_JSON_EVENT_ARRAY_BEGIN, NULL);
    assert_ok(clef_json_skip(&reader, &error), &error);
    assert_ok(clef_json_skip(&reader, &error), &error);
    assert_int_equal(strings.used_bytes, 0);
    expect_event(&reader, CLEF_JSON_EVENT_NUMBER, "2");
    expect_event(&reader, CLEF_JSON_EVENT_ARRAY_END, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_OBJECT_END, NULL);
    expect_event(&reader, CLEF_JSON_EVENT_END, NULL);

    clef_json_reader_init(&reader, CLEF_TEXT("[{\"a\":\"\\ud800\"}]"), &strings);
    expect_event(&reader, CLEF_JSON_EVENT_ARRAY_BEGIN, NULL);
    assert_int_equal(clef_json_skip(&reader, &error), CLEF_BAD_REQUEST);
    assert_int_equal(error.offset, 7);
    clef_arena_release(&strings);
}

/* ---- refusals ---- */

static void syntax_errors_name_the_offset(void **state) {
    (void)state;
    static const struct {
        const char *json;
        size_t offset;
        const char *part;
    } cases[] = {
        {"", 0, "expected a value at byte 0, found the end of the text"},
        {" \n", 2, "found the end"},
        {"[1,]", 3, "expected a value at byte 3, found ']'"},
        {"[", 1, "expected a value or ']'"},
        {"[1 2]", 3, "expected ',' or ']' at byte 3, found '2'"},
        {"[1}", 2, "expected ',' or ']'"},
        {"{\"a\":1]", 6, "expected ',' or '}'"},
        {"{", 1, "expected a key in quotes or '}'"},
        {"{\"a\":1,}", 7, "expected a key in quotes at byte 7"},
        {"{a:1}", 1, "found 'a'"},
        {"{\"a\" 1}", 5, "expected ':' after a key"},
        {"{\"a\":}", 5, "expected a value at byte 5, found '}'"},
        {"{1:2}", 1, "expected a key"},
        {"1 2", 2, "expected the end of the text at byte 2, found '2'"},
        {"{}x", 2, "expected the end of the text"},
        {"tru", 0, "expected a value"},
        {"nulls", 4, "expected the end of the text"},
        {"True", 0, "found 'T'"},
        {"'a'", 0, "expected a value"},
        {"// c\n1", 0, "expected a value"},
        {"\x0B"
         "1",
         0, "found byte 0x0B"},
        {"01", 0, "leading zero at byte 0"},
        {"[-012]", 2, "leading zero at byte 2"},
        {"1.", 2, "expected a digit at byte 2"},
        {".5", 0, "expected a value"},
        {"+1", 0, "expected a value"},
        {"-", 1, "expected a digit"},
        {"1e", 2, "expected a digit"},
        {"1e+", 3, "expected a digit"},
        {"0x10", 1, "expected the end of the text"},
        {"[NaN]", 1, "NaN and Infinity are not JSON"},
        {"Infinity", 0, "NaN and Infinity are not JSON"},
        {"[1,-Infinity]", 3, "NaN and Infinity are not JSON"},
        {"\"abc", 0, "never closed that begins at byte 0"},
        {"[\"abc\\", 1, "never closed"},
        {"[\"abc\\\"", 1, "never closed"},
        {"\"a\nb\"", 2, "raw control character at byte 2"},
        {"\"a\\x41\"", 2, "an escape that JSON does not have at byte 2"},
        {"\"\\u12g4\"", 1, "four hexadecimal digits at byte 1"},
        {"\"\\u12\"", 1, "four hexadecimal digits"},
        {"\"\\ud83d\"", 1, "lone surrogate escape at byte 1"},
        {"\"\\udc00\\ud83d\"", 1, "lone surrogate escape"},
        {"\"ab\\ud83dx\"", 3, "lone surrogate escape"},
        {"\"\\ud83d\\n\"", 1, "lone surrogate escape"},
        {"\"\\ud83d\\ud83d\"", 1, "lone surrogate escape"},
        {"\"\\ud83d\\u0041\"", 1, "lone surrogate escape"},
        {"\"\\ud83d\\ude0\"", 1, "lone surrogate escape"},
        {"{\"\\udfff\":1}", 2, "lone surrogate escape"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_refusal(clef_text_of(cases[i].json), CLEF_BAD_REQUEST, cases[i].offset,
                       cases[i].part);
    }
    expect_refusal(CLEF_TEXT("[\0]"), CLEF_BAD_REQUEST, 1, "found byte 0x00");
    expect_refusal(CLEF_TEXT("\"\0\""), CLEF_BAD_REQUEST, 1, "raw control character");
    expect_refusal((clef_text){"", 0}, CLEF_BAD_REQUEST, 0, "found the end of the text");
}

static void empty_text_may_be_null(void **state) {
    (void)state;
    clef_json_reader reader;
    clef_arena strings = {0};
    clef_json_event event;
    clef_json_reader_init(&reader, (clef_text){NULL, 0}, &strings);
    assert_int_equal(clef_json_read(&reader, &event, NULL), CLEF_BAD_REQUEST);
}

static void bad_utf8_wins_over_bad_syntax(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t offset;
        const char *part;
    } cases[] = {
        {"\"\xC0\x80\"", 1, "the text is not UTF-8: invalid byte 0xC0 at byte 1"},
        {"\"\xF5\x80\x80\x80\"", 1, "invalid byte 0xF5 at byte 1"},
        {"\"\xED\xA0\x80\"", 1, "invalid byte 0xED at byte 1"},
        {"\"ab\xE2\x82\"", 3, "invalid byte 0xE2 at byte 3"},
        {"\"ab\xE2\x82", 3, "ends inside the character that begins at byte 3"},
        {"\"\xF0\x9F", 1, "ends inside the character"},
        {"\"\x80\"", 1, "invalid byte 0x80 at byte 1"},
        {"\"\xFF\"", 1, "invalid byte 0xFF"},
        {"\"\xF4\x90\x80\x80\"", 1, "invalid byte 0xF4"},
        {"\"\xE0\x9F\xBF\"", 1, "invalid byte 0xE0"},
        {"}} not JSON \xFF", 12, "invalid byte 0xFF at byte 12"},
        {"{\"a\":\"\xFF\" [", 6, "invalid byte 0xFF at byte 6"},
        {"\xEF\xBB", 0, "ends inside the character"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_refusal(clef_text_of(cases[i].bytes), CLEF_BAD_TEXT, cases[i].offset, cases[i].part);
    }
}

static void byte_order_mark_is_skipped_once(void **state) {
    (void)state;
    expect_ok(CLEF_TEXT("\xEF\xBB\xBF"
                        "1"));
    expect_ok(CLEF_TEXT("\xEF\xBB\xBF {}"));
    expect_ok(CLEF_TEXT("\"\xEF\xBB\xBF\""));
    expect_refusal(CLEF_TEXT("\xEF\xBB\xBF\xEF\xBB\xBF"
                             "1"),
                   CLEF_BAD_REQUEST, 3, "expected a value at byte 3");
    expect_refusal(CLEF_TEXT(" \xEF\xBB\xBF"
                             "1"),
                   CLEF_BAD_REQUEST, 1, "expected a value");
    expect_refusal(CLEF_TEXT("\xEF\xBB\xBF"), CLEF_BAD_REQUEST, 3, "found the end of the text");
}

/* A quote or control character must be found at every place of the eight bytes looked at once. */
static void string_scan_finds_every_position(void **state) {
    (void)state;
    for (size_t length = 0; length <= 26; length++) {
        for (size_t at = 0; at <= length; at++) {
            for (unsigned byte = 0; byte < 0x24; byte++) {
                char text[64];
                memset(text, 'a', sizeof text);
                text[0] = '"';
                text[1 + length] = '"';
                text[1 + at] = (char)byte;
                clef_error error = {0};
                clef_status status = read_all((clef_text){text, length + 2}, &error);
                bool is_plain = byte == 0x20 || byte == 0x21 || byte == 0x23;
                if (byte == '"' ? at == length : is_plain && at < length) {
                    assert_ok(status, &error);
                } else {
                    assert_int_equal(status, CLEF_BAD_REQUEST);
                }
                if (byte < 0x20) {
                    assert_int_equal(error.offset, 1 + at);
                }
            }
        }
    }
}

/* ---- limits ---- */

static char *repeat(const char *unit, size_t count, const char *end, size_t end_count) {
    size_t unit_length = strlen(unit);
    size_t end_length = strlen(end);
    char *text = malloc(unit_length * count + end_length * end_count + 1);
    assert_non_null(text);
    char *at = text;
    for (size_t i = 0; i < count; i++, at += unit_length) {
        memcpy(at, unit, unit_length);
    }
    for (size_t i = 0; i < end_count; i++, at += end_length) {
        memcpy(at, end, end_length);
    }
    *at = '\0';
    return text;
}

static void nesting_is_limited_to_256(void **state) {
    (void)state;
    static const size_t too_deep[] = {257, 300, 10000, 1000000};
    char *text = repeat("[", 256, "]", 256);
    expect_ok(clef_text_of(text));
    free(text);
    text = repeat("{\"a\":", 255, "[]", 1);
    expect_refusal(clef_text_of(text), CLEF_BAD_REQUEST, strlen(text), "found the end");
    free(text);
    for (size_t i = 0; i < sizeof too_deep / sizeof *too_deep; i++) {
        text = repeat("[", too_deep[i], "]", 0);
        expect_refusal(clef_text_of(text), CLEF_BAD_REQUEST, 256,
                       "JSON nesting is deeper than 256 levels at byte 256");
        free(text);
        text = repeat("[", too_deep[i], "]", too_deep[i]);
        expect_refusal(clef_text_of(text), CLEF_BAD_REQUEST, 256, "deeper than 256 levels");
        free(text);
        text = repeat("{\"a\":", too_deep[i], "}", 0);
        expect_refusal(clef_text_of(text), CLEF_BAD_REQUEST, 256 * 5, "deeper than 256 levels");
        free(text);
    }
}

static void many_siblings_are_no_nesting(void **state) {
    (void)state;
    char *text = repeat("[],{},", 100000, "]", 0);
    size_t length = strlen(text);
    memcpy(text + length - 3, " []", 3);
    char *whole = malloc(length + 3);
    assert_non_null(whole);
    snprintf(whole, length + 3, "[%s]", text);
    expect_ok(clef_text_of(whole));
    free(whole);
    free(text);
}

static void digits_are_limited_to_4300(void **state) {
    (void)state;
    char *text = repeat("7", 4300, "", 0);
    expect_ok(clef_text_of(text));
    free(text);
    text = repeat("7", 4301, "", 0);
    expect_refusal(clef_text_of(text), CLEF_BAD_REQUEST, 0,
                   "a number has 4,301 digits at byte 0; the limit is 4,300");
    free(text);
    text = repeat("[ -0.", 1, "0", 1234567);
    expect_refusal(clef_text_of(text), CLEF_BAD_REQUEST, 2, "1,234,568 digits at byte 2");
    free(text);
    text = repeat("1e", 1, "0", 4299);
    expect_ok(clef_text_of(text));
    free(text);
}

static void short_memory_is_reported(void **state) {
    (void)state;
    clef_arena strings = {.cap_bytes = 16};
    clef_json_reader reader;
    clef_json_event event;
    clef_error error = {0};
    clef_json_reader_init(&reader, CLEF_TEXT("\"\\n and more than sixteen bytes\""), &strings);
    assert_int_equal(clef_json_read(&reader, &event, &error), CLEF_OUT_OF_MEMORY);
    assert_non_null(strstr(error.message, "string"));
    clef_arena_release(&strings);
}

/* ---- hostile texts ---- */

static void every_truncation_is_refused(void **state) {
    (void)state;
    size_t length = sizeof rich_document - 1;
    expect_ok((clef_text){rich_document, length});
    for (size_t cut = 0; cut < length; cut++) {
        clef_error error = {0};
        clef_status status = read_all((clef_text){rich_document, cut}, &error);
        assert_true(status == CLEF_BAD_REQUEST || status == CLEF_BAD_TEXT);
        assert_true(error.message[0] != '\0');
        assert_true(error.offset <= cut);
    }
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void mutations_never_crash(void **state) {
    (void)state;
    static const char alphabet[] = "[]{}\",:\\u0123456789eE+-.tfn \n\x80\xC3\xEF\xFF";
    uint64_t seed = 0x2545F4914F6CDD1D;
    size_t accepted = 0;
    for (int round = 0; round < 40000; round++) {
        char text[sizeof rich_document];
        size_t length = sizeof rich_document - 1;
        memcpy(text, rich_document, length);
        for (uint64_t changes = 1 + next_random(&seed) % 4; changes > 0; changes--) {
            size_t at = next_random(&seed) % length;
            uint64_t choice = next_random(&seed);
            if (choice % 4 == 0) {
                memmove(text + at, text + at + 1, length - at - 1);
                length--;
            } else if (choice % 4 == 1) {
                text[at] ^= (char)(1 << choice / 4 % 8);
            } else {
                text[at] = alphabet[choice / 4 % (sizeof alphabet - 1)];
            }
        }
        clef_error error = {0};
        clef_status status = read_all((clef_text){text, length}, &error);
        assert_true(status == CLEF_OK || status == CLEF_BAD_REQUEST || status == CLEF_BAD_TEXT);
        accepted += status == CLEF_OK;
    }
    /* Both outcomes must have been exercised. */
    assert_true(accepted > 1000 && accepted < 39000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(plain_strings_are_slices),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(skip_passes_exactly_one_value),
        cmocka_unit_test(syntax_errors_name_the_offset),
        cmocka_unit_test(empty_text_may_be_null),
        cmocka_unit_test(bad_utf8_wins_over_bad_syntax),
        cmocka_unit_test(byte_order_mark_is_skipped_once),
        cmocka_unit_test(string_scan_finds_every_position),
        cmocka_unit_test(nesting_is_limited_to_256),
        cmocka_unit_test(many_siblings_are_no_nesting),
        cmocka_unit_test(digits_are_limited_to_4300),
        cmocka_unit_test(short_memory_is_reported),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(mutations_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
