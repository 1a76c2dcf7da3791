/* Digests: published values of BLAKE2b with 32 bytes, any cutting of the input, equality. */
#include "support.h"

#include "base/digest.h"

#include <stdio.h>

static void assert_digest(clef_digest digest, const char *wanted) {
    char text[2 * CLEF_DIGEST_BYTES + 1];
    for (size_t i = 0; i < CLEF_DIGEST_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", digest.bytes[i]);
    }
    assert_string_equal(text, wanted);
}

/* By Python's hashlib.blake2b(…, digest_size=32). */
static void known_values(void **state) {
    (void)state;
    assert_digest(clef_digest_of("", 0),
                  "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    assert_digest(clef_digest_of("abc", 3),
                  "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

static void cuts_do_not_matter(void **state) {
    (void)state;
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 7);
    }
    clef_digest whole = clef_digest_of(bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        clef_digest_state parts;
        clef_digest_begin(&parts);
        clef_digest_add(&parts, bytes, cut);
        clef_digest_add(&parts, bytes + cut, sizeof bytes - cut);
        clef_digest digest = clef_digest_end(&parts);
        assert_true(clef_digest_equal(&digest, &whole));
    }
}

static void every_bit_counts(void **state) {
    (void)state;
    clef_digest a = clef_digest_of("a", 1);
    for (size_t i = 0; i < (size_t)8 * CLEF_DIGEST_BYTES; i++) {
        clef_digest b = a;
        assert_true(clef_digest_equal(&a, &b));
        b.bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_false(clef_digest_equal(&a, &b));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
