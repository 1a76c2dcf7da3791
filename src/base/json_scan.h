/* Strings and numbers of a JSON text at an offset, and the errors of JSON. Private to layer base:
 * others read events (json_reader.h). The text must be valid UTF-8. */
#ifndef CLEF_BASE_JSON_SCAN_H
#define CLEF_BASE_JSON_SCAN_H

#include "base/arena.h"
#include "base/error.h"

/* Reads the string whose opening quote is at *offset and moves *offset behind it. `text` becomes a
 * slice of the input, or memory of `strings` when there are escapes. With strings NULL the escapes
 * are only checked and text is empty. */
clef_status clef_json_scan_string(clef_text input, size_t *offset, clef_arena *strings,
                                  clef_text *text, clef_error *error);

/* Reads the number that begins at *offset, moves *offset behind it; `text` is its spelling. */
clef_status clef_json_scan_number(clef_text input, size_t *offset, clef_text *text,
                                  clef_error *error);

/* CLEF_BAD_REQUEST of kind "json_invalid": "<what> at byte <offset>". */
clef_status clef_json_fail(clef_error *error, size_t offset, const char *what);

/* The same: "expected <what> at byte <offset>, found <what stands there>". */
clef_status clef_json_fail_expected(clef_error *error, clef_text input, size_t offset,
                                    const char *what);

#endif
