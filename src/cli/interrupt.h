/* Signals: Ctrl-C as a question that long work asks between two steps, and a last word for files
 * that are cut short while they are mapped. */
#ifndef CLEF_CLI_INTERRUPT_H
#define CLEF_CLI_INTERRUPT_H

#include "base/error.h"

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are remembered instead of ending the process; a second one ends
 * it. */
void clef_interrupt_watch(void);

/* A mapped model file that somebody cuts short while it is read ends the process with SIGBUS; from
 * now on it says so and exits as for a bad model file. */
void clef_interrupt_explain_lost_files(void);

bool clef_interrupt_seen(void);

/* CLEF_CANCELLED with its message. */
clef_status clef_interrupt_fail(clef_error *error);

#endif
