/* Orders that Python's random.Random(seed).shuffle gives, from its documentation's generator. */
#include "server/shuffle.h"

#include "support.h"

static void orders_are_those_of_python(void **state) {
    (void)state;
    static const struct {
        const char *seed;
        const char *orders[2];
    } cases[] = {
        {"0", {"ecbafd", "eabfcd"}},  {"-0", {"ecbafd", "eabfcd"}},
        {"1", {"cdfaeb", "abcefd"}},  {"-1", {"cdfaeb", "abcefd"}},
        {"42", {"dbceaf", "dacefb"}}, {"12345678901", {"fabdce", "dfaecb"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += 1) {
        clef_shuffler shuffler;
        assert_true(clef_shuffler_seed(&shuffler, clef_text_of(cases[i].seed)));
        for (size_t run = 0; run < 2; run += 1) {
            uint32_t items[6] = {0, 1, 2, 3, 4, 5};
            char order[7] = {0};
            clef_shuffler_shuffle(&shuffler, items, 6);
            for (size_t j = 0; j < 6; j += 1) {
                order[j] = (char)('a' + items[j]);
            }
            assert_string_equal(order, cases[i].orders[run]);
        }
    }
}

/* What Python 3 gives: 64 shuffles of 0..254 seeded with 4,300 sevens, folded by s = 31 s + item
 * modulo 2^64. */
#define LARGE_DIGITS 4300
#define LARGE_SUM    UINT64_C(4606910058273977042)

static void large_seeds_and_many_items(void **state) {
    (void)state;
    char seed[LARGE_DIGITS + 1];
    memset(seed, '7', LARGE_DIGITS);
    seed[LARGE_DIGITS] = '\0';
    clef_shuffler shuffler;
    assert_true(clef_shuffler_seed(&shuffler, clef_text_of(seed)));
    uint32_t items[255];
    uint64_t sum = 0;
    for (size_t run = 0; run < 64; run += 1) {
        for (uint32_t j = 0; j < 255; j += 1) {
            items[j] = j;
        }
        clef_shuffler_shuffle(&shuffler, items, 255);
        for (uint32_t j = 0; j < 255; j += 1) {
            sum = sum * 31 + items[j];
        }
    }
    assert_true(sum == LARGE_SUM);
}

static void what_is_no_integer_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"", "-", "1.0", "1e3", "+1", " 1", "--1", "0x1"};
    static char long_one[4302];
    clef_shuffler shuffler;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i += 1) {
        assert_false(clef_shuffler_seed(&shuffler, clef_text_of(bad[i])));
    }
    memset(long_one, '9', 4301);
    assert_false(clef_shuffler_seed(&shuffler, clef_text_of(long_one)));
    long_one[4300] = '\0';
    assert_true(clef_shuffler_seed(&shuffler, clef_text_of(long_one)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_those_of_python),
        cmocka_unit_test(large_seeds_and_many_items),
        cmocka_unit_test(what_is_no_integer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
