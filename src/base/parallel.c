/* Adapter: OpenMP. */
#include "base/parallel.h"

#include <omp.h>

void clef_parallel_for(unsigned thread_count, size_t task_count, clef_task *run, void *context) {
    if (thread_count > task_count) {
        thread_count = (unsigned)task_count;
    }
    if (thread_count <= 1) {
        for (size_t task = 0; task < task_count; task++) {
            run(context, task, 0);
        }
        return;
    }
    /* Dynamic: tasks differ in size (attention rows, tails), and which thread runs one is free. */
#pragma omp parallel for schedule(dynamic, 1) num_threads(thread_count)
    for (size_t task = 0; task < task_count; task++) {
        run(context, task, (unsigned)omp_get_thread_num());
    }
}
