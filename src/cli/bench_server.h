/* `clef bench --server`: latency and throughput of a server, as its clients see them. */
#ifndef CLEF_CLI_BENCH_SERVER_H
#define CLEF_CLI_BENCH_SERVER_H

#include "cli/command.h"

/* CLEF_USAGE; CLEF_NETWORK when the server cannot be reached, refuses, or answers something else.
 * What was measured before a failure has been printed. */
clef_status clef_bench_server_run(const clef_invocation *invocation, clef_error *error);

#endif
