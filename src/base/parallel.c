/* Adapter: OpenMP. */
#include "base/parallel.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

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

/* CPUs' worth of time a control group allows, rounded up; 0 when there is no limit. */
static unsigned quota_cpus(void) {
    char line[64];
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file == NULL) {
        return 0;
    }
    unsigned long long quota = 0, period = 0;
    int found =
        fgets(line, sizeof line, file) != NULL ? sscanf(line, "%llu %llu", &quota, &period) : 0;
    fclose(file);
    if (found != 2 || quota == 0 || period == 0) {
        return 0;
    }
    return (unsigned)((quota + period - 1) / period);
}

unsigned clef_cpu_count(void) {
    cpu_set_t allowed;
    unsigned count = 1;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        int cpus = CPU_COUNT(&allowed);
        count = cpus > 0 ? (unsigned)cpus : 1;
    }
    unsigned quota = quota_cpus();
    count = quota != 0 && quota < count ? quota : count;
    return count > CLEF_THREAD_LIMIT ? CLEF_THREAD_LIMIT : count;
}
