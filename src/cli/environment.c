/* The one file that calls getenv. */
#include "cli/environment.h"

#include <stdlib.h>
#include <unistd.h>

static const clef_environment_entry entries[] = {
    {"CLEF_MODEL", "Model directory when --model is not given."},
    {"CLEF_THREADS", "Number of threads when --threads is not given."},
    {"CLEF_CPU_LEVEL", "Highest level of CPU instructions when --cpu-level is not given."},
    {"HF_MODEL", "serve: model directory when neither --model nor CLEF_MODEL is given."},
    {"CLEF_HOST", "serve: address to listen on when --host is not given."},
    {"CLEF_PORT", "serve: port when --port is not given."},
    {"CLEF_LOG", "serve: file of the access log when --log is not given."},
    {"CLEF_API_KEY",
     "serve: a key that clients must send, beside those of --api-key. bench: the key "
     "to send when --api-key is not given."},
    {"CLEF_MODEL_NAMES", "serve: names of the model when --model-names is not given."},
    {"CLEF_REVISION", "serve: the commit that the model must be of when --revision is not given."},
    {"CLEF_MAX_STATE", "serve: token limit of the state when --max-state-tokens is not given."},
    {"CLEF_MAX_TAIL",
     "serve: token limit of the questions when --max-schema-tokens is not given. With "
     "CLEF_MAX_STATE set too, a request may have as many tokens as both together."},
    {"CLEF_TRUNCATE_STATES", "serve: 1 acts as --truncate."},
    {"CLEF_PREFIX_CACHE", "serve: --prefix-cache-entries when that is not given."},
    {"CLEF_WARMUP", "serve: 0 acts as --warmup off."},
    {"CLEF_FAKE_ENGINE", "serve: 1 acts as --fake-engine."},
    {"CLEF_ALLOW_REMOTE_IMAGES", "serve: 1 acts as --remote-images."},
    {"CLEF_PLANNER, CLEF_TRACED, CLEF_VISION_WARM_GRID, CLEF_TRACE_REGION, QWEN_GDN_CONV, "
     "CLEF_PRECISION, CLEF_MESH_SHAPE, MESH_DEVICE, CLEF_PARENT_MESH, CLEF_SUBMESH_OFFSET, "
     "CLEF_FAKE_WORKERS, QWEN36_...",
     "serve: settings of other servers; ignored, with a warning."},
    {"NO_COLOR", "Set to anything but the empty string: no colour."},
    {"TERM", "\"dumb\" or unset: no colour and no progress line."},
    {"COLUMNS", "Width of tables and help in columns; otherwise the terminal is asked."},
    {"LC_ALL, LC_CTYPE, LANG", "The first that is set tells whether the terminal shows UTF-8."},
    {NULL, NULL},
};

static const char *read_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Settings of accelerators that other servers of the same models read. */
static const char *find_ignored(void) {
    static const char *const names[] = {
        "CLEF_PLANNER",     "CLEF_TRACED",         "CLEF_VISION_WARM_GRID", "CLEF_TRACE_REGION",
        "QWEN_GDN_CONV",    "CLEF_PRECISION",      "CLEF_MESH_SHAPE",       "MESH_DEVICE",
        "CLEF_PARENT_MESH", "CLEF_SUBMESH_OFFSET", "CLEF_FAKE_WORKERS",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i += 1) {
        if (read_variable(names[i]) != NULL) {
            return names[i];
        }
    }
    for (char **variable = environ; *variable != NULL; variable += 1) {
        if (strncmp(*variable, "QWEN36_", 7) == 0) {
            return "QWEN36_...";
        }
    }
    return NULL;
}

void clef_environment_read(clef_environment *environment) {
    environment->hf_model = read_variable("HF_MODEL");
    environment->host = read_variable("CLEF_HOST");
    environment->port = read_variable("CLEF_PORT");
    environment->log = read_variable("CLEF_LOG");
    environment->api_key = read_variable("CLEF_API_KEY");
    environment->has_empty_api_key = environment->api_key == NULL && getenv("CLEF_API_KEY") != NULL;
    environment->model_names = read_variable("CLEF_MODEL_NAMES");
    environment->revision = read_variable("CLEF_REVISION");
    environment->state_tokens = read_variable("CLEF_MAX_STATE");
    environment->schema_tokens = read_variable("CLEF_MAX_TAIL");
    environment->truncate = read_variable("CLEF_TRUNCATE_STATES");
    environment->prefix_cache_entries = read_variable("CLEF_PREFIX_CACHE");
    environment->warm_up = read_variable("CLEF_WARMUP");
    environment->fake_engine = read_variable("CLEF_FAKE_ENGINE");
    environment->remote_images = read_variable("CLEF_ALLOW_REMOTE_IMAGES");
    environment->ignored = find_ignored();
    environment->model = read_variable("CLEF_MODEL");
    environment->threads = read_variable("CLEF_THREADS");
    environment->cpu_level = read_variable("CLEF_CPU_LEVEL");
    environment->no_colour = read_variable("NO_COLOR");
    environment->terminal = read_variable("TERM");
    environment->columns = read_variable("COLUMNS");
    environment->locale = read_variable("LC_ALL");
    if (environment->locale == NULL) {
        environment->locale = read_variable("LC_CTYPE");
    }
    if (environment->locale == NULL) {
        environment->locale = read_variable("LANG");
    }
}

const clef_environment_entry *clef_environment_list(void) {
    return entries;
}
