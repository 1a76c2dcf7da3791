/* Errors as people and programs read them: a line on standard error, or the object that the server
 * puts into a 422 reply. */
#ifndef CLEF_CLI_REPORT_H
#define CLEF_CLI_REPORT_H

#include "base/buffer.h"

/* Appends {"type":…,"loc":[…],"msg":…}. Faults of a request have a loc that starts with "body". */
void clef_report_append_json(clef_buffer *out, const clef_error *error);

/* Writes the error to standard error, as "clef: <message>" without control characters, followed by
 * `hint` on its own line when that is not NULL; or as one line of JSON. An error with an empty
 * message (a reader that went away) writes nothing. */
void clef_report_error(const clef_error *error, const char *hint, bool as_json);

/* Writes one line "clef: …" (printf style) to standard error. */
void clef_report_note(const char *format, ...) CLEF_PRINTF(1, 2);

#endif
