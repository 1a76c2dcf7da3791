/* What this process may use of the machine: CPUs and memory, by affinity and control groups. */
#ifndef CLEF_BASE_MACHINE_H
#define CLEF_BASE_MACHINE_H

#include <stdint.h>

/* CPUs by affinity mask and control-group quota (rounded up), at least 1. */
unsigned clef_machine_cpus(void);

/* Bytes of memory this process may use in all: the control group's limit, else what is installed; 0
 * when neither can be told. */
uint64_t clef_machine_memory(void);

#endif
