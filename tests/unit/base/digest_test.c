/* Digests against published values, in one piece and in many. */
#include "support.h"

#include "base/digest.h"

#include <stdio.h>

static void digest_is(clef_digest_kind kind, const char *text, const char *expected) {
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        clef_digest_state state;
        clef_digest_begin(&state, kind);
        for (size_t at = 0; at < strlen(text); at += piece) {
            size_t left = strlen(text) - at;
            clef_digest_add(&state, text + at, left < piece ? left : piece);
        }
        clef_digest digest = clef_digest_finish(&state);
        char found[65];
        for (size_t i = 0; i < CLEF_DIGEST_BYTES; i++) {
            snprintf(found + 2 * i, 3, "%02x", digest.bytes[i]);
        }
        assert_string_equal(found, expected);
    }
}

static void published_values(void **state) {
    (void)state;
    digest_is(CLEF_DIGEST_SHA256, "",
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_is(CLEF_DIGEST_SHA256, "abc",
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_is(CLEF_DIGEST_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    digest_is(CLEF_DIGEST_KEY, "",
              "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    digest_is(CLEF_DIGEST_KEY, "abc",
              "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static clef_digest digest_of_numbers(uint64_t first, uint64_t second) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_digest_add_number(&state, first);
    clef_digest_add_number(&state, second);
    return clef_digest_finish(&state);
}

static void numbers_have_a_place(void **state) {
    (void)state;
    clef_digest a = digest_of_numbers(1, 2), b = digest_of_numbers(2, 1);
    clef_digest same = digest_of_numbers(1, 2), high = digest_of_numbers(1, UINT64_C(2) << 32);
    assert_true(clef_digest_equals(&a, &same));
    assert_false(clef_digest_equals(&a, &b));
    assert_false(clef_digest_equals(&a, &high));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(numbers_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
