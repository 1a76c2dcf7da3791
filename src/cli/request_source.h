/* Where the request of `ask` and `encode` comes from: a file, standard input, or the options of the
 * short form; and which of these do not go together. */
#ifndef CLEF_CLI_REQUEST_SOURCE_H
#define CLEF_CLI_REQUEST_SOURCE_H

#include "cli/workplace.h"

/* CLEF_USAGE for options that contradict each other. */
clef_status clef_request_source_check(const clef_settings *settings, clef_error *error);

/* Appends the one request as JSON; needs the name of the model that clef_workplace_find found. */
clef_status clef_request_source_read(const clef_settings *settings, const clef_workplace *workplace,
                                     clef_buffer *body, clef_error *error);

#endif
