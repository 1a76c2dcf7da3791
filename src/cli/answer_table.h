/* An answer as a table for people: a line for each question, a line with a bar for each option. */
#ifndef CLEF_CLI_ANSWER_TABLE_H
#define CLEF_CLI_ANSWER_TABLE_H

#include "cli/terminal.h"

#include <clef/clef.h>

/* Appends the table as wide as the terminal and no wider. CLEF_OUT_OF_MEMORY. */
clef_status clef_answer_table_append(clef_buffer *out, const clef_answer *answer,
                                     const clef_terminal *terminal, clef_confidence confidence,
                                     clef_error *error);

#endif
