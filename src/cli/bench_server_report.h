/* What was measured at a server, as a table, as CSV or as JSON lines. */
#ifndef CLEF_CLI_BENCH_SERVER_REPORT_H
#define CLEF_CLI_BENCH_SERVER_REPORT_H

#include "base/buffer.h"
#include "cli/settings.h"

/* What all rows of a run have in common. Texts are borrowed; empty: the server does not say. */
typedef struct clef_bench_target {
    const char *authority; /* host and port */
    clef_text served;      /* what really answers */
    clef_text precision, level;
    char day[16]; /* "2026-12-01" */
    uint32_t repeat_count;
} clef_bench_target;

/* A row: one latency, or one throughput. Times of answered requests, by nearest rank; NAN where
 * there is none. */
typedef struct clef_bench_row {
    bool is_throughput;
    const char *scenario;
    size_t question_count;
    const char *state; /* "new", "repeated", or "distinct": several of them in turn */
    uint32_t state_count;
    uint32_t client_count;
    uint32_t request_count, failed_count;
    uint64_t input_tokens; /* the median; 0: the server does not say */
    double seconds;
    double wall_p50_ms, wall_p95_ms, wall_p99_ms;
    double model_p50_ms, model_p95_ms, model_p99_ms;
} clef_bench_row;

/* What stands before all rows. */
void clef_bench_server_report_begin(clef_buffer *out, clef_report_choice form,
                                    const clef_bench_target *target);
/* What stands before the latencies, or before the throughputs. */
void clef_bench_server_report_part(clef_buffer *out, clef_report_choice form, bool is_throughput);

/* One scenario with new and with repeated states. */
void clef_bench_server_report_latency(clef_buffer *out, clef_report_choice form,
                                      const clef_bench_target *target, const clef_bench_row *fresh,
                                      const clef_bench_row *repeated);
void clef_bench_server_report_throughput(clef_buffer *out, clef_report_choice form,
                                         const clef_bench_target *target,
                                         const clef_bench_row *row);

#endif
