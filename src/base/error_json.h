/* An error as JSON: the object that a 422 reply carries and that the program prints with --json. */
#ifndef CLEF_BASE_ERROR_JSON_H
#define CLEF_BASE_ERROR_JSON_H

#include "base/buffer.h"

/* Appends {"type":…,"loc":[…],"msg":…}. Faults of a request have a loc that starts with "body". */
void clef_error_write_json(clef_buffer *out, const clef_error *error);

/* Appends text as a JSON string; bytes that are no UTF-8 (names of files, arguments) as \xff. */
void clef_json_write_any_string(clef_buffer *out, clef_text text);

#endif
