/* Adapter: OpenMP. */
#include "base/parallel.h"

#include <omp.h>

/* Subnormal numbers: decays of the delta rule run into them, and processors take some hundred
 * cycles for each operation that meets one. Both functions exchange the calling thread's mode. */
#if defined(__SSE2__)
#include <xmmintrin.h>

typedef unsigned number_mode;

static number_mode flush_subnormals(void) {
    number_mode before = _mm_getcsr();
    _mm_setcsr(before | 0x8040u); /* results to zero, operands to zero */
    return before;
}

static void restore_mode(number_mode mode) {
    _mm_setcsr(mode);
}
#elif defined(__aarch64__)
typedef unsigned long number_mode;

static number_mode flush_subnormals(void) {
    number_mode before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 1ul << 24));
    return before;
}

static void restore_mode(number_mode mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
typedef int number_mode;

static number_mode flush_subnormals(void) {
    return 0;
}

static void restore_mode(number_mode mode) {
    (void)mode;
}
#endif

static void run_alone(size_t task_count, clef_task *run, void *context) {
    number_mode mode = flush_subnormals();
    for (size_t task = 0; task < task_count; task++) {
        run(context, task, 0);
    }
    restore_mode(mode);
}

void clef_parallel_for(unsigned thread_count, size_t task_count, clef_task *run, void *context) {
    if (thread_count > task_count) {
        thread_count = (unsigned)task_count;
    }
    if (thread_count <= 1) {
        run_alone(task_count, run, context);
        return;
    }
#pragma omp parallel num_threads(thread_count)
    {
        number_mode mode = flush_subnormals();
        unsigned worker = (unsigned)omp_get_thread_num();
        /* Dynamic: tasks differ in size (attention rows, tails), and which thread runs one is free.
         */
#pragma omp for schedule(dynamic, 1)
        for (size_t task = 0; task < task_count; task++) {
            run(context, task, worker);
        }
        restore_mode(mode);
    }
}
