/* What all threads together can do at most, by the kernels of kernels/peak: short runs that keep
 * the best. Knows no model; whoever measures one takes runs of these between its own, because the
 * speed of a machine changes with time. */
#ifndef CLEF_BACKEND_CPU_MACHINE_PEAK_H
#define CLEF_BACKEND_CPU_MACHINE_PEAK_H

#include "backend/cpu/kernel_table.h"
#include "base/thread_pool.h"

typedef enum clef_machine_peak_kind {
    CLEF_MACHINE_PEAK_FMA,      /* operations a second, two a multiply-add */
    CLEF_MACHINE_PEAK_BF16_DOT, /* likewise */
    CLEF_MACHINE_PEAK_INT8_DOT, /* likewise */
    CLEF_MACHINE_PEAK_READ,     /* bytes a second */
    CLEF_MACHINE_PEAK_COUNT
} clef_machine_peak_kind;

typedef struct clef_machine_peak {
    clef_kernel_table kernels;
    clef_thread_pool *pool; /* or NULL */
    uint32_t *words; /* owned; what is read, too much for a cache; NULL: reading has no peak */
    size_t word_count;
    size_t blocks[CLEF_MACHINE_PEAK_COUNT]; /* of one task; grows until a run is long enough */
    double best[CLEF_MACHINE_PEAK_COUNT];   /* so far */
} clef_machine_peak;

/* Takes and fills `read_bytes` bytes to read. CLEF_OUT_OF_MEMORY. */
clef_status clef_machine_peak_create(clef_level level, clef_thread_pool *pool, size_t read_bytes,
                                     clef_machine_peak *peak, clef_error *error);
void clef_machine_peak_release(clef_machine_peak *peak);

/* A few short runs, some ten milliseconds each at most. Returns the best of them. */
double clef_machine_peak_sample(clef_machine_peak *peak, clef_machine_peak_kind kind);

#endif
