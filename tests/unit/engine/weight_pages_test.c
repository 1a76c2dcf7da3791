/* Which layers stay in memory: rules that hold for any sizes and any room. */
#include "support.h"

#include "engine/weight_pages.h"

enum { LAYERS = 7 };

static uint64_t sum(const uint64_t *bytes, size_t count) {
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += bytes[i];
    }
    return total;
}

/* Every room from nothing to more than all, for layers of different sizes. */
static void what_stays_fits(void **state) {
    static const uint64_t bytes[LAYERS] = {30, 10, 20, 40, 10, 30, 20};
    const uint64_t other = 15, largest = 40;
    const uint64_t all = sum(bytes, LAYERS) + other;
    size_t before = 0;
    (void)state;
    for (uint64_t room = 0; room <= all + 5; room++) {
        bool can_fetch;
        size_t kept = clef_weight_pages_keep(bytes, LAYERS, other, room, &can_fetch);
        assert_true(kept <= LAYERS);
        assert_true(kept >= before); /* more room never keeps less */
        before = kept;
        /* Nothing is given back when all of it fits. */
        assert_int_equal(room >= all, kept == LAYERS);
        assert_int_equal(can_fetch, room >= other + 2 * largest);
        if (kept > 0 && kept < LAYERS) {
            assert_true(sum(bytes, kept) + other + 2 * largest <= room);
        }
        if (kept < LAYERS && can_fetch) {
            /* One more would not have fitted. */
            assert_true(sum(bytes, kept + 1) + other + 2 * largest > room || kept == LAYERS - 1);
        }
    }
}

static void no_limit_keeps_all(void **state) {
    static const uint64_t bytes[1] = {UINT64_MAX / 8};
    bool can_fetch;
    (void)state;
    assert_int_equal(clef_weight_pages_keep(bytes, 1, 7, UINT64_MAX, &can_fetch), 1);
    assert_true(can_fetch);
    assert_int_equal(clef_weight_pages_keep(bytes, 1, 7, 0, &can_fetch), 0);
    assert_false(can_fetch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stays_fits),
        cmocka_unit_test(no_limit_keeps_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
