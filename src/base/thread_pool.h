/* Threads that share out the tasks of one call at a time. Tasks never share a sum, so the number of
 * threads cannot change a result. */
#ifndef CLEF_BASE_THREAD_POOL_H
#define CLEF_BASE_THREAD_POOL_H

#include "base/error.h"

#include <stddef.h>

#define CLEF_THREAD_LIMIT 1024

typedef struct clef_thread_pool clef_thread_pool;

/* task runs from 0 to task_count - 1, in any order; worker < clef_thread_pool_size names the
 * thread, for scratch of its own. */
typedef void clef_task(void *context, size_t task, unsigned worker);

/* thread_count: 1 to CLEF_THREAD_LIMIT, the calling one included, so one less are started; they
 * wait without keeping a CPU from others. CLEF_OUT_OF_MEMORY when the system gives fewer. */
clef_status clef_thread_pool_create(unsigned thread_count, clef_thread_pool **out,
                                    clef_error *error);
/* Not while tasks run. pool may be NULL. */
void clef_thread_pool_close(clef_thread_pool *pool);

/* Threads with the caller's; 1 for NULL. */
unsigned clef_thread_pool_size(const clef_thread_pool *pool);

/* Runs all tasks on at most `limit` threads of the pool, the caller's among them, and returns when
 * all are done. Any thread may call, but no task; who calls while others do works alone, as all do
 * with a pool of NULL. Inside a task, on any thread, fp32 and fp64 numbers too small to be normal
 * count as zero. */
void clef_thread_pool_run(clef_thread_pool *pool, unsigned limit, size_t task_count, clef_task *run,
                          void *context);

#endif
