/* Writing to standard output and standard error, every byte checked: a full disk is an error, a
 * reader that has gone away ends the program quietly. Nothing else in the program writes results.
 */
#ifndef CLEF_CLI_OUTPUT_H
#define CLEF_CLI_OUTPUT_H

#include "base/buffer.h"

/* Writes all of text to standard output. CLEF_CANCELLED with an empty message when the reader is
 * gone, CLEF_INTERNAL with the system's reason otherwise. */
clef_status clef_output_write(clef_text text, clef_error *error);

/* As clef_output_write, for a buffer that was built and may have failed on the way. */
clef_status clef_output_write_buffer(const clef_buffer *buffer, clef_error *error);

/* Closes standard output, so that an error the system kept back is seen. */
clef_status clef_output_close(clef_error *error);

/* Writes to standard error; there is nobody to tell when that fails. */
void clef_output_note(clef_text text);

#endif
