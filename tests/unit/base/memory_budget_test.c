/* Budgets between threads: room that fits is given at once, what does not fit waits for others, no
 * two wait for each other, and who is not wanted any more leaves. */
#include "support.h"

#include "base/clock.h"
#include "base/memory_budget.h"

#include <pthread.h>
#include <stdatomic.h>

static clef_memory_budget *open_budget(void) {
    clef_error error = {0};
    clef_memory_budget *budget;
    assert_ok(clef_memory_budget_create(&budget, &error), &error);
    return budget;
}

static void sleep_milliseconds(long milliseconds) {
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void what_fits_is_given(void **state) {
    (void)state;
    clef_error error = {0};
    clef_memory_budget *budget = open_budget();
    clef_memory_grant a = {.budget = budget, .limit = 100}, b = a, none = {0};
    assert_ok(clef_memory_grant_grow(&a, 60, &error), &error);
    assert_ok(clef_memory_grant_grow(&b, 40, &error), &error);
    assert_int_equal(clef_memory_budget_used(budget), 100);
    clef_memory_grant_shrink(&a, 10);
    assert_int_equal(a.bytes, 50);
    assert_ok(clef_memory_grant_grow(&b, 10, &error), &error);
    assert_ok(clef_memory_grant_grow(&none, UINT64_MAX, &error), &error);
    clef_memory_grant_shrink(&a, a.bytes);
    clef_memory_grant_shrink(&b, b.bytes);
    assert_int_equal(clef_memory_budget_used(budget), 0);
    /* More than all there is, and nobody to wait for. */
    assert_ok(clef_memory_grant_grow(&a, 1000, &error), &error);
    clef_memory_grant_shrink(&a, 1000);
    /* Without a limit it is only counted. */
    clef_memory_grant unlimited = {.budget = budget};
    assert_ok(clef_memory_grant_grow(&unlimited, 5000, &error), &error);
    assert_int_equal(clef_memory_budget_used(budget), 5000);
    clef_memory_grant_shrink(&unlimited, 5000);
    clef_memory_budget_close(budget);
}

/* ---- threads ---- */

typedef struct owner {
    pthread_t thread;
    clef_memory_grant grant;
    uint64_t first, second; /* what it takes, one behind the other */
    clef_status status;
    atomic_bool has_first, has_second;
} owner;

static void *take_both(void *context) {
    owner *of = context;
    clef_error error = {0};
    of->status = clef_memory_grant_grow(&of->grant, of->first, &error);
    atomic_store(&of->has_first, of->status == CLEF_OK);
    if (of->status == CLEF_OK && of->second > 0) {
        of->status = clef_memory_grant_grow(&of->grant, of->second, &error);
        atomic_store(&of->has_second, of->status == CLEF_OK);
    }
    return NULL;
}

static void start(owner *of) {
    assert_int_equal(pthread_create(&of->thread, NULL, take_both, of), 0);
}

static void what_does_not_fit_waits(void **state) {
    (void)state;
    clef_error error = {0};
    clef_memory_budget *budget = open_budget();
    clef_memory_grant holder = {.budget = budget, .limit = 100};
    owner later = {.grant = holder, .first = 50};
    assert_ok(clef_memory_grant_grow(&holder, 80, &error), &error);
    start(&later);
    sleep_milliseconds(30);
    assert_false(atomic_load(&later.has_first));
    clef_memory_grant_shrink(&holder, 20);
    sleep_milliseconds(30);
    assert_false(atomic_load(&later.has_first));
    clef_memory_grant_shrink(&holder, 10);
    pthread_join(later.thread, NULL);
    assert_int_equal(later.status, CLEF_OK);
    assert_int_equal(clef_memory_budget_used(budget), 100);
    clef_memory_grant_shrink(&holder, holder.bytes);
    clef_memory_grant_shrink(&later.grant, 50);
    clef_memory_budget_close(budget);
}

/* Two hold half of it and want another half: one gets it, and the other once the first is done. */
static void nobody_waits_for_a_waiting_one(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        clef_memory_budget *budget = open_budget();
        owner owners[2];
        for (size_t i = 0; i < 2; i++) {
            owners[i] =
                (owner){.grant = {.budget = budget, .limit = 100}, .first = 50, .second = 50};
        }
        start(&owners[0]);
        start(&owners[1]);
        uint64_t end = clef_clock_ns() + UINT64_C(20000000000);
        size_t winner = 2;
        while (winner == 2 && clef_clock_ns() < end) {
            winner = atomic_load(&owners[0].has_second)   ? 0
                     : atomic_load(&owners[1].has_second) ? 1
                                                          : 2;
            sleep_milliseconds(1);
        }
        assert_int_not_equal(winner, 2);
        pthread_join(owners[winner].thread, NULL);
        assert_true(clef_memory_budget_used(budget) <= 150);
        clef_memory_grant_shrink(&owners[winner].grant, 100);
        pthread_join(owners[1 - winner].thread, NULL);
        assert_int_equal(owners[1 - winner].status, CLEF_OK);
        clef_memory_grant_shrink(&owners[1 - winner].grant, 100);
        assert_int_equal(clef_memory_budget_used(budget), 0);
        clef_memory_budget_close(budget);
    }
}

static bool ask(void *context) {
    return atomic_load((atomic_bool *)context);
}

static void who_is_not_wanted_leaves(void **state) {
    (void)state;
    clef_error error = {0};
    clef_memory_budget *budget = open_budget();
    atomic_bool is_over = false;
    clef_memory_grant holder = {.budget = budget, .limit = 100};
    owner later = {.grant = {.budget = budget, .limit = 100, .stop = {ask, &is_over}},
                   .first = 10,
                   .second = 50};
    assert_ok(clef_memory_grant_grow(&holder, 80, &error), &error);
    start(&later);
    sleep_milliseconds(30);
    assert_true(atomic_load(&later.has_first));
    atomic_store(&is_over, true);
    pthread_join(later.thread, NULL);
    assert_int_equal(later.status, CLEF_CANCELLED);
    assert_int_equal(later.grant.bytes, 10);
    assert_int_equal(clef_memory_budget_used(budget), 90);
    clef_memory_grant_shrink(&later.grant, 10);
    clef_memory_grant_shrink(&holder, 80);
    clef_memory_budget_close(budget);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_given),
        cmocka_unit_test(what_does_not_fit_waits),
        cmocka_unit_test(nobody_waits_for_a_waiting_one),
        cmocka_unit_test(who_is_not_wanted_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
