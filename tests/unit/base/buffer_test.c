/* The buffer: growth, the NUL behind the end, the cap, and failures that stick. */
#include "support.h"

#include "base/buffer.h"
#include "base/memory.h"

static void appends_add_up(void **state) {
    (void)state;
    clef_buffer buffer = {0};
    clef_buffer_append(&buffer, "one", 3);
    assert_string_equal(buffer.bytes, "one");
    clef_buffer_append_byte(&buffer, ' ');
    clef_buffer_append_string(&buffer, "two ");
    clef_buffer_append_text(&buffer, CLEF_TEXT("th\0ree"));
    clef_buffer_append_format(&buffer, " %d%s", 4, "!");
    clef_buffer_append(&buffer, NULL, 0);
    static const char expected[] = "one two th\0ree 4!";
    assert_int_equal(buffer.length, sizeof expected - 1);
    assert_memory_equal(buffer.bytes, expected, sizeof expected);
    clef_text text = clef_buffer_text(&buffer);
    assert_ptr_equal(text.bytes, buffer.bytes);
    assert_int_equal(text.length, buffer.length);
    assert_int_equal(clef_buffer_check(&buffer, "a text", NULL), CLEF_OK);
    clef_buffer_release(&buffer);
    assert_null(buffer.bytes);
    assert_int_equal(buffer.length, 0);
}

static void growth_keeps_the_contents(void **state) {
    (void)state;
    clef_buffer buffer = {0};
    size_t growths = 0;
    size_t capacity = 0;
    for (unsigned i = 0; i < 300000; i++) {
        clef_buffer_append_byte(&buffer, (char)(i * 7 % 251));
        growths += buffer.capacity != capacity;
        capacity = buffer.capacity;
    }
    for (unsigned i = 0; i < 300000; i++) {
        assert_int_equal((unsigned char)buffer.bytes[i], i * 7 % 251);
    }
    assert_int_equal(buffer.bytes[300000], 0);
    /* Doubling: as many growths as the length has bits, not one every few bytes. */
    assert_true(growths < 20);
    clef_buffer_release(&buffer);
}

static void long_formats_are_whole(void **state) {
    (void)state;
    clef_buffer buffer = {0};
    clef_buffer_append_format(&buffer, "%5000d|", 7);
    assert_int_equal(buffer.length, 5001);
    assert_memory_equal(buffer.bytes + 4998, " 7|", 4);
    clef_buffer_append_format(&buffer, "%s", "");
    assert_int_equal(buffer.length, 5001);
    clef_buffer_release(&buffer);
}

static void cap_sticks(void **state) {
    (void)state;
    clef_buffer buffer = {.cap_bytes = 10};
    clef_buffer_append_string(&buffer, "0123456789");
    assert_false(buffer.has_failed);
    assert_int_equal(buffer.length, 10);
    clef_buffer_append_byte(&buffer, 'x');
    assert_true(buffer.has_failed);
    clef_buffer_append(&buffer, NULL, 0);
    clef_buffer_append_format(&buffer, "%d", 1);
    assert_string_equal(buffer.bytes, "0123456789");
    assert_false(clef_buffer_reserve(&buffer, 0));
    clef_error error = {0};
    assert_int_equal(clef_buffer_check(&buffer, "the reply", &error), CLEF_OUT_OF_MEMORY);
    assert_non_null(strstr(error.message, "the reply"));
    size_t length = 77;
    assert_null(clef_buffer_take(&buffer, &length));
    assert_int_equal(length, 0);
    /* Taking empties the buffer and with it the failure; the cap stays. */
    clef_buffer_append_string(&buffer, "again");
    assert_string_equal(buffer.bytes, "again");
    clef_buffer_append_string(&buffer, "too long");
    assert_true(buffer.has_failed);
    assert_string_equal(buffer.bytes, "again");
    clef_buffer_clear(&buffer);
    assert_false(buffer.has_failed);
    assert_int_equal(buffer.length, 0);
    clef_buffer_release(&buffer);
}

static void cap_bounds_memory_too(void **state) {
    (void)state;
    clef_buffer buffer = {.cap_bytes = 1000};
    for (int i = 0; i < 1000; i++) {
        clef_buffer_append_byte(&buffer, 'a');
    }
    assert_false(buffer.has_failed);
    assert_true(buffer.capacity <= 1001);
    clef_buffer_append_byte(&buffer, 'a');
    assert_true(buffer.has_failed);
    clef_buffer_release(&buffer);
}

static void impossible_sizes_fail(void **state) {
    (void)state;
    clef_buffer buffer = {0};
    clef_buffer_append_byte(&buffer, 'a');
    assert_false(clef_buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.has_failed);
    clef_buffer_release(&buffer);
    assert_false(clef_buffer_reserve(&buffer, SIZE_MAX));
    clef_buffer_release(&buffer);
}

static void taken_bytes_belong_to_the_caller(void **state) {
    (void)state;
    clef_buffer buffer = {0};
    size_t length;
    assert_null(clef_buffer_take(&buffer, &length));
    assert_int_equal(length, 0);
    clef_buffer_append_string(&buffer, "mine");
    char *bytes = clef_buffer_take(&buffer, &length);
    assert_string_equal(bytes, "mine");
    assert_int_equal(length, 4);
    assert_null(buffer.bytes);
    clef_buffer_append_string(&buffer, "other");
    assert_string_equal(bytes, "mine");
    clef_release(bytes);
    clef_buffer_release(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_add_up),
        cmocka_unit_test(growth_keeps_the_contents),
        cmocka_unit_test(long_formats_are_whole),
        cmocka_unit_test(cap_sticks),
        cmocka_unit_test(cap_bounds_memory_too),
        cmocka_unit_test(impossible_sizes_fail),
        cmocka_unit_test(taken_bytes_belong_to_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
