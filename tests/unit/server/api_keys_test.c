/* Keys: which are taken, which requests they let in. */
#include "server/api_keys.h"

#include "support.h"

#include <stdio.h>

static bool allows(const clef_api_keys *keys, const char *name, const char *value) {
    clef_http_head head = {0};
    head.fields[0] = (clef_http_field){clef_text_of(name), clef_text_of(value)};
    head.field_count = 1;
    return clef_api_keys_allow(keys, &head);
}

static void no_key_lets_everybody_in(void **state) {
    (void)state;
    clef_api_keys keys = {0};
    assert_true(allows(&keys, "host", "x"));
    assert_true(allows(&keys, "authorization", "Bearer whatever"));
}

static void each_of_several_keys_lets_in(void **state) {
    (void)state;
    clef_api_keys keys = {0};
    clef_error error = {0};
    assert_ok(clef_api_keys_add(&keys, "first-key", &error), &error);
    assert_ok(clef_api_keys_add(&keys, "k", &error), &error);
    static const char *const good[] = {"Bearer first-key", "bearer k", "BEARER \t k"};
    static const char *const bad[] = {
        "",         "Bearer",          "Bearer ",           "first-key",  "Bearer first-ke",
        "Basic k",  "Bearer xrst-key", "Bearer first-keyx", "Bearer k k", "Bearerk",
        "Bearer K",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i += 1) {
        assert_true(allows(&keys, "Authorization", good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i += 1) {
        assert_false(allows(&keys, "Authorization", bad[i]));
    }
    assert_true(allows(&keys, "x-api-key", "k"));
    assert_false(allows(&keys, "x-api-key", ""));
    assert_false(allows(&keys, "host", "x"));
}

static void keys_that_no_header_carries_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"", "a b", "a\n", "\xc3\xa9", "\x7f"};
    clef_api_keys keys = {0};
    clef_error error = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i += 1) {
        assert_int_equal(clef_api_keys_add(&keys, bad[i], &error), CLEF_USAGE);
    }
    for (int i = 0; i < CLEF_API_KEY_LIMIT; i += 1) {
        char key[16];
        snprintf(key, sizeof key, "key-%d", i);
        assert_ok(clef_api_keys_add(&keys, key, &error), &error);
    }
    assert_int_equal(clef_api_keys_add(&keys, "more", &error), CLEF_USAGE);
    assert_true(allows(&keys, "x-api-key", "key-0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_lets_everybody_in),
        cmocka_unit_test(each_of_several_keys_lets_in),
        cmocka_unit_test(keys_that_no_header_carries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
