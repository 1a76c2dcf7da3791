/* The tree: shapes, look-ups, repeated keys, and clean failure when memory runs out. */
#include "support.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static void expect_text(clef_text found, const char *expected) {
    assert_int_equal(found.length, strlen(expected));
    assert_memory_equal(found.bytes, expected, found.length);
}

static void tree_has_types_order_and_counts(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_json *root = parse_json(
        CLEF_TEXT("{\"b\":[null,false,true,-1.50,\"x\",{}],\"a\":{\"k\":\"v\"},\"\":[]}"), &arena);
    assert_int_equal(root->type, CLEF_JSON_OBJECT);
    assert_int_equal(root->count, 3);
    assert_null(root->next);
    const clef_json *list = root->first;
    expect_text(list->key, "b");
    assert_int_equal(list->type, CLEF_JSON_ARRAY);
    assert_int_equal(list->count, 6);
    static const clef_json_type types[] = {CLEF_JSON_NULL,   CLEF_JSON_FALSE,  CLEF_JSON_TRUE,
                                           CLEF_JSON_NUMBER, CLEF_JSON_STRING, CLEF_JSON_OBJECT};
    const clef_json *element = list->first;
    for (size_t i = 0; i < 6; i++, element = element->next) {
        assert_int_equal(element->type, types[i]);
        assert_int_equal(element->key.length, 0);
    }
    assert_null(element);
    expect_text(list->first->next->next->next->text, "-1.50");
    expect_text(list->next->key, "a");
    expect_text(list->next->next->key, "");
    assert_null(list->next->next->next);
    clef_arena_release(&arena);
}

static void members_are_found_by_key(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_json *root =
        parse_json(CLEF_TEXT("{\"one\":1,\"\":2,\"a\\u0000b\":3,\"on\":[4]}"), &arena);
    expect_text(member(root, "one")->text, "1");
    expect_text(member(root, "")->text, "2");
    expect_text(clef_json_member_text(root, CLEF_TEXT("a\0b"))->text, "3");
    assert_null(clef_json_member(root, "a"));
    assert_null(clef_json_member(root, "One"));
    assert_null(clef_json_member(member(root, "on"), "one"));
    assert_null(clef_json_member(member(root, "one"), "one"));
    assert_null(clef_json_member(NULL, "one"));
    clef_arena_release(&arena);
}

static void unsigned_numbers_are_strict(void **state) {
    (void)state;
    static const struct {
        const char *json;
        bool is_unsigned;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},
        {"7", true, 7},
        {"248320", true, 248320},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"-0", false, 0},
        {"-1", false, 0},
        {"1.0", false, 0},
        {"1e2", false, 0},
        {"1E2", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_arena arena = {0};
        uint64_t value = 0;
        const clef_json *json = parse_json(clef_text_of(cases[i].json), &arena);
        assert_int_equal(clef_json_unsigned(json, &value), cases[i].is_unsigned);
        assert_int_equal(value, cases[i].value);
        clef_arena_release(&arena);
    }
    uint64_t value;
    assert_false(clef_json_unsigned(NULL, &value));
}

/* ---- repeated keys ---- */

static void expect_written(const char *json, const char *written) {
    clef_arena arena = {0};
    clef_buffer out = {0};
    clef_json_write(&out, parse_json(clef_text_of(json), &arena), false, NULL);
    assert_false(out.has_failed);
    assert_string_equal(out.bytes, written);
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void repeated_key_keeps_first_place_and_last_value(void **state) {
    (void)state;
    expect_written("{\"q\":1,\"r\":2,\"q\":3}", "{\"q\":3,\"r\":2}");
    expect_written("{\"q\":1,\"q\":2,\"q\":[3]}", "{\"q\":[3]}");
    expect_written("{\"a\":{\"x\":1},\"b\":0,\"a\":{\"y\":2,\"y\":{}}}",
                   "{\"a\":{\"y\":{}},\"b\":0}");
    expect_written("[{\"\":1,\"\":\"s\"},{\"a\":1,\"\\u0061\":null}]",
                   "[{\"\":\"s\"},{\"a\":null}]");
    expect_written("{\"a\":[1,2],\"b\":1,\"b\":2,\"a\":{}}", "{\"a\":{},\"b\":2}");
    expect_written("{\"a\":1,\"A\":2,\"aa\":3}", "{\"a\":1,\"A\":2,\"aa\":3}");
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Objects of any size against a table that holds, for each key, first place and last value. */
static void repeated_keys_agree_with_a_plain_table(void **state) {
    (void)state;
    enum { KEYS = 64 };
    uint64_t seed = 88172645463325252u;
    for (size_t count = 0; count < 200; count++) {
        size_t place[KEYS];
        size_t value[KEYS];
        size_t order[KEYS];
        size_t distinct = 0;
        size_t key_count = 1 + next_random(&seed) % KEYS;
        memset(place, 0xFF, sizeof place);
        clef_buffer text = {0};
        clef_buffer_append_byte(&text, '{');
        for (size_t i = 0; i < count; i++) {
            size_t key = next_random(&seed) % key_count;
            clef_buffer_append_format(&text, "%s\"%s%zu\":%zu", i == 0 ? "" : ",",
                                      key % 2 == 0 ? "a long common beginning " : "", key, i);
            if (place[key] == SIZE_MAX) {
                place[key] = distinct;
                order[distinct++] = key;
            }
            value[key] = i;
        }
        clef_buffer_append_byte(&text, '}');
        clef_arena arena = {0};
        const clef_json *object = parse_json(clef_buffer_text(&text), &arena);
        assert_int_equal(object->count, distinct);
        const clef_json *found = object->first;
        for (size_t i = 0; i < distinct; i++, found = found->next) {
            char key[64];
            snprintf(key, sizeof key, "%s%zu", order[i] % 2 == 0 ? "a long common beginning " : "",
                     order[i]);
            expect_text(found->key, key);
            uint64_t number;
            assert_true(clef_json_unsigned(found, &number));
            assert_int_equal(number, value[order[i]]);
        }
        assert_null(found);
        clef_arena_release(&arena);
        clef_buffer_release(&text);
    }
}

/* Quadratic work on these would take hours, not the seconds of the suite's time limit. */
static void large_objects_take_linear_time(void **state) {
    (void)state;
    for (int same = 0; same < 2; same++) {
        clef_buffer text = {0};
        clef_buffer_append_byte(&text, '{');
        for (unsigned i = 0; i < 1000000; i++) {
            unsigned key = same ? 0 : (unsigned)(i * UINT64_C(7919) % 1000003);
            clef_buffer_append_format(&text, "%s\"%u\":%u", i == 0 ? "" : ",", key, i);
        }
        clef_buffer_append_byte(&text, '}');
        clef_arena arena = {0};
        const clef_json *object = parse_json(clef_buffer_text(&text), &arena);
        assert_int_equal(object->count, same ? 1 : 1000000);
        expect_text(object->first->text, same ? "999999" : "0");
        clef_arena_release(&arena);
        clef_buffer_release(&text);
    }
}

/* ---- failures ---- */

static void refusals_leave_no_value(void **state) {
    (void)state;
    static const char *const texts[] = {"", "[1", "{\"a\":1,\"a\":}", "nul", "[\"\\ud800\"]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clef_arena arena = {0};
        clef_json *value = (clef_json *)&arena;
        clef_error error = {0};
        assert_int_equal(clef_json_parse(clef_text_of(texts[i]), &arena, &value, &error),
                         CLEF_BAD_REQUEST);
        assert_null(value);
        assert_string_equal(error.kind, "json_invalid");
        clef_arena_release(&arena);
    }
}

/* With every cap below what is needed each allocation from the arena fails once. */
static void every_arena_cap_fails_cleanly(void **state) {
    (void)state;
    clef_buffer text = {0};
    clef_buffer_append_string(&text, "[\"\\n\",{\"\\u0061\":[1,[\"\\t\"]],");
    for (int i = 0; i < 40; i++) {
        clef_buffer_append_format(&text, "\"k%d\":\"\\\\\",", 39 - i);
    }
    clef_buffer_append_string(&text, "\"k7\":null}]");
    clef_arena whole = {0};
    parse_json(clef_buffer_text(&text), &whole);
    for (size_t cap = 16; cap < whole.used_bytes; cap += 16) {
        clef_arena arena = {.cap_bytes = cap};
        clef_json *value;
        clef_error error = {0};
        assert_int_equal(clef_json_parse(clef_buffer_text(&text), &arena, &value, &error),
                         CLEF_OUT_OF_MEMORY);
        assert_null(value);
        assert_non_null(strstr(error.message, "out of memory"));
        clef_arena_release(&arena);
    }
    clef_arena exact = {.cap_bytes = whole.used_bytes};
    parse_json(clef_buffer_text(&text), &exact);
    clef_arena_release(&exact);
    clef_arena_release(&whole);
    clef_buffer_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_has_types_order_and_counts),
        cmocka_unit_test(members_are_found_by_key),
        cmocka_unit_test(unsigned_numbers_are_strict),
        cmocka_unit_test(repeated_key_keeps_first_place_and_last_value),
        cmocka_unit_test(repeated_keys_agree_with_a_plain_table),
        cmocka_unit_test(large_objects_take_linear_time),
        cmocka_unit_test(refusals_leave_no_value),
        cmocka_unit_test(every_arena_cap_fails_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
