/* What the bench found, as a table, as CSV or as JSON lines. Numbers with a unit are in the unit of
 * their name; shares are between 0 and 1 but in the table. */
#ifndef CLEF_CLI_BENCH_REPORT_H
#define CLEF_CLI_BENCH_REPORT_H

#include "base/buffer.h"
#include "cli/settings.h"

#include <clef/measure.h>

/* What all cases of a run have in common. Texts are borrowed. */
typedef struct clef_bench_subject {
    clef_text shape;
    const char *precision;
    const char *level;
    bool measures_patches; /* a picture through the vision tower, not tokens */
    uint32_t layer_count;  /* of layers, or of the tower's blocks */
    uint32_t thread_count;
    uint32_t sequence_count;
    uint32_t repeat_count;
} clef_bench_subject;

typedef struct clef_bench_case {
    uint32_t size;          /* tokens of a sequence, or patches of a picture */
    clef_measured measured; /* the run with the median time */
    double peak;            /* operations a second of the type of the matrix products */
    double read_speed;      /* bytes a second, around that run */
    uint64_t peak_memory_bytes;
} clef_bench_case;

/* What stands before the cases: headings, or nothing. */
void clef_bench_report_begin(clef_buffer *out, clef_report_choice form,
                             const clef_bench_subject *subject);

void clef_bench_report_case(clef_buffer *out, clef_report_choice form,
                            const clef_bench_subject *subject, const clef_bench_case *found);

/* The peaks of the machine alone; `peaks` [CLEF_PEAK_COUNT] a second. */
void clef_bench_report_machine(clef_buffer *out, clef_report_choice form, const char *level,
                               uint32_t thread_count, const double *peaks);

#endif
