/* Requests that are compared between servers: five fixed texts with known numbers of tokens. They
 * are the files of bench/scenarios, compiled in; each file is a whole request. */
#ifndef CLEF_CLI_BENCH_SCENARIOS_H
#define CLEF_CLI_BENCH_SCENARIOS_H

#include "base/json.h"

/* A request that is asked for one ticket after the other. Zero-initialised is a closed one. */
typedef struct clef_bench_scenario {
    const char *name;
    uint32_t throughput_count; /* requests of a pass with many clients; 0: there is none */
    size_t question_count;
    clef_text model; /* the name that requests carry; borrowed */
    clef_buffer state_json, questions_json;
} clef_bench_scenario;

/* Names of all scenarios, separated by ", "; static. */
const char *clef_bench_scenario_names(void);

#define CLEF_BENCH_SCENARIO_COUNT 5

/* Scenario `index` of CLEF_BENCH_SCENARIO_COUNT. CLEF_OUT_OF_MEMORY. */
clef_status clef_bench_scenario_open(size_t index, const char *model, clef_bench_scenario *scenario,
                                     clef_error *error);
void clef_bench_scenario_close(clef_bench_scenario *scenario);

/* The place of the scenario of that name, or CLEF_BENCH_SCENARIO_COUNT. */
size_t clef_bench_scenario_find(clef_text name);

/* Appends the request as JSON. Its state begins with "Ticket <ticket>. ", which makes another state
 * of it, unless the ticket is 0. */
void clef_bench_scenario_write(const clef_bench_scenario *scenario, uint64_t ticket,
                               clef_buffer *out);

#endif
