/* The sharing of a step: rules that hold for any queue, on every small queue and on random large
 * ones. */
#include "support.h"

#include "backend/backend.h"
#include "engine/schedule.h"

#include <string.h>

enum { QUEUE = 64, UNSET = 12345 };

static uint64_t next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* What must hold of one share. Returns the rows given out. */
static size_t check_share(const size_t *remaining, size_t count, size_t budget, size_t limit,
                          const size_t *counts, size_t looked_at) {
    size_t rows = 0;
    size_t slices = 0;
    assert_true(looked_at <= count);
    for (size_t i = 0; i < looked_at; i++) {
        assert_true(counts[i] <= remaining[i]);
        /* A cut lies on the grid. */
        assert_true(counts[i] == remaining[i] || counts[i] % CLEF_GRID == 0);
        rows += counts[i];
        slices += counts[i] > 0;
    }
    for (size_t i = looked_at; i < count; i++) {
        assert_int_equal(counts[i], UNSET);
    }
    assert_true(rows <= budget);
    assert_true(slices <= limit);
    /* The oldest always moves on. */
    assert_true(count == 0 || (looked_at > 0 && counts[0] > 0));
    return rows;
}

static size_t share(const size_t *remaining, size_t count, size_t budget, size_t limit,
                    size_t *counts) {
    for (size_t i = 0; i < count; i++) {
        counts[i] = UNSET;
    }
    return clef_schedule_share(remaining, count, budget, limit, counts);
}

/* ---- rules ---- */

static void every_small_queue_obeys_the_rules(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 192, 200, 256, 500};
    static const size_t budgets[] = {64, 128, 192, 256, 512};
    enum { SIZES = sizeof sizes / sizeof sizes[0], LENGTH = 4 };
    for (size_t count = 0; count <= LENGTH; count++) {
        size_t queues = 1;
        for (size_t i = 0; i < count; i++) {
            queues *= SIZES;
        }
        for (size_t number = 0; number < queues; number++) {
            size_t remaining[LENGTH];
            size_t counts[LENGTH];
            for (size_t i = 0, rest = number; i < count; i++, rest /= SIZES) {
                remaining[i] = sizes[rest % SIZES];
            }
            for (size_t b = 0; b < 5; b++) {
                for (size_t limit = 1; limit <= LENGTH; limit++) {
                    size_t looked = share(remaining, count, budgets[b], limit, counts);
                    check_share(remaining, count, budgets[b], limit, counts, looked);
                }
            }
        }
    }
}

static void random_queues_obey_the_rules(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t round = 0; round < 20000; round++) {
        size_t remaining[QUEUE];
        size_t counts[QUEUE];
        size_t count = 1 + next_number(&seed) % QUEUE;
        size_t budget = CLEF_GRID * (1 + next_number(&seed) % 40);
        size_t limit = 1 + next_number(&seed) % QUEUE;
        for (size_t i = 0; i < count; i++) {
            size_t range = next_number(&seed) % 3 == 0 ? 8000 : 200;
            remaining[i] = 1 + next_number(&seed) % range;
        }
        size_t looked = share(remaining, count, budget, limit, counts);
        check_share(remaining, count, budget, limit, counts, looked);
    }
}

/* A step is not left half empty while there is work for whole pages of it. */
static void rows_are_not_wasted(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (size_t round = 0; round < 20000; round++) {
        size_t remaining[QUEUE];
        size_t counts[QUEUE];
        size_t total = 0;
        size_t count = 1 + next_number(&seed) % 8;
        size_t budget = CLEF_GRID * (4 + next_number(&seed) % 12);
        for (size_t i = 0; i < count; i++) {
            remaining[i] = 1 + next_number(&seed) % 1500;
            total += remaining[i];
        }
        size_t looked = share(remaining, count, budget, QUEUE, counts);
        size_t rows = check_share(remaining, count, budget, QUEUE, counts, looked);
        size_t possible = total < budget ? total : budget;
        /* What is cut off by the grid, and the quarter kept for records that need less of it. */
        assert_true(rows + budget / 4 + CLEF_GRID >= possible);
    }
}

/* ---- fairness ---- */

static void one_record_takes_what_it_needs(void **state) {
    (void)state;
    size_t count;
    for (size_t remaining = 1; remaining < 3000; remaining++) {
        assert_int_equal(share(&remaining, 1, 512, 32, &count), 1);
        assert_int_equal(count, remaining < 512 ? remaining : 512);
    }
}

static void short_records_are_not_kept_waiting(void **state) {
    (void)state;
    for (size_t budget = 256; budget <= 4096; budget += CLEF_GRID) {
        /* A long record first: those behind it that fit in a quarter of the step all run. */
        size_t each = budget / 4 / 3;
        size_t remaining[4] = {100000, each, each, each};
        size_t counts[4];
        assert_int_equal(share(remaining, 4, budget, 32, counts), 4);
        for (size_t i = 1; i < 4; i++) {
            assert_int_equal(counts[i], each);
        }
        assert_true(counts[0] >= budget / 2);
    }
}

/* A record that fits into three quarters of a step ends in the first step after it came, however
 * long the one before it is; that one moves on by a quarter at least. */
static void a_short_record_ends_in_one_step(void **state) {
    (void)state;
    for (size_t budget = 256; budget <= 1024; budget += CLEF_GRID) {
        size_t most = budget - budget / 4;
        for (size_t brief = 1; brief <= most; brief++) {
            for (size_t length = most + 1; length < 20000; length += 977) {
                size_t remaining[3] = {length, brief, 300};
                size_t counts[3];
                share(remaining, 3, budget, 32, counts);
                assert_int_equal(counts[1], brief);
                assert_true(counts[0] + CLEF_GRID > budget / 4);
            }
        }
    }
}

/* A queue of any records is worked off, and each step completes what the rules let it. */
static void every_record_ends(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (size_t round = 0; round < 300; round++) {
        size_t remaining[QUEUE];
        size_t count = 1 + next_number(&seed) % QUEUE;
        size_t budget = CLEF_GRID * (1 + next_number(&seed) % 10);
        size_t work = 0;
        for (size_t i = 0; i < count; i++) {
            remaining[i] = 1 + next_number(&seed) % (i % 5 == 0 ? 3000 : 150);
            work += remaining[i];
        }
        /* The oldest gets a page each time, so this many steps do for anything. */
        size_t steps = work / CLEF_GRID + count;
        while (count > 0) {
            size_t counts[QUEUE];
            size_t looked = share(remaining, count, budget, QUEUE, counts);
            check_share(remaining, count, budget, QUEUE, counts, looked);
            size_t kept = 0;
            for (size_t i = 0; i < count; i++) {
                size_t left = remaining[i] - (i < looked ? counts[i] : 0);
                if (left > 0) {
                    remaining[kept++] = left;
                }
            }
            count = kept;
            assert_true(steps-- > 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_queue_obeys_the_rules),
        cmocka_unit_test(random_queues_obey_the_rules),
        cmocka_unit_test(rows_are_not_wasted),
        cmocka_unit_test(one_record_takes_what_it_needs),
        cmocka_unit_test(short_records_are_not_kept_waiting),
        cmocka_unit_test(a_short_record_ends_in_one_step),
        cmocka_unit_test(every_record_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
