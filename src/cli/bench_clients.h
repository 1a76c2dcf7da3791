/* A pass of the serving benchmark: some clients ask a server a number of requests, each client one
 * at a time over a connection of its own. */
#ifndef CLEF_CLI_BENCH_CLIENTS_H
#define CLEF_CLI_BENCH_CLIENTS_H

#include "cli/bench_scenarios.h"
#include "cli/http_client.h"

typedef struct clef_bench_pass {
    const clef_http_server *server;
    const char *path; /* of decisions, behind that of the server's URL */
    const clef_bench_scenario *scenario;
    uint32_t client_count;
    uint32_t request_count;
    uint32_t state_count;  /* request i is about ticket first_ticket + i % state_count */
    uint64_t first_ticket; /* 0: all requests are about the same state, without a ticket */
} clef_bench_pass;

typedef struct clef_bench_result {
    bool is_answered;      /* 200 with answers to all questions; else the rest is zero */
    double wall_ms;        /* from the first byte sent to the last received, connecting included */
    double model_ms;       /* latency_ms of the answer; NAN when the server does not say */
    uint64_t input_tokens; /* usage.input_tokens; 0 when the server does not say */
} clef_bench_result;

typedef struct clef_bench_outcome {
    double seconds;
    uint32_t failed_count;
    clef_error first_failure; /* where failed_count > 0 */
} clef_bench_outcome;

/* Runs a pass; results[request_count] are filled in order of the requests. A request that the
 * server refuses counts as failed and the pass goes on; a server that cannot be reached, falls
 * silent or answers something else ends it with CLEF_NETWORK. CLEF_OUT_OF_MEMORY. */
clef_status clef_bench_pass_run(const clef_bench_pass *pass, clef_bench_result *results,
                                clef_bench_outcome *outcome, clef_error *error);

/* CLEF_NETWORK with what the last reply of the client, an error, says for people. */
clef_status clef_bench_explain_refusal(const clef_http_client *client, clef_error *error);

#endif
