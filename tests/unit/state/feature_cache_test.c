/* Kept features against what was put: whose rows they are, how many bytes they take, and who goes
 * first. */
#include "../weights/failing_memory.h"
#include "support.h"

#include "state/feature_cache.h"

#include <math.h>

enum { FLOATS = 24, PLENTY = 1 << 20 };

static clef_digest key_of(uint64_t number) {
    return clef_digest_of(&number, sizeof number);
}

static void fill(float rows[FLOATS], uint64_t number) {
    for (size_t i = 0; i < FLOATS; i++) {
        rows[i] = (float)(number * 100 + i);
    }
}

static void put(clef_feature_cache *cache, uint64_t number, size_t floats) {
    float rows[FLOATS];
    clef_digest key = key_of(number);
    fill(rows, number);
    clef_feature_cache_put(cache, &key, rows, floats);
}

/* Whether the rows are there, and they are its own. */
static bool take(clef_feature_cache *cache, uint64_t number, size_t floats) {
    float found[FLOATS] = {0}, expected[FLOATS];
    clef_digest key = key_of(number);
    fill(expected, number);
    bool is_there = clef_feature_cache_take(cache, &key, found, floats);
    if (is_there) {
        assert_memory_equal(found, expected, floats * sizeof *found);
    }
    return is_there;
}

static uint64_t bytes_of_entry(size_t floats) {
    return floats * sizeof(float) + sizeof(clef_feature_entry);
}

static void rows_come_back_by_key_and_size(void **state) {
    clef_feature_cache cache = {.byte_limit = PLENTY};
    (void)state;
    assert_false(take(&cache, 1, FLOATS));
    put(&cache, 1, FLOATS);
    put(&cache, 2, 8);
    assert_true(take(&cache, 1, FLOATS));
    assert_true(take(&cache, 2, 8));
    assert_false(take(&cache, 1, 8));
    assert_false(take(&cache, 3, FLOATS));
    assert_int_equal(cache.hits, 2);
    assert_int_equal(cache.misses, 3);
    assert_int_equal(cache.count, 2);
    assert_int_equal(cache.bytes, bytes_of_entry(FLOATS) + bytes_of_entry(8));
    clef_feature_cache_release(&cache);
    assert_int_equal(cache.bytes, 0);
}

static void the_least_recently_used_goes_first(void **state) {
    clef_feature_cache cache = {.byte_limit = 3 * bytes_of_entry(FLOATS)};
    (void)state;
    for (uint64_t number = 1; number <= 3; number++) {
        assert_false(take(&cache, number, FLOATS));
        put(&cache, number, FLOATS);
    }
    assert_true(take(&cache, 1, FLOATS));
    assert_int_equal(cache.evictions, 0);
    assert_false(take(&cache, 4, FLOATS));
    put(&cache, 4, FLOATS);
    assert_int_equal(cache.evictions, 1);
    assert_false(take(&cache, 2, FLOATS));
    assert_true(take(&cache, 1, FLOATS));
    assert_true(take(&cache, 3, FLOATS));
    assert_true(take(&cache, 4, FLOATS));
    clef_feature_cache_release(&cache);
}

static void the_budget_is_never_passed(void **state) {
    uint64_t seed = 3;
    (void)state;
    for (uint64_t limit = 0; limit < 8 * bytes_of_entry(FLOATS); limit += 97) {
        clef_feature_cache cache = {.byte_limit = limit};
        uint64_t expected = 0;
        for (size_t i = 0; i < 60; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t number = (seed >> 33) % 20;
            size_t floats = 1 + number % FLOATS;
            if (!take(&cache, number, floats)) {
                put(&cache, number, floats);
            }
            assert_true(cache.bytes <= limit);
            if (bytes_of_entry(floats) <= limit) {
                assert_true(take(&cache, number, floats));
            }
        }
        for (size_t i = 0; i < cache.count; i++) {
            expected += bytes_of_entry(cache.entries[i].floats);
        }
        assert_int_equal(cache.bytes, expected);
        while (clef_feature_cache_evict(&cache)) {
        }
        assert_int_equal(cache.bytes, 0);
        clef_feature_cache_release(&cache);
    }
}

static void what_is_not_finite_is_not_kept(void **state) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    clef_feature_cache cache = {.byte_limit = PLENTY};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float rows[FLOATS];
        clef_digest key = key_of(1);
        fill(rows, 1);
        rows[FLOATS - 1 - i] = bad[i];
        clef_feature_cache_put(&cache, &key, rows, FLOATS);
        assert_int_equal(cache.count, 0);
    }
    clef_feature_cache_release(&cache);
}

/* Without memory less is kept, and nothing is lost. */
static void short_memory_keeps_less(void **state) {
    (void)state;
    for (size_t allowed = 0; allowed < 8; allowed++) {
        size_t before = live_blocks;
        clef_feature_cache cache = {.byte_limit = PLENTY};
        allocations_before_failure = allowed;
        for (uint64_t number = 0; number < 20; number++) {
            put(&cache, number, FLOATS);
        }
        allocations_before_failure = SIZE_MAX;
        assert_int_equal(cache.bytes, cache.count * bytes_of_entry(FLOATS));
        assert_int_equal(cache.count, allowed < 2 ? 0 : allowed - 1);
        for (uint64_t number = 0; number < 20; number++) {
            assert_int_equal(take(&cache, number, FLOATS), number < cache.count);
        }
        put(&cache, 30, FLOATS);
        assert_true(take(&cache, 30, FLOATS));
        clef_feature_cache_release(&cache);
        assert_int_equal(live_blocks, before);
    }
}

int main(void) {
    allocations_before_failure = SIZE_MAX;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_by_key_and_size),
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(the_budget_is_never_passed),
        cmocka_unit_test(what_is_not_finite_is_not_kept),
        cmocka_unit_test(short_memory_keeps_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
