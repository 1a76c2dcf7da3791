/* Work is cut into several tasks a thread, so that a thread which wakes up late, or loses its CPU
 * for a moment, leaves its share to others and not the whole run waiting. */
#include "backend/cpu/machine_peak.h"

#include "base/clock.h"
#include "base/memory.h"

#define RUNS             5
#define TASKS_PER_THREAD 4
#define SHORTEST_RUN_NS  4000000u
/* Of the first run: some milliseconds, so that a thread that starts late does not decide it. */
#define FIRST_BLOCKS   4096
#define WORDS_PER_TASK ((size_t)1 << 18)

typedef struct peak_work {
    clef_machine_peak *peak;
    clef_machine_peak_kind kind;
} peak_work;

static void multiply(void *context, size_t task, unsigned worker) {
    static const int8_t pair[2] = {1, 1};
    const peak_work *work = context;
    const clef_kernel_table *kernels = &work->peak->kernels;
    double sum;
    (void)task;
    (void)worker;
    switch (work->kind) {
    case CLEF_MACHINE_PEAK_FMA:
        kernels->peak_fma(work->peak->blocks[work->kind], pair, &sum);
        break;
    case CLEF_MACHINE_PEAK_BF16_DOT:
        kernels->peak_bf16_dot(work->peak->blocks[work->kind], pair, &sum);
        break;
    case CLEF_MACHINE_PEAK_INT8_DOT:
        kernels->peak_int8_dot(work->peak->blocks[work->kind], pair, &sum);
        break;
    case CLEF_MACHINE_PEAK_READ:
    case CLEF_MACHINE_PEAK_COUNT:
        break;
    }
}

static void read_words(void *context, size_t task, unsigned worker) {
    const peak_work *work = context;
    const clef_machine_peak *peak = work->peak;
    size_t begin = task * WORDS_PER_TASK;
    size_t left = peak->word_count - begin;
    double sum;
    (void)worker;
    peak->kernels.peak_read(peak->words + begin, left < WORDS_PER_TASK ? left : WORDS_PER_TASK,
                            &sum);
}

/* Writing every page is what makes it memory of its own; numbers do not matter. */
static void fill_words(void *context, size_t task, unsigned worker) {
    clef_machine_peak *peak = context;
    size_t end = (task + 1) * WORDS_PER_TASK;
    (void)worker;
    for (size_t i = task * WORDS_PER_TASK; i < end && i < peak->word_count; i++) {
        peak->words[i] = (uint32_t)i;
    }
}

static size_t count_read_tasks(const clef_machine_peak *peak) {
    return (peak->word_count + WORDS_PER_TASK - 1) / WORDS_PER_TASK;
}

clef_status clef_machine_peak_create(clef_level level, clef_thread_pool *pool, size_t read_bytes,
                                     clef_machine_peak *peak, clef_error *error) {
    *peak = (clef_machine_peak){.kernels = clef_kernel_table_of(level),
                                .pool = pool,
                                .word_count = read_bytes / sizeof *peak->words,
                                .blocks = {FIRST_BLOCKS, FIRST_BLOCKS, FIRST_BLOCKS, 0}};
    peak->words = clef_allocate_aligned(peak->word_count, sizeof *peak->words);
    if (peak->words == NULL) {
        return clef_fail_memory(error, read_bytes, "the bytes that measure reading");
    }
    clef_thread_pool_run(pool, CLEF_THREAD_LIMIT, count_read_tasks(peak), fill_words, peak);
    return CLEF_OK;
}

void clef_machine_peak_release(clef_machine_peak *peak) {
    clef_release(peak->words);
    *peak = (clef_machine_peak){0};
}

static double sample_reading(clef_machine_peak *peak) {
    peak_work work = {peak, CLEF_MACHINE_PEAK_READ};
    double best = 0;
    for (int run = 0; run < RUNS; run++) {
        uint64_t start = clef_clock_ns();
        clef_thread_pool_run(peak->pool, CLEF_THREAD_LIMIT, count_read_tasks(peak), read_words,
                             &work);
        uint64_t elapsed = clef_clock_ns() - start;
        double rate = (double)(peak->word_count * sizeof *peak->words) / ((double)elapsed * 1e-9);
        best = rate > best ? rate : best;
    }
    return best;
}

static double sample_operations(clef_machine_peak *peak, clef_machine_peak_kind kind) {
    peak_work work = {peak, kind};
    double best = 0;
    size_t tasks = (size_t)clef_thread_pool_size(peak->pool) * TASKS_PER_THREAD;
    size_t *blocks = &peak->blocks[kind];
    for (int run = 0; run < RUNS;) {
        uint64_t start = clef_clock_ns();
        clef_thread_pool_run(peak->pool, CLEF_THREAD_LIMIT, tasks, multiply, &work);
        uint64_t elapsed = clef_clock_ns() - start;
        if (elapsed < SHORTEST_RUN_NS && *blocks < CLEF_PEAK_BLOCK_LIMIT) {
            *blocks *= 2;
            continue;
        }
        double operations = 2.0 * CLEF_PEAK_BLOCK * (double)(*blocks * tasks);
        double rate = operations / ((double)elapsed * 1e-9);
        best = rate > best ? rate : best;
        run++;
    }
    return best;
}

double clef_machine_peak_sample(clef_machine_peak *peak, clef_machine_peak_kind kind) {
    double best =
        kind == CLEF_MACHINE_PEAK_READ ? sample_reading(peak) : sample_operations(peak, kind);
    peak->best[kind] = best > peak->best[kind] ? best : peak->best[kind];
    return best;
}
