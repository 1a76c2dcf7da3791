/* Monotonic time. */
#ifndef CLEF_BASE_CLOCK_H
#define CLEF_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment. */
uint64_t clef_clock_ns(void);

#endif
