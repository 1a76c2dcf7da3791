/* NFC against results of the reference library (Unicode 9.0, not the newest), borrowing of texts
 * that need nothing, and long runs of marks. */
#include "support.h"

#include "base/memory.h"
#include "tokenizer/normalize.h"

static void check_line(void *context, size_t number, clef_text line) {
    clef_normalizer *normalizer = context;
    clef_arena arena = {0};
    const clef_json *given = parse_json(line, &arena);
    clef_error error = {0};
    clef_text found;
    assert_ok(clef_normalize(normalizer, member(given, "text")->text, &found, &error), &error);
    clef_text wanted = member(given, "nfc")->text;
    if (!clef_text_equals(found, wanted)) {
        fail_msg("line %zu: \"%.*s\", not \"%.*s\"", number, (int)found.length, found.bytes,
                 (int)wanted.length, wanted.bytes);
    }
    clef_arena_release(&arena);
}

static void test_reference(void **state) {
    (void)state;
    clef_normalizer normalizer = {0};
    for_each_line(fixture("tokenizer/nfc.jsonl"), check_line, &normalizer);
    clef_normalizer_release(&normalizer);
}

/* What has come out goes in again and stays. */
static void check_stable(void *context, size_t number, clef_text line) {
    clef_normalizer *normalizer = context;
    clef_arena arena = {0};
    clef_text wanted = member(parse_json(line, &arena), "nfc")->text;
    clef_error error = {0};
    clef_text found;
    assert_ok(clef_normalize(normalizer, wanted, &found, &error), &error);
    if (!clef_text_equals(found, wanted)) {
        fail_msg("line %zu is not stable", number);
    }
    clef_arena_release(&arena);
}

static void test_stable(void **state) {
    (void)state;
    clef_normalizer normalizer = {0};
    for_each_line(fixture("tokenizer/nfc.jsonl"), check_stable, &normalizer);
    clef_normalizer_release(&normalizer);
}

static void test_borrows(void **state) {
    (void)state;
    clef_text texts[] = {
        CLEF_TEXT(""),
        CLEF_TEXT("plain text, and longer than eight bytes"),
        CLEF_TEXT("\xC3\xA9t\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xED\x95\x9C"),
        CLEF_TEXT("a\0b\x7F"),
    };
    clef_normalizer normalizer = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clef_text found;
        clef_error error = {0};
        assert_ok(clef_normalize(&normalizer, texts[i], &found, &error), &error);
        assert_ptr_equal(found.bytes, texts[i].bytes);
        assert_int_equal(found.length, texts[i].length);
    }
    assert_null(normalizer.text.bytes);
    clef_normalizer_release(&normalizer);
}

/* Marks of two classes in turn: all of the lower class must come first. Insertion would need 10^10
 * steps for this one. */
static void test_alternating_marks(void **state) {
    (void)state;
    size_t count = 200000;
    clef_buffer text = {0};
    clef_buffer_append_string(&text, "q");
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_string(&text, i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3");
    }
    clef_normalizer normalizer = {0};
    clef_error error = {0};
    clef_text found;
    assert_ok(clef_normalize(&normalizer, clef_buffer_text(&text), &found, &error), &error);
    assert_int_equal(found.length, 1 + 2 * count);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(found.bytes + 1 + 2 * i, i < count / 2 ? "\xCC\xA3" : "\xCC\x81", 2);
    }
    clef_normalizer_release(&normalizer);
    clef_buffer_release(&text);
}

/* One stretch from end to end: vowels that never find a lead. */
static void test_long_jamo(void **state) {
    (void)state;
    clef_buffer text = {0};
    for (size_t i = 0; i < 300000; i++) {
        clef_buffer_append_string(&text, "\xE1\x85\xA1");
    }
    clef_normalizer normalizer = {0};
    clef_error error = {0};
    clef_text found;
    assert_ok(clef_normalize(&normalizer, clef_buffer_text(&text), &found, &error), &error);
    assert_true(clef_text_equals(found, clef_buffer_text(&text)));
    clef_normalizer_release(&normalizer);
    clef_buffer_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_stable),
        cmocka_unit_test(test_borrows),   cmocka_unit_test(test_alternating_marks),
        cmocka_unit_test(test_long_jamo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
