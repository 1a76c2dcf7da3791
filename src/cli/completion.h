/* Shell completion scripts, made from the command table and the option rows. */
#ifndef CLEF_CLI_COMPLETION_H
#define CLEF_CLI_COMPLETION_H

#include "cli/command.h"

void clef_completion_append(clef_buffer *out, const clef_command *const *commands,
                            clef_shell_choice shell);

#endif
