/* Asks the kernel; control groups of version 2 as a container sees them, at the root of its tree.
 */
#include "base/machine.h"

#include <sched.h>
#include <stdio.h>

#define GROUP "/sys/fs/cgroup/"

/* Up to two numbers at the start of a file; returns how many there are ("max" is none). */
static int read_numbers(const char *path, unsigned long long numbers[2]) {
    char line[64];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    int found = fgets(line, sizeof line, file) != NULL
                    ? sscanf(line, "%llu %llu", &numbers[0], &numbers[1])
                    : 0;
    fclose(file);
    return found > 0 ? found : 0;
}

unsigned clef_machine_cpus(void) {
    cpu_set_t allowed;
    unsigned count = 1;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        int cpus = CPU_COUNT(&allowed);
        count = cpus > 0 ? (unsigned)cpus : 1;
    }
    unsigned long long quota[2];
    if (read_numbers(GROUP "cpu.max", quota) == 2 && quota[0] > 0 && quota[1] > 0) {
        unsigned long long cpus = (quota[0] + quota[1] - 1) / quota[1];
        count = cpus < count ? (unsigned)cpus : count;
    }
    return count;
}
