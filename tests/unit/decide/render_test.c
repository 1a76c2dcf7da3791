/* Values in prompts, in replies and in messages. */
#include "decide/render.h"
#include "support.h"

static void assert_text(clef_text text, const char *expected) {
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

/* Renders a JSON text as a prompt shows it. */
static void assert_rendered(const char *json, const char *expected) {
    clef_arena arena = {0};
    clef_buffer buffer = {0};
    const clef_json *value = parse_json(clef_text_of(json), &arena);
    assert_text(clef_render_value(value, &buffer, &arena), expected);
    assert_false(buffer.has_failed);
    clef_buffer_release(&buffer);
    clef_arena_release(&arena);
}

static void assert_echoed(const char *json, const char *expected) {
    clef_arena arena = {0};
    clef_buffer buffer = {0};
    clef_render_echo(&buffer, json == NULL ? NULL : parse_json(clef_text_of(json), &arena));
    assert_text(clef_buffer_text(&buffer), expected);
    clef_buffer_release(&buffer);
    clef_arena_release(&arena);
}

/* The fixture shows strings with their quotes, as they stand inside other values. */
static void check_rendered_line(void *context, size_t number, clef_text line) {
    clef_arena arena = {0};
    clef_buffer json = {0}, expected = {0}, rendered = {0};
    const clef_json *entry = parse_json(line, &arena);
    clef_buffer_append_byte(&json, '[');
    clef_buffer_append_text(&json, member(entry, "json")->text);
    clef_buffer_append_byte(&json, ']');
    clef_buffer_append_byte(&expected, '[');
    clef_buffer_append_text(&expected, member(entry, "rendered")->text);
    clef_buffer_append_byte(&expected, ']');
    const clef_json *value = parse_json(clef_buffer_text(&json), &arena);
    clef_text text = clef_render_value(value, &rendered, &arena);
    if (!clef_text_equals(text, clef_buffer_text(&expected))) {
        fail_msg("line %zu: %s", number, rendered.bytes);
    }
    assert_true(clef_render_least(value, SIZE_MAX) <= text.length);
    ++*(int *)context;
    clef_buffer_release(&json);
    clef_buffer_release(&expected);
    clef_buffer_release(&rendered);
    clef_arena_release(&arena);
}

static void test_recorded_renderings(void **state) {
    (void)state;
    int count = 0;
    for_each_line(fixture("numbers/render.jsonl"), check_rendered_line, &count);
    assert_int_equal(count, 600);
}

static void test_A03_whole_object(void **state) {
    (void)state;
    assert_rendered("{\"b\":1.0,\"a\":1250.0,\"c\":1e5,\"d\":1e16,\"e\":1E-7,\"f\":-0,\"g\":-0.0,"
                    "\"h\":123456789012345678901234567890,\"i\":0.1}",
                    "{\"a\":1250.0,\"b\":1.0,\"c\":100000.0,\"d\":1e+16,\"e\":1e-07,\"f\":0,"
                    "\"g\":-0.0,\"h\":123456789012345678901234567890,\"i\":0.1}");
}

static void test_A03_table_of_numbers(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"1", "1"},
        {"1.0", "1.0"},
        {"1250.0", "1250.0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"1e2", "100.0"},
        {"1E2", "100.0"},
        {"2.50", "2.5"},
        {"1e0", "1.0"},
        {"0e0", "0.0"},
        {"-1.5E+3", "-1500.0"},
        {"123456.789e3", "123456789.0"},
        {"123456789012345678.0", "1.2345678901234568e+17"},
        {"9007199254740993.0", "9007199254740992.0"},
        {"12345678901234567890123", "12345678901234567890123"},
        {"1e15", "1000000000000000.0"},
        {"9999999999999998.0", "9999999999999998.0"},
        {"99999999999999990.0", "9.999999999999998e+16"},
        {"1e16", "1e+16"},
        {"1e22", "1e+22"},
        {"1e23", "1e+23"},
        {"0.0001", "0.0001"},
        {"0.00001", "1e-05"},
        {"1.5e-7", "1.5e-07"},
        {"5e-324", "5e-324"},
        {"1e-400", "0.0"},
        {"-1e-400", "-0.0"},
        {"1e400", "Infinity"},
        {"-1e400", "-Infinity"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"0.30000000000000004", "0.30000000000000004"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_rendered(rows[i][0], rows[i][1]);
    }
}

static void test_A03_characters(void **state) {
    (void)state;
    assert_rendered("[\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\u007f\\u2028\\/\\\"\\\\\"]",
                    "[\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\xE2\x80\xA8/\\\"\\\\\"]");
    assert_rendered("\"a \\\"b\\\" \\n/\"", "a \"b\" \n/");
    assert_rendered("\"\"", "");
    assert_rendered("{\"b\":{\"z\":[],\"a\":{}},\"B\":[true,false,null]}",
                    "{\"B\":[true,false,null],\"b\":{\"a\":{},\"z\":[]}}");
}

static void test_options(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    clef_option option = {CLEF_TEXT("a\"\n"), NULL, 0, false};
    clef_render_option(&out, &option, &arena);
    assert_text(clef_buffer_text(&out), "{\"option_id\":\"a\\\"\\n\"}");
    clef_buffer_clear(&out);
    option.description = parse_json(CLEF_TEXT("{\"y\":{\"b\":2.50,\"a\":\"\"}}"), &arena);
    clef_render_option(&out, &option, &arena);
    assert_text(clef_buffer_text(&out),
                "{\"description\":{\"y\":{\"a\":\"\",\"b\":2.5}},\"option_id\":\"a\\\"\\n\"}");
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void test_echoes_keep_the_order_of_keys(void **state) {
    (void)state;
    assert_echoed("{ \"b\" : [ 1 , { \"z\":{}, \"a\":[[]] } ] , \"a\" : null }",
                  "{\"b\":[1,{\"z\":{},\"a\":[[]]}],\"a\":null}");
    assert_echoed("\"a\\n\\u007f\\u2028\"", "\"a\\n\x7f\xE2\x80\xA8\"");
    assert_echoed("[[],{},\"\",true,false]", "[[],{},\"\",true,false]");
    assert_echoed(NULL, "null");
}

static void test_echoed_numbers_stay_json(void **state) {
    (void)state;
    assert_echoed("[3.50,2,-0,1E2,1e400,-1.0e+999,1e-400]", "[3.5,2,0,100.0,1e400,-1.0e+999,0.0]");
    char digits[402];
    memset(digits, '9', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    assert_echoed(digits, digits);
}

static void test_least_counts_texts_and_keys(void **state) {
    (void)state;
    static const struct {
        const char *json;
        size_t least;
    } rows[] = {{"\"abc\"", 3},
                {"\"\"", 0},
                {"1.000000000000", 1},
                {"[]", 1},
                {"[\"ab\",[1]]", 5},
                {"{\"key\":\"ab\"}", 6},
                {"{\"a\":{\"b\":{}}}", 5},
                {"null", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clef_arena arena = {0};
        const clef_json *value = parse_json(clef_text_of(rows[i].json), &arena);
        assert_int_equal(clef_render_least(value, SIZE_MAX), rows[i].least);
        clef_arena_release(&arena);
    }
    /* A member's own key is not part of its text, nor are the members behind it. */
    clef_arena arena = {0};
    const clef_json *object = parse_json(CLEF_TEXT("{\"long key\":\"ab\",\"c\":\"d\"}"), &arena);
    assert_int_equal(clef_render_least(object->first, SIZE_MAX), 2);
    /* Counting ends early. */
    const clef_json *list = parse_json(CLEF_TEXT("[\"0123456789\",\"0123456789\"]"), &arena);
    assert_int_equal(clef_render_least(list, 5), 11);
    clef_arena_release(&arena);
}

/* A value in a list is followed by a sibling that is not part of it. */
static void test_echo_ends_with_its_value(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    const clef_json *list = parse_json(CLEF_TEXT("[[1,[2]],3]"), &arena);
    clef_render_echo(&out, list->first);
    assert_text(clef_buffer_text(&out), "[1,[2]]");
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void test_deepest_value(void **state) {
    (void)state;
    char deep[2 * CLEF_JSON_DEPTH_LIMIT + 1];
    memset(deep, '[', CLEF_JSON_DEPTH_LIMIT);
    memset(deep + CLEF_JSON_DEPTH_LIMIT, ']', CLEF_JSON_DEPTH_LIMIT);
    deep[sizeof deep - 1] = '\0';
    assert_echoed(deep, deep);
    assert_rendered(deep, deep);
}

static void test_counts(void **state) {
    (void)state;
    static const struct {
        size_t count;
        const char *text;
    } rows[] = {{0, "0"},
                {999, "999"},
                {1000, "1,000"},
                {16384, "16,384"},
                {262144, "262,144"},
                {1234567, "1,234,567"},
                {100000, "100,000"},
                {1000000, "1,000,000"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CLEF_COUNT_BYTES];
        clef_render_count(rows[i].count, text);
        assert_string_equal(text, rows[i].text);
    }
    char text[CLEF_COUNT_BYTES];
    clef_render_count(SIZE_MAX, text);
    assert_string_equal(text, "18,446,744,073,709,551,615");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_renderings),
        cmocka_unit_test(test_A03_whole_object),
        cmocka_unit_test(test_A03_table_of_numbers),
        cmocka_unit_test(test_A03_characters),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_echoes_keep_the_order_of_keys),
        cmocka_unit_test(test_echoed_numbers_stay_json),
        cmocka_unit_test(test_least_counts_texts_and_keys),
        cmocka_unit_test(test_echo_ends_with_its_value),
        cmocka_unit_test(test_deepest_value),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
