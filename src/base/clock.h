/* Time: one clock for durations, one for dates. */
#ifndef CLEF_BASE_CLOCK_H
#define CLEF_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment. */
uint64_t clef_clock_ns(void);

/* Nanoseconds since 1970, as files are dated; may jump. */
uint64_t clef_clock_epoch_ns(void);

#endif
