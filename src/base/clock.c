/* Adapter: the system's clocks. */
#include "base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t clef_clock_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clef_clock_epoch_ns(void) {
    return read_clock(CLOCK_REALTIME);
}
