/* The manual page, made from the command table and the option rows. */
#ifndef CLEF_CLI_MANUAL_H
#define CLEF_CLI_MANUAL_H

#include "cli/command.h"

void clef_manual_append(clef_buffer *out, const clef_command *const *commands);

#endif
