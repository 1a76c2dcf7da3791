/* The one file that calls getenv. */
#include "cli/environment.h"

#include <stdlib.h>
#include <unistd.h>

static const clef_environment_entry entries[] = {
    {"CLEF_MODEL", "Model directory when --model is not given."},
    {"CLEF_THREADS", "Number of threads when --threads is not given."},
    {"CLEF_CPU_LEVEL", "Highest level of CPU instructions when --cpu-level is not given."},
    {"NO_COLOR", "Set to anything but the empty string: no colour."},
    {"TERM", "\"dumb\" or unset: no colour and no progress line."},
    {"COLUMNS", "Width of tables and help in columns; otherwise the terminal is asked."},
    {"LC_ALL, LC_CTYPE, LANG", "The first that is set tells whether the terminal shows UTF-8."},
    {"OMP_WAIT_POLICY, GOMP_SPINCOUNT",
     "Whether waiting threads sleep (passive) or spin (active); passive when neither is set."},
    {NULL, NULL},
};

static const char *read_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void clef_environment_read(clef_environment *environment) {
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

void clef_environment_let_threads_sleep(char **arguments) {
    if (getenv("OMP_WAIT_POLICY") == NULL && getenv("GOMP_SPINCOUNT") == NULL &&
        setenv("OMP_WAIT_POLICY", "passive", 0) == 0) {
        execv("/proc/self/exe", arguments);
    }
}

const clef_environment_entry *clef_environment_list(void) {
    return entries;
}
