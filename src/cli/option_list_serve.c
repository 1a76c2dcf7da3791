/* Option rows of the server. Texts here are the help, the completion and the manual page. */
#include "cli/option_list.h"

#include <stddef.h>

#define FIELD(name) .field = offsetof(clef_settings, name)
#define GROUP(title, rows)                                                                         \
    { title, rows, sizeof(rows) / sizeof(rows)[0] }

static const clef_option_row serve_rows[] = {
    {.name = "host",
     .value = "HOST",
     .kind = CLEF_OPTION_TEXT,
     FIELD(host),
     .minimum = 1,
     .help = "Name or address to listen on; 127.0.0.1 by default, which only this machine can "
             "reach. 0.0.0.0 or :: is every address. Without it: $CLEF_HOST."},
    {.name = "port",
     .value = "N",
     .kind = CLEF_OPTION_TEXT,
     FIELD(port),
     .minimum = 1,
     .help = "Port to listen on; 8008 by default, 0 takes a free one and says which. Without it: "
             "$CLEF_PORT."},
    {.name = "api-key",
     .value = "KEY",
     .kind = CLEF_OPTION_LIST,
     FIELD(api_keys),
     .help = "A key that clients must send as \"Authorization: Bearer KEY\"; may be repeated. "
             "Other users of this machine can see it in the list of processes; --api-key-file and "
             "$CLEF_API_KEY do not have that fault. Without any key all requests are answered."},
    {.name = "api-key-file",
     .value = "FILE",
     .kind = CLEF_OPTION_TEXT,
     FIELD(api_key_file),
     .minimum = 1,
     .help = "A file with one key a line."},
    {.name = "open-metrics",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_open_metrics),
     .help = "Answer GET /metrics without a key."},
    {.name = "model-names",
     .value = "NAME,...",
     .kind = CLEF_OPTION_TEXT,
     FIELD(model_names),
     .minimum = 1,
     .help = "Names that the list of models shows; \"clef\" by default. Without it: "
             "$CLEF_MODEL_NAMES."},
    {.name = "strict-model",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_strict_model),
     .help = "Refuse requests that name another model, instead of answering them with this one."},
    {.name = "revision",
     .value = "COMMIT",
     .kind = CLEF_OPTION_TEXT,
     FIELD(revision),
     .minimum = 1,
     .help = "Serve the model only if the manifest in its directory names this commit; without a "
             "manifest there is a warning. Without it: $CLEF_REVISION."},
    {.name = "warmup",
     .words = "on|off",
     .kind = CLEF_OPTION_CHOICE,
     FIELD(warm_up),
     .minimum = CLEF_SWITCH_ON,
     .help = "Whether a request of its own is answered before the server says that it is ready; "
             "on by default. Without it: $CLEF_WARMUP."},
    {.name = "fake-engine",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_fake_engine),
     .help = "Answer with numbers made from the tokens instead of a model's: for tests of "
             "clients. Of the model only tokenizer.json is read. Also by $CLEF_FAKE_ENGINE=1."},
    {.name = "log",
     .value = "FILE",
     .kind = CLEF_OPTION_TEXT,
     FIELD(log),
     .minimum = 1,
     .help = "Write a line of JSON for each request to FILE, or to standard error for -. SIGHUP "
             "opens the file anew. Without it: $CLEF_LOG, else nothing is written."},
    {.name = "log-requests",
     .kind = CLEF_OPTION_FLAG,
     FIELD(logs_requests),
     .help = "Write the bodies of requests to the log too."},
};
const clef_option_group clef_options_serve = GROUP("Server", serve_rows);

#define SECONDS_ROW(option, target, most, text)                                                    \
    {                                                                                              \
        .name = (option), .value = "SECONDS", .kind = CLEF_OPTION_NUMBER, FIELD(target),           \
        .minimum = 1, .maximum = (most), .help = (text)                                            \
    }

static const clef_option_row serve_limit_rows[] = {
    {.name = "max-body-bytes",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(body_byte_limit),
     .minimum = 1,
     .maximum = UINT32_MAX,
     .help = "Bytes of a request body; 67108864 by default."},
    {.name = "max-connections",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(connection_limit),
     .minimum = 1,
     .maximum = 1000000,
     .help = "Connections at once, more have to wait; 512 by default."},
    {.name = "max-queue",
     .value = "N",
     .kind = CLEF_OPTION_NUMBER,
     FIELD(queue_limit),
     .minimum = 1,
     .maximum = 1000000,
     .help = "Requests that wait or run, more are refused with status 503; 256 by default."},
    SECONDS_ROW("queue-timeout", queue_seconds, 86400,
                "How long a request may wait for its turn; 300 by default."),
    SECONDS_ROW("header-timeout", head_seconds, 3600,
                "How long a client may take to send the head of a request; 10 by default."),
    SECONDS_ROW("body-timeout", body_seconds, 3600,
                "How long a client may take for some progress with a body or with reading a "
                "reply; 30 by default."),
    SECONDS_ROW("idle-timeout", idle_seconds, 86400,
                "How long a connection may stay open between requests; 75 by default."),
    SECONDS_ROW("drain-timeout", drain_seconds, 3600,
                "How long requests may go on when the server is told to stop; 20 by default."),
};
/* Texts where zero must differ from what was not said, or numbers are larger than 32 bits. */
static const clef_option_row serve_cache_rows[] = {
    {.name = "prefix-cache-bytes",
     .value = "N",
     .kind = CLEF_OPTION_TEXT,
     FIELD(prefix_cache_bytes),
     .minimum = 1,
     .help = "Memory for states of requests that may come again or go on; 0: none are kept; a "
             "quarter of the free memory by default."},
    {.name = "prefix-cache-entries",
     .value = "N",
     .kind = CLEF_OPTION_TEXT,
     FIELD(prefix_cache_entries),
     .minimum = 1,
     .help = "How many of them at most; 0: none are kept; as many as fit by default."},
    {.name = "prefix-cache-dir",
     .value = "DIR",
     .kind = CLEF_OPTION_TEXT,
     FIELD(prefix_cache_directory),
     .minimum = 1,
     .help = "Existing directory that keeps states over restarts too; one server at a time."},
    {.name = "cache-per-key",
     .kind = CLEF_OPTION_FLAG,
     FIELD(has_cache_per_key),
     .help = "Requests with different API keys share neither kept states nor computations, so that "
             "nobody learns from a fast answer what others asked."},
    {.name = "feature-cache-bytes",
     .value = "N",
     .kind = CLEF_OPTION_TEXT,
     FIELD(feature_cache_bytes),
     .minimum = 1,
     .help = "Memory for pictures and videos as the vision tower sees them, so that the same ones "
             "under another text take less time; 0: none are kept; a sixteenth of the free memory "
             "by default."},
};
const clef_option_group clef_options_serve_cache = GROUP("Kept states", serve_cache_rows);

const clef_option_group clef_options_serve_limits = GROUP("Limits", serve_limit_rows);
