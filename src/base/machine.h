/* CPUs this process may use, by affinity and control group. */
#ifndef CLEF_BASE_MACHINE_H
#define CLEF_BASE_MACHINE_H

/* CPUs by affinity mask and control-group quota (rounded up), at least 1. */
unsigned clef_machine_cpus(void);

#endif
