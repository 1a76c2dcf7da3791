/* Threads: the only file pair that names OpenMP. Work is split into tasks that never share a sum,
 * so the number of threads cannot change a result. */
#ifndef CLEF_BASE_PARALLEL_H
#define CLEF_BASE_PARALLEL_H

#include <stddef.h>

#define CLEF_THREAD_LIMIT 1024

/* task runs from 0 to task_count - 1, in any order; worker < thread_count names the thread, for
 * scratch of its own. */
typedef void clef_task(void *context, size_t task, unsigned worker);

/* Runs all tasks on at most thread_count threads (at least 1) and returns when all are done. Inside
 * a task, on any thread, fp32 and fp64 numbers too small to be normal count as zero. */
void clef_parallel_for(unsigned thread_count, size_t task_count, clef_task *run, void *context);

#endif
