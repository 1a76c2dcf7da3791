/* Keys: which are taken, which requests they let in. */
#include "server/api_keys.h"

#include "support.h"

#include <stdio.h>

static bool allows_in(const clef_api_keys *keys, const char *name, const char *value,
                      char scope[CLEF_API_KEY_SCOPE_BYTES]) {
    clef_http_head head = {0};
    head.fields[0] = (clef_http_field){clef_text_of(name), clef_text_of(value)};
    head.field_count = 1;
    return clef_api_keys_allow(keys, &head, scope);
}

static bool allows(const clef_api_keys *keys, const char *name, const char *value) {
    char scope[CLEF_API_KEY_SCOPE_BYTES];
    bool is_allowed = allows_in(keys, name, value, scope);
    assert_int_equal(scope[0] != '\0', is_allowed && keys->count > 0);
    return is_allowed;
}

static void each_key_has_a_scope(void **state) {
    (void)state;
    clef_api_keys keys = {0};
    char scopes[4][CLEF_API_KEY_SCOPE_BYTES];
    assert_int_equal(clef_api_keys_add(&keys, "one", NULL), CLEF_OK);
    assert_int_equal(clef_api_keys_add(&keys, "two", NULL), CLEF_OK);
    assert_true(allows_in(&keys, "x-api-key", "one", scopes[0]));
    assert_true(allows_in(&keys, "authorization", "Bearer one", scopes[1]));
    assert_true(allows_in(&keys, "x-api-key", "two", scopes[2]));
    assert_false(allows_in(&keys, "x-api-key", "three", scopes[3]));
    assert_string_equal(scopes[0], scopes[1]);
    assert_string_not_equal(scopes[0], scopes[2]);
    assert_string_equal(scopes[3], "");
    assert_int_equal(strlen(scopes[0]), CLEF_API_KEY_SCOPE_BYTES - 1);
    assert_null(strstr(scopes[0], "one"));
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
        cmocka_unit_test(each_key_has_a_scope),
        cmocka_unit_test(keys_that_no_header_carries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
