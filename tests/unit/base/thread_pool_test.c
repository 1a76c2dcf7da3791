/* Tasks: each runs once, on the threads that were asked for, and all of them see the same
 * arithmetic; callers beside each other, and pauses of any length between calls, harm nothing. */
#include "base/thread_pool.h"

#include "support.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TASKS = 1000, CALLERS = 3 };

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

static void check(clef_thread_pool *pool, unsigned limit) {
    static work w;
    w = (work){0};
    clef_thread_pool_run(pool, limit, TASKS, run, &w);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&w.runs[i]), 1);
#if defined(__SSE2__) || defined(__aarch64__)
        assert_true(w.halves[i] == 0);
#endif
    }
    assert_true(atomic_load(&w.highest_worker) < limit);
    assert_true(atomic_load(&w.highest_worker) < clef_thread_pool_size(pool));
}

static void every_task_runs_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        for (unsigned limit = 1; limit <= threads + 1; limit++) {
            check(threads_of(threads), limit);
        }
    }
}

static void the_callers_arithmetic_stays(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        check(threads_of(threads), threads);
        volatile float smallest = FLT_MIN;
        assert_true(smallest * 0.5f > 0);
    }
}

static void no_task_is_fine(void **state) {
    (void)state;
    clef_thread_pool_run(threads_of(4), 4, 0, run, NULL);
    clef_thread_pool_run(NULL, 4, 0, run, NULL);
    clef_thread_pool_close(NULL);
    assert_int_equal(clef_thread_pool_size(NULL), 1);
    assert_int_equal(clef_thread_pool_size(threads_of(4)), 4);
}

/* ---- who takes part ---- */

typedef struct meeting {
    atomic_uint arrived;
    unsigned expected;
    atomic_uint workers; /* a bit each */
} meeting;

/* Ends when as many tasks run at the same time. */
static void meet(void *context, size_t task, unsigned worker) {
    meeting *m = context;
    (void)task;
    atomic_fetch_or(&m->workers, 1u << worker);
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < m->expected) {
        nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    }
}

static void all_threads_help(void **state) {
    (void)state;
    for (unsigned limit = 1; limit <= 4; limit++) {
        meeting m = {.expected = limit};
        clef_thread_pool_run(threads_of(4), 4, limit, meet, &m);
        unsigned count = 0;
        for (unsigned bits = atomic_load(&m.workers); bits != 0; bits &= bits - 1) {
            count++;
        }
        assert_int_equal(count, limit);
    }
}

/* ---- many calls ---- */

static void count_task(void *context, size_t task, unsigned worker) {
    (void)task;
    (void)worker;
    atomic_fetch_add((atomic_ullong *)context, 1);
}

/* Pauses from none to some that let every thread fall asleep. */
static void calls_behind_pauses(void **state) {
    (void)state;
    for (unsigned threads = 2; threads <= 4; threads += 2) {
        atomic_ullong count = 0;
        unsigned long long expected = 0;
        for (unsigned i = 0; i < 3000; i++) {
            clef_thread_pool_run(threads_of(threads), 1 + i % threads, 1 + i % 7, count_task,
                                 &count);
            expected += 1 + i % 7;
            assert_true(atomic_load(&count) == expected);
            if (i % 50 == 0) {
                nanosleep(&(struct timespec){.tv_nsec = (long)(i % 1000) * 1000}, NULL);
            }
        }
    }
}

static void *call_often(void *argument) {
    for (unsigned i = 0; i < 2000; i++) {
        clef_thread_pool_run(threads_of(3), 3, 5, count_task, argument);
    }
    return NULL;
}

static void callers_beside_each_other(void **state) {
    (void)state;
    atomic_ullong counts[CALLERS] = {0};
    pthread_t callers[CALLERS];
    clef_thread_pool_size(threads_of(3));
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, &counts[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i], NULL);
        assert_true(atomic_load(&counts[i]) == 2000 * 5);
    }
}

/* ---- life ---- */

static void pools_come_and_go(void **state) {
    clef_error error = {0};
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        clef_thread_pool *pool;
        assert_ok(clef_thread_pool_create(1 + i % 5, &pool, &error), &error);
        if (i % 2 == 0) {
            check(pool, 5);
        }
        clef_thread_pool_close(pool);
    }
}

static void too_many_threads_are_an_error(void **state) {
    struct rlimit before;
    clef_error error = {0};
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("SKIP: sanitizers need address space without end\n");
    skip();
#endif
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit little = {.rlim_cur = (rlim_t)512 << 20, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    clef_thread_pool *pool;
    clef_status status = clef_thread_pool_create(CLEF_THREAD_LIMIT, &pool, &error);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, CLEF_OUT_OF_MEMORY);
    assert_null(pool);
    assert_non_null(strstr(error.message, " of 1024 threads; a limit on processes"));
}

/* Its helpers are not there, so nobody may be waited for. */
static void a_forked_child_may_close(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    print_message("SKIP: the thread sanitizer follows no fork of threads\n");
    skip();
#endif
    clef_thread_pool *pool;
    clef_error error;
    assert_int_equal(clef_thread_pool_create(4, &pool, &error), CLEF_OK);
    check(pool, 4);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(10);
        clef_thread_pool_close(pool);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check(pool, 4);
    clef_thread_pool_close(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),     cmocka_unit_test(the_callers_arithmetic_stays),
        cmocka_unit_test(no_task_is_fine),          cmocka_unit_test(all_threads_help),
        cmocka_unit_test(calls_behind_pauses),      cmocka_unit_test(callers_beside_each_other),
        cmocka_unit_test(pools_come_and_go),        cmocka_unit_test(too_many_threads_are_an_error),
        cmocka_unit_test(a_forked_child_may_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
