/* The short form of a request: the options --state, --noul, --choice and --score become the JSON
 * that a request file would hold. Checks the form of the options, not the limits of requests. */
#ifndef CLEF_CLI_REQUEST_BUILDER_H
#define CLEF_CLI_REQUEST_BUILDER_H

#include "cli/settings.h"

/* The grammar, for help. */
#define CLEF_REQUEST_BUILDER_GRAMMAR                                                               \
    "A request without JSON is one --state, or pictures and videos, or both, and any number of "   \
    "--noul, --choice and --score, which are asked in the order of the command line:\n"            \
    "\n"                                                                                           \
    "  --noul   [ID=]QUESTION\n"                                                                   \
    "  --choice [ID=][QUESTION;]OPTION[:DESCRIPTION],...\n"                                        \
    "  --score  [ID=][QUESTION;]LEVEL,...\n"                                                       \
    "\n"                                                                                           \
    "An ID holds no blank and none of = ; : , and stands directly before its =. Without an ID "    \
    "the "                                                                                         \
    "questions are called q1, q2, and so on. Blanks around each part are dropped. A backslash "    \
    "before = ; : , or another backslash takes that character literally."

/* Appends the request for `model_name`. Reads the state's file or standard input. CLEF_USAGE for an
 * option that does not follow the grammar. */
clef_status clef_request_build(const clef_settings *settings, clef_text model_name,
                               clef_buffer *body, clef_error *error);

#endif
