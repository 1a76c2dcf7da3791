/* How names and shapes appear in messages. */
#include "weight_fixture.h"

#include "weights/tensor_text.h"

static void writes_shapes(void **state) {
    (void)state;
    char out[64];
    const uint64_t shape[] = {248320, 5120, UINT64_MAX};
    assert_string_equal(clef_shape_text(0, shape, out, sizeof out), "[]");
    assert_string_equal(clef_shape_text(1, shape, out, sizeof out), "[248320]");
    assert_string_equal(clef_shape_text(3, shape, out, sizeof out),
                        "[248320, 5120, 18446744073709551615]");
    char small[8];
    assert_string_equal(clef_shape_text(2, shape, small, sizeof small), "[248320");
    assert_string_equal(clef_shape_text(2, shape, small, 1), "");
}

static void writes_names_in_printable_ascii(void **state) {
    (void)state;
    char out[CLEF_NAME_TEXT_BYTES];
    assert_string_equal(clef_name_text(CLEF_TEXT("a.b_c"), out, sizeof out), "\"a.b_c\"");
    assert_string_equal(clef_name_text(CLEF_TEXT(""), out, sizeof out), "\"\"");
    assert_string_equal(clef_name_text(CLEF_TEXT("a\0\n\"\\\x7F"), out, sizeof out),
                        "\"a\\u{0}\\u{a}\\u{22}\\u{5c}\\u{7f}\"");
    assert_string_equal(clef_name_text(CLEF_TEXT("\xC3\xA9\xF0\x9F\x98\x80"), out, sizeof out),
                        "\"\\u{e9}\\u{1f600}\"");
    char small[6];
    assert_string_equal(clef_name_text(CLEF_TEXT("abcdefgh"), small, sizeof small), "\"abcd");
}

/* Any name fits the buffer that the header promises, with both quotes and its length. */
static void shortens_long_names(void **state) {
    (void)state;
    const char *const units[] = {"x", "\n", "\xC3\xA9", "\xF4\x8F\xBF\xBF"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (int count = 1; count < 400; count += 7) {
            clef_buffer name = {0};
            for (int j = 0; j < count; j++) {
                clef_buffer_append_string(&name, units[i]);
            }
            char out[CLEF_NAME_TEXT_BYTES];
            clef_name_text(clef_buffer_text(&name), out, sizeof out);
            size_t length = strlen(out);
            assert_true(length < CLEF_NAME_TEXT_BYTES - 1);
            bool is_cut = out[length - 1] != '"';
            assert_true(!is_cut || strstr(out, "...") != NULL);
            assert_true(!is_cut || strstr(out, " bytes)") != NULL);
            assert_true(is_cut || length >= (size_t)count + 2);
            clef_buffer_release(&name);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_shapes),
        cmocka_unit_test(writes_names_in_printable_ascii),
        cmocka_unit_test(shortens_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
