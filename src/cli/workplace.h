/* What a command works with: the runtime, the opened model and the limits of requests, made from
 * settings and environment in one place. */
#ifndef CLEF_CLI_WORKPLACE_H
#define CLEF_CLI_WORKPLACE_H

#include "cli/command.h"
#include "cli/settings.h"

#include <clef/clef.h>

/* Zero-initialised is a valid closed workplace. */
typedef struct clef_workplace {
    clef_buffer directory; /* of the model; NUL at its end */
    clef_buffer name;      /* of the model */
    clef_runtime *runtime;
    clef_model *model;
    clef_record_options record_options; /* may point to remote_images */
    clef_remote_images remote_images;
    const char *remote_hosts[CLEF_ARGUMENT_LIST_LIMIT];
    uint16_t remote_ports[CLEF_ARGUMENT_LIST_LIMIT];
} clef_workplace;

/* Finds the model's directory and name, and reads the limits; opens nothing. */
clef_status clef_workplace_find(const clef_invocation *invocation, clef_workplace *workplace,
                                clef_error *error);

/* Creates the runtime alone. */
clef_status clef_workplace_start(const clef_invocation *invocation, clef_workplace *workplace,
                                 clef_error *error);

/* Creates the runtime and opens what clef_workplace_find found. */
clef_status clef_workplace_open(const clef_invocation *invocation, bool tokenizer_only,
                                clef_workplace *workplace, clef_error *error);

/* Adds the directory of a model to an error about its files, unless it is named there: the library
 * names files, people also need to know where. */
void clef_workplace_name_directory(const char *directory, clef_error *error);

void clef_workplace_close(clef_workplace *workplace);

#endif
