/* Writing values: against recorded results of Python's json.dumps, and piece by piece. */
#include "support.h"

#include "base/memory.h"

#include <stdlib.h>

/* Parses, writes, compares. */
static void expect_written(clef_text json, bool sort_keys, clef_text written) {
    clef_arena arena = {0};
    clef_arena scratch = {0};
    clef_buffer out = {0};
    clef_json_write(&out, parse_json(json, &arena), sort_keys, &scratch);
    assert_false(out.has_failed);
    if (!clef_text_equals(clef_buffer_text(&out), written)) {
        fail_msg("%.*s\nis written  %.*s\ninstead of  %.*s", (int)json.length, json.bytes,
                 (int)out.length, out.bytes, (int)written.length, written.bytes);
    }
    clef_buffer_release(&out);
    clef_arena_release(&scratch);
    clef_arena_release(&arena);
}

static void check_fixture_line(void *context, size_t number, clef_text line) {
    (void)number;
    clef_arena arena = {0};
    const clef_json *record = parse_json(line, &arena);
    expect_written(member(record, "json")->text, true, member(record, "rendered")->text);
    clef_arena_release(&arena);
    ++*(size_t *)context;
}

static void written_values_equal_the_recorded_ones(void **state) {
    (void)state;
    size_t count = 0;
    for_each_line(fixture("numbers/render.jsonl"), check_fixture_line, &count);
    assert_int_equal(count, 600);
}

/* What was written, read and written again must not change. */
static void check_fixture_twice(void *context, size_t number, clef_text line) {
    (void)context;
    (void)number;
    clef_arena arena = {0};
    clef_text rendered = member(parse_json(line, &arena), "rendered")->text;
    if (memchr(rendered.bytes, 'I', rendered.length) == NULL) {
        expect_written(rendered, true, rendered);
    }
    clef_arena_release(&arena);
}

static void writing_is_stable(void **state) {
    (void)state;
    for_each_line(fixture("numbers/render.jsonl"), check_fixture_twice, NULL);
}

static void white_space_goes_and_order_stays(void **state) {
    (void)state;
    expect_written(CLEF_TEXT(" { \"b\" : [ 1 , { } , [ ] ] ,\n\"a\" :\t\"x\" } "), false,
                   CLEF_TEXT("{\"b\":[1,{},[]],\"a\":\"x\"}"));
    expect_written(CLEF_TEXT("[]"), false, CLEF_TEXT("[]"));
    expect_written(CLEF_TEXT("{}"), true, CLEF_TEXT("{}"));
    expect_written(CLEF_TEXT("[[[]],[{}],{\"a\":[]}]"), true, CLEF_TEXT("[[[]],[{}],{\"a\":[]}]"));
    expect_written(CLEF_TEXT("null"), true, CLEF_TEXT("null"));
    expect_written(CLEF_TEXT("2.50"), true, CLEF_TEXT("2.5"));
}

static void keys_are_sorted_by_code_point(void **state) {
    (void)state;
    expect_written(CLEF_TEXT("{\"b\":1,\"a\":{\"d\":[{\"z\":1,\"y\":2}],\"c\":0},\"\":2,\"B\":3}"),
                   true,
                   CLEF_TEXT("{\"\":2,\"B\":3,\"a\":{\"c\":0,\"d\":[{\"y\":2,\"z\":1}]},\"b\":1}"));
    /* UTF-16 order would put U+10000 before U+FFFD. */
    expect_written(
        CLEF_TEXT("{\"\\ud800\\udc00\":1,\"\\ufffd\":2,\"ab\":3,\"a\":4,\"a\\u0000\":5}"), true,
        CLEF_TEXT("{\"a\":4,\"a\\u0000\":5,\"ab\":3,\"\xEF\xBF\xBD\":2,"
                  "\"\xF0\x90\x80\x80\":1}"));
}

/* Sizes around the run length of the sort and its merges, in a scrambled order. */
static void objects_of_every_size_are_sorted(void **state) {
    (void)state;
    for (size_t count = 1; count < 140; count++) {
        clef_buffer json = {0};
        clef_buffer expected = {0};
        /* 151 is prime, so that i·k mod 151 visits each number below it once. */
        size_t written = 0;
        for (size_t i = 1; i < 151; i++) {
            size_t key = i * 83 % 151;
            if (key <= count) {
                clef_buffer_append_format(&json, "%s\"%03zu\":%zu", written++ == 0 ? "{" : ",", key,
                                          key * 7);
            }
        }
        for (size_t key = 1; key <= count; key++) {
            clef_buffer_append_format(&expected, "%s\"%03zu\":%zu", key == 1 ? "{" : ",", key,
                                      key * 7);
        }
        clef_buffer_append_byte(&json, '}');
        clef_buffer_append_byte(&expected, '}');
        assert_int_equal(written, count);
        expect_written(clef_buffer_text(&json), true, clef_buffer_text(&expected));
        clef_buffer_release(&json);
        clef_buffer_release(&expected);
    }
}

/* ---- strings ---- */

static void every_ascii_character_is_written_right(void **state) {
    (void)state;
    static const char *const named[128] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n",  ['\f'] = "\\f",
        ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\",
    };
    for (int c = 0; c < 128; c++) {
        char text[3] = {'<', (char)c, '>'};
        clef_buffer expected = {0};
        if (named[c] != NULL) {
            clef_buffer_append_format(&expected, "\"<%s>\"", named[c]);
        } else if (c < 0x20) {
            clef_buffer_append_format(&expected, "\"<\\u%04x>\"", c);
        } else {
            clef_buffer_append_format(&expected, "\"<%c>\"", c);
        }
        clef_buffer out = {0};
        clef_json_write_string(&out, (clef_text){text, 3});
        assert_string_equal(out.bytes, expected.bytes);
        clef_buffer_release(&out);
        clef_buffer_release(&expected);
    }
}

static void other_characters_stay_raw(void **state) {
    (void)state;
    static const char raw[] =
        "/\x7F\xC2\x85\xE2\x80\xA8\xE2\x80\xA9<>&\xF0\x9F\x98\x80\xEF\xBF\xBF";
    clef_buffer out = {0};
    clef_json_write_string(&out, CLEF_TEXT(raw));
    assert_int_equal(out.length, sizeof raw - 1 + 2);
    assert_memory_equal(out.bytes + 1, raw, sizeof raw - 1);
    clef_buffer_clear(&out);
    clef_json_write_string(&out, (clef_text){NULL, 0});
    assert_string_equal(out.bytes, "\"\"");
    clef_buffer_release(&out);
}

/* ---- depth and failure ---- */

static void deep_values_are_written(void **state) {
    (void)state;
    clef_buffer json = {0};
    for (int i = 0; i < CLEF_JSON_DEPTH_LIMIT; i++) {
        clef_buffer_append_string(&json, i % 2 == 0 ? "[" : "{\"a\":");
    }
    clef_buffer_append_byte(&json, '1');
    for (int i = CLEF_JSON_DEPTH_LIMIT - 1; i >= 0; i--) {
        clef_buffer_append_byte(&json, i % 2 == 0 ? ']' : '}');
    }
    expect_written(clef_buffer_text(&json), true, clef_buffer_text(&json));
    clef_buffer_release(&json);
}

static void deeper_values_fail_without_overflow(void **state) {
    (void)state;
    enum { LEVELS = CLEF_JSON_DEPTH_LIMIT + 1 };
    clef_json *levels = calloc(LEVELS, sizeof *levels);
    assert_non_null(levels);
    for (size_t i = 0; i < LEVELS; i++) {
        levels[i].type = CLEF_JSON_ARRAY;
        levels[i].first = i + 1 < LEVELS ? &levels[i + 1] : NULL;
        levels[i].count = i + 1 < LEVELS;
    }
    clef_buffer out = {0};
    clef_json_write(&out, levels, false, NULL);
    assert_true(out.has_failed);
    clef_buffer_release(&out);
    out = (clef_buffer){0};
    clef_json_write(&out, levels + 1, false, NULL);
    assert_false(out.has_failed);
    assert_int_equal(out.length, 2 * CLEF_JSON_DEPTH_LIMIT);
    clef_buffer_release(&out);
    free(levels);
}

static void every_cap_sticks_in_the_buffer(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_json *value =
        parse_json(CLEF_TEXT("{\"b\":[1,2.5,\"\\n\",null],\"a\":{\"d\":true,\"c\":[]}}"), &arena);
    clef_arena scratch = {0};
    clef_buffer whole = {0};
    clef_json_write(&whole, value, true, &scratch);
    for (size_t cap = 1; cap < whole.length; cap++) {
        clef_buffer out = {.cap_bytes = cap};
        clef_json_write(&out, value, true, &scratch);
        assert_true(out.has_failed);
        assert_true(out.length <= cap);
        assert_memory_equal(out.bytes, whole.bytes, out.length);
        clef_buffer_release(&out);
    }
    clef_arena_release(&scratch);
    for (size_t cap = 16; cap < 64; cap += 16) {
        clef_arena small = {.cap_bytes = cap};
        clef_buffer out = {0};
        clef_json_write(&out, value, true, &small);
        assert_true(out.has_failed);
        clef_buffer_release(&out);
        clef_arena_release(&small);
    }
    clef_buffer_release(&whole);
    clef_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_values_equal_the_recorded_ones),
        cmocka_unit_test(writing_is_stable),
        cmocka_unit_test(white_space_goes_and_order_stays),
        cmocka_unit_test(keys_are_sorted_by_code_point),
        cmocka_unit_test(objects_of_every_size_are_sorted),
        cmocka_unit_test(every_ascii_character_is_written_right),
        cmocka_unit_test(other_characters_stay_raw),
        cmocka_unit_test(deep_values_are_written),
        cmocka_unit_test(deeper_values_fail_without_overflow),
        cmocka_unit_test(every_cap_sticks_in_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
