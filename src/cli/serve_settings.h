/* From command line and environment to the options of the server. */
#ifndef CLEF_CLI_SERVE_SETTINGS_H
#define CLEF_CLI_SERVE_SETTINGS_H

#include "cli/model_identity.h"
#include "cli/model_release.h"
#include "cli/workplace.h"
#include "server/server.h"

/* What the options of the server borrow. Zero-initialised holds nothing. */
typedef struct clef_serve_texts {
    clef_settings settings; /* the command line, filled up from the environment */
    clef_environment environment;
    clef_buffer names;
    clef_buffer keys;
    char revision[CLEF_MODEL_IDENTITY_BYTES];
    clef_model_release release;
} clef_serve_texts;

/* The settings that the environment completes: the command line beats it. CLEF_USAGE naming the
 * variable that is not understood. */
clef_status clef_serve_settings_complete(const clef_invocation *invocation, clef_serve_texts *texts,
                                         clef_error *error);

/* Fills everything but the record options and the callback. CLEF_USAGE, CLEF_BAD_FILE. */
clef_status clef_serve_settings_read(clef_serve_texts *texts, clef_server_options *options,
                                     clef_error *error);

void clef_serve_texts_release(clef_serve_texts *texts);

#endif
