/* Option rows of the bench. Texts here are the help, the completion and the manual page. */
#include "cli/option_list.h"

#include <stddef.h>

#define FIELD(name) .field = offsetof(clef_settings, name)
#define GROUP(title, rows)                                                                         \
    { title, rows, sizeof(rows) / sizeof(rows)[0] }

static const clef_option_row bench_rows[] = {
    {.name = "shape",
     .value = "NAME|DIR",
     .kind = CLEF_OPTION_TEXT,
     FIELD(shape),
     .minimum = 1,
     .completion = CLEF_COMPLETE_DIRECTORY,
     .help = "What is measured: qwen3.5-0.8b, clef-flash or clef, with weights by formula "
             "that need no files, or the directory of a model."},
    {.name = "layers",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(layer_count),
     .minimum = 1,
     .maximum = 1024,
     .help = "Only the first N layers; the time of a whole model grows with their number."},
    {.name = "tokens",
     .value = "N,...",
     .kind = CLEF_OPTION_TEXT,
     FIELD(tokens),
     .minimum = 1,
     .help = "Tokens of each sequence, one case for each number; 512 by default."},
    {.name = "patches",
     .value = "N,...",
     .kind = CLEF_OPTION_TEXT,
     FIELD(patches),
     .minimum = 1,
     .help = "In place of tokens: patches of one picture, one case for each number, through the "
             "vision tower alone; --layers counts its blocks."},
    {.name = "sequences",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(sequence_count),
     .minimum = 1,
     .maximum = 65536,
     .help = "Sequences that share the steps; 1 by default."},
    {.name = "rows",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(rows_per_step),
     .minimum = 1,
     .maximum = 65536,
     .help = "Tokens of one step, of all sequences together, rounded up to a multiple of 64; "
             "512 by default."},
    {.name = "precision",
     .words = "auto|f32|bf16|int8|int4|mixed",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(bench_precision),
     .help = "How numbers are computed. int8, int4 and mixed also say how the weights of a "
             "shape are stored, as \"clef quantize\" stores them; without them it is bf16."},
    {.name = "repeat",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(repeat_count),
     .minimum = 1,
     .maximum = 1000,
     .help = "Runs of each case behind one that warms up; the one with the median time is "
             "reported. 5 by default. With --server: requests of each latency, 20 by default."},
    {.name = "machine",
     .kind = CLEF_OPTION_FLAG,
     FIELD(wants_machine),
     .help = "Measure the peaks of this machine alone."},
};
const clef_option_group clef_options_bench = GROUP("What is measured", bench_rows);

static const clef_option_row bench_server_rows[] = {
    {.name = "server",
     .value = "URL",
     .kind = CLEF_OPTION_TEXT,
     FIELD(server),
     .minimum = 1,
     .help = "Measure this server: http://HOST[:PORT][/PATH], with or without /v1 at its end."},
    {.name = "model",
     .value = "NAME",
     .kind = CLEF_OPTION_TEXT,
     FIELD(request_model),
     .minimum = 1,
     .help = "The model that requests name; jev-latest by default."},
    {.name = "api-key",
     .value = "KEY",
     .kind = CLEF_OPTION_TEXT,
     FIELD(bench_api_key),
     .minimum = 1,
     .help = "Sent as \"Authorization: Bearer KEY\". Without it: $CLEF_API_KEY."},
    {.name = "scenarios",
     .value = "NAME,...",
     .kind = CLEF_OPTION_TEXT,
     FIELD(scenarios),
     .minimum = 1,
     .help = "Which requests are sent: triage, short-2, short-6, medium-5, long-5; all by default. "
             "Throughput is measured with short-6 and long-5."},
    {.name = "measure",
     .words = "all|latency|throughput",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(bench_measure),
     .help = "all, the default, is latency of all scenarios, then throughput."},
    {.name = "clients",
     .value = "N,...",
     .kind = CLEF_OPTION_TEXT,
     FIELD(clients),
     .minimum = 1,
     .help = "Clients at once, one throughput for each number; 1,8,32,64 by default."},
    {.name = "requests",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(pass_request_count),
     .minimum = 1,
     .maximum = 1000000,
     .help = "Requests of each pass of a throughput; 256 of short-6 and 64 of long-5 by default."},
    {.name = "timeout",
     .value = "SECONDS",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(timeout_seconds),
     .minimum = 1,
     .maximum = 86400,
     .help = "How long one request may take; 600 by default."},
};
const clef_option_group clef_options_bench_server = GROUP("A server", bench_server_rows);

static const clef_option_row report_rows[] = {
    {.name = "output",
     .words = "table|csv|json",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(report),
     .help = "table, the default, is for people. csv has a line of names first; json is one object "
             "a line."},
};
const clef_option_group clef_options_report = GROUP("Output", report_rows);
