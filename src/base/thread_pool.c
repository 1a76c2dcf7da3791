/* One word, the gate, says what threads may do: which call it is, how many may take part, and how
 * many are inside. Helpers wait until it opens and enter by counting themselves; the caller works
 * too, shuts it when no task is left, and waits only for those inside: a helper that wakes up too
 * late is missed by nobody. */
#include "base/thread_pool.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/number_mode.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* Looks at the gate before a thread sleeps: always some microseconds of them, which are shorter
 * than falling asleep; on a machine with CPUs to spare as long as the gaps between the products of
 * a generated token (docs/decisions/0001). */
#define FIRST_LOOKS   300
#define LOOKS_A_CLOCK 32
#define LOOKING_NS    100000u
/* How long one lost CPU counts as a sign that others want it. */
#define CROWDED_NS 100000000u

/* The gate: number of the call, threads that may enter (0: shut), helpers inside. */
#define CALL      ((uint64_t)1 << 32)
#define ENTRY     ((uint64_t)1 << 16)
#define INSIDE(g) ((unsigned)((g)&0xffff))
#define LIMIT(g)  ((unsigned)((g) >> 16 & 0xffff))
#define NUMBER(g) ((uint32_t)((g) >> 32))

enum { HELPER, CALLER, ROLES };

typedef struct helper {
    pthread_t thread;
    clef_thread_pool *pool;
    unsigned worker;
} helper;

struct clef_thread_pool {
    /* Of a call; written before the gate opens, read inside. */
    clef_task *run; /* NULL: the pool closes */
    void *context;
    size_t task_count;
    _Alignas(64) _Atomic uint64_t gate;
    _Alignas(64) atomic_size_t next_task;
    _Alignas(64) atomic_uint sleepers[ROLES];
    _Atomic uint64_t crowded_until; /* clef_clock_ns */
    pthread_mutex_t sleep;
    pthread_cond_t woken[ROLES];
    pthread_mutex_t turn; /* of the caller */
    long caller_losses;   /* what lost_cpus said last */
    pid_t process;        /* where the helpers are: a fork does not take them along */
    unsigned size;
    helper helpers[]; /* [size - 1] */
};

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- waiting ---- */

/* Times the system took the CPU from the calling thread to give it to another. */
static long lost_cpus(void) {
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
    return 0;
#endif
}

static bool is_crowded(clef_thread_pool *pool, long *losses, uint64_t now) {
    long before = *losses;
    *losses = lost_cpus();
    if (*losses != before) {
        atomic_store_explicit(&pool->crowded_until, now + CROWDED_NS, memory_order_relaxed);
        return true;
    }
    return now < atomic_load_explicit(&pool->crowded_until, memory_order_relaxed);
}

/* The caller waits until nobody is inside, a helper for a call after `seen`. */
static bool may_pass(int role, uint64_t gate, uint32_t seen) {
    return role == CALLER ? INSIDE(gate) == 0 : NUMBER(gate) != seen;
}

static bool look(clef_thread_pool *pool, int role, uint32_t seen, unsigned looks, uint64_t *gate) {
    for (unsigned i = 0; i < looks; i++) {
        *gate = atomic_load_explicit(&pool->gate, memory_order_acquire);
        if (may_pass(role, *gate, seen)) {
            return true;
        }
        relax();
    }
    return false;
}

static bool look_longer(clef_thread_pool *pool, int role, uint32_t seen, long *losses,
                        uint64_t *gate) {
    uint64_t now = clef_clock_ns();
    if (is_crowded(pool, losses, now)) {
        return false;
    }
    for (uint64_t end = now + LOOKING_NS; now < end; now = clef_clock_ns()) {
        if (look(pool, role, seen, LOOKS_A_CLOCK, gate)) {
            return true;
        }
    }
    return false;
}

/* Who goes to sleep says so before the last look, who changes the gate looks for sleepers after. */
static uint64_t sleep_at_gate(clef_thread_pool *pool, int role, uint32_t seen) {
    uint64_t gate;
    pthread_mutex_lock(&pool->sleep);
    atomic_fetch_add(&pool->sleepers[role], 1);
    while (gate = atomic_load(&pool->gate), !may_pass(role, gate, seen)) {
        pthread_cond_wait(&pool->woken[role], &pool->sleep);
    }
    atomic_fetch_sub(&pool->sleepers[role], 1);
    pthread_mutex_unlock(&pool->sleep);
    return gate;
}

static uint64_t wait_at_gate(clef_thread_pool *pool, int role, uint32_t seen, long *losses) {
    uint64_t gate;
    return look(pool, role, seen, FIRST_LOOKS, &gate) ||
                   look_longer(pool, role, seen, losses, &gate)
               ? gate
               : sleep_at_gate(pool, role, seen);
}

/* Whoever holds the mutex has not looked yet, or sleeps when it is free again; who is woken must
 * not find it taken. */
static void wake(clef_thread_pool *pool, int role) {
    if (atomic_load(&pool->sleepers[role]) > 0) {
        pthread_mutex_lock(&pool->sleep);
        pthread_mutex_unlock(&pool->sleep);
        pthread_cond_broadcast(&pool->woken[role]);
    }
}

/* ---- working ---- */

static void run_tasks(clef_thread_pool *pool, unsigned worker) {
    size_t count = pool->task_count;
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&pool->next_task, 1, memory_order_relaxed);
        if (task >= count) {
            return;
        }
        pool->run(pool->context, task, worker);
    }
}

static bool enter(clef_thread_pool *pool, unsigned worker, uint64_t gate) {
    uint32_t number = NUMBER(gate);
    while (NUMBER(gate) == number && worker < LIMIT(gate)) {
        if (atomic_compare_exchange_weak_explicit(&pool->gate, &gate, gate + 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static void leave(clef_thread_pool *pool) {
    uint64_t gate = atomic_fetch_sub(&pool->gate, 1) - 1;
    if (LIMIT(gate) == 0 && INSIDE(gate) == 0) {
        wake(pool, CALLER);
    }
}

static void *help(void *argument) {
    const helper *self = argument;
    clef_thread_pool *pool = self->pool;
    long losses = lost_cpus();
    (void)clef_number_mode_flush();
    for (uint32_t seen = 0;;) {
        uint64_t gate = wait_at_gate(pool, HELPER, seen, &losses);
        seen = NUMBER(gate);
        if (!enter(pool, self->worker, gate)) {
            continue;
        }
        bool is_closing = pool->run == NULL;
        if (!is_closing) {
            run_tasks(pool, self->worker);
        }
        leave(pool);
        if (is_closing) {
            return NULL;
        }
    }
}

static void open_gate(clef_thread_pool *pool, unsigned limit) {
    uint64_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);
    atomic_store(&pool->gate, (uint64_t)(NUMBER(gate) + 1) * CALL + limit * ENTRY);
    wake(pool, HELPER);
}

static void run_together(clef_thread_pool *pool, unsigned limit) {
    atomic_store_explicit(&pool->next_task, 0, memory_order_relaxed);
    open_gate(pool, limit);
    run_tasks(pool, 0);
    atomic_fetch_and(&pool->gate, ~(0xffff * ENTRY));
    (void)wait_at_gate(pool, CALLER, 0, &pool->caller_losses);
}

unsigned clef_thread_pool_size(const clef_thread_pool *pool) {
    return pool == NULL ? 1 : pool->size;
}

void clef_thread_pool_run(clef_thread_pool *pool, unsigned limit, size_t task_count, clef_task *run,
                          void *context) {
    unsigned size = clef_thread_pool_size(pool);
    limit = limit < size ? limit : size;
    limit = limit < task_count ? limit : (unsigned)task_count;
    clef_number_mode mode = clef_number_mode_flush();
    if (limit > 1 && pthread_mutex_trylock(&pool->turn) == 0) {
        pool->run = run;
        pool->context = context;
        pool->task_count = task_count;
        run_together(pool, limit);
        pthread_mutex_unlock(&pool->turn);
    } else {
        for (size_t task = 0; task < task_count; task++) {
            run(context, task, 0);
        }
    }
    clef_number_mode_restore(mode);
}

/* ---- life ---- */

clef_status clef_thread_pool_create(unsigned thread_count, clef_thread_pool **out,
                                    clef_error *error) {
    *out = NULL;
    size_t bytes = sizeof(clef_thread_pool) + (thread_count - 1) * sizeof(helper);
    clef_thread_pool *pool = clef_allocate_aligned(1, bytes);
    if (pool == NULL) {
        return clef_fail_memory(error, bytes, "a pool of threads");
    }
    *pool = (clef_thread_pool){.size = 1, .process = getpid(), .caller_losses = lost_cpus()};
    pthread_mutex_init(&pool->sleep, NULL);
    pthread_mutex_init(&pool->turn, NULL);
    for (int role = 0; role < ROLES; role++) {
        pthread_cond_init(&pool->woken[role], NULL);
    }
    for (; pool->size < thread_count; pool->size++) {
        helper *self = &pool->helpers[pool->size - 1];
        *self = (helper){.pool = pool, .worker = pool->size};
        if (!clef_thread_start(&self->thread, help, self)) {
            clef_status status =
                clef_fail(error, CLEF_OUT_OF_MEMORY,
                          "the system gives %u of %u threads; a limit on processes (ulimit -u), on "
                          "memory (ulimit -v) or of the container stops it",
                          pool->size, thread_count);
            clef_thread_pool_close(pool);
            return status;
        }
    }
    *out = pool;
    return CLEF_OK;
}

void clef_thread_pool_close(clef_thread_pool *pool) {
    if (pool == NULL) {
        return;
    }
    if (pool->process != getpid()) {
        clef_release(pool); /* nobody to wait for; the locks may stand as a helper left them */
        return;
    }
    pool->run = NULL;
    open_gate(pool, pool->size);
    for (unsigned i = 1; i < pool->size; i++) {
        pthread_join(pool->helpers[i - 1].thread, NULL);
    }
    for (int role = 0; role < ROLES; role++) {
        pthread_cond_destroy(&pool->woken[role]);
    }
    pthread_mutex_destroy(&pool->turn);
    pthread_mutex_destroy(&pool->sleep);
    clef_release(pool);
}
