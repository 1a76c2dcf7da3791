/* The environment, read in one place and once. Every variable the program looks at is a field here
 * and a row of the list that `clef --help-environment` prints. */
#ifndef CLEF_CLI_ENVIRONMENT_H
#define CLEF_CLI_ENVIRONMENT_H

#include "base/buffer.h"

/* Values, borrowed from the process; NULL when unset or empty. */
typedef struct clef_environment {
    const char *model;                /* CLEF_MODEL */
    const char *threads;              /* CLEF_THREADS */
    const char *cpu_level;            /* CLEF_CPU_LEVEL */
    const char *hf_model;             /* HF_MODEL */
    const char *host;                 /* CLEF_HOST */
    const char *port;                 /* CLEF_PORT */
    const char *log;                  /* CLEF_LOG */
    const char *api_key;              /* CLEF_API_KEY */
    const char *model_names;          /* CLEF_MODEL_NAMES */
    const char *revision;             /* CLEF_REVISION */
    const char *state_tokens;         /* CLEF_MAX_STATE */
    const char *schema_tokens;        /* CLEF_MAX_TAIL */
    const char *truncate;             /* CLEF_TRUNCATE_STATES */
    const char *warm_up;              /* CLEF_WARMUP */
    const char *prefix_cache_entries; /* CLEF_PREFIX_CACHE */
    const char *fake_engine;          /* CLEF_FAKE_ENGINE */
    const char *remote_images;        /* CLEF_ALLOW_REMOTE_IMAGES */
    const char *ignored;              /* the first variable that is set and means nothing here */
    bool has_empty_api_key;           /* CLEF_API_KEY is set, to nothing */
    const char *no_colour;            /* NO_COLOR */
    const char *terminal;             /* TERM */
    const char *columns;              /* COLUMNS */
    const char *locale;               /* the first set of LC_ALL, LC_CTYPE, LANG */
} clef_environment;

typedef struct clef_environment_entry {
    const char *name;
    const char *help;
} clef_environment_entry;

void clef_environment_read(clef_environment *environment);

/* The list of variables, ended by a NULL name; static. */
const clef_environment_entry *clef_environment_list(void);

#endif
