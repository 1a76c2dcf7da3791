/* Ctrl-C as a question that long work asks between two steps. */
#ifndef CLEF_CLI_INTERRUPT_H
#define CLEF_CLI_INTERRUPT_H

#include "base/error.h"

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are remembered instead of ending the process; a second one ends
 * it. */
void clef_interrupt_watch(void);

bool clef_interrupt_seen(void);

/* CLEF_CANCELLED with its message. */
clef_status clef_interrupt_fail(clef_error *error);

#endif
