/* Tasks: each runs once, and all of them see the same arithmetic. */
#include "base/parallel.h"

#include "support.h"

#include <float.h>
#include <stdatomic.h>

enum { TASKS = 1000 };

typedef struct work {
    atomic_int runs[TASKS];
    float halves[TASKS]; /* of the smallest normal number */
    atomic_uint highest_worker;
} work;

static void run(void *context, size_t task, unsigned worker) {
    work *w = context;
    atomic_fetch_add(&w->runs[task], 1);
    volatile float smallest = FLT_MIN;
    w->halves[task] = smallest * 0.5f;
    unsigned seen = atomic_load(&w->highest_worker);
    while (worker > seen && !atomic_compare_exchange_weak(&w->highest_worker, &seen, worker)) {
    }
}

static void check(unsigned threads) {
    static work w;
    w = (work){0};
    clef_parallel_for(threads, TASKS, run, &w);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&w.runs[i]), 1);
#if defined(__SSE2__) || defined(__aarch64__)
        assert_true(w.halves[i] == 0);
#endif
    }
    assert_true(atomic_load(&w.highest_worker) < threads);
}

static void every_task_runs_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        check(threads);
    }
}

static void the_callers_arithmetic_stays(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        check(threads);
        volatile float smallest = FLT_MIN;
        assert_true(smallest * 0.5f > 0);
    }
}

static void no_task_is_fine(void **state) {
    (void)state;
    clef_parallel_for(4, 0, run, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(the_callers_arithmetic_stays),
        cmocka_unit_test(no_task_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
