/* Help texts, made from the command table and the option rows, wrapped to a width. */
#ifndef CLEF_CLI_HELP_H
#define CLEF_CLI_HELP_H

#include "cli/command.h"

/* What `clef --help` prints: the commands. */
void clef_help_append_overview(clef_buffer *out, const clef_command *const *commands,
                               unsigned columns);

/* What `clef NAME --help` prints. */
void clef_help_append_command(clef_buffer *out, const clef_command *command, unsigned columns);

/* What `clef --help-environment` prints. */
void clef_help_append_environment(clef_buffer *out, unsigned columns);

#endif
