/* Errors about files of a model directory: one form, "<file>: <what is wrong>", with the whole path
 * as the error's place. */
#ifndef CLEF_WEIGHTS_BAD_FILE_H
#define CLEF_WEIGHTS_BAD_FILE_H

#include "base/error.h"

/* CLEF_BAD_FILE; the message (printf style) begins with the last part of `path`. */
clef_status clef_bad_file_fail(clef_error *error, const char *path, const char *format, ...)
    CLEF_PRINTF(3, 4);

/* Turns the failure of a JSON reader on `what` ("the header") of the file `path` into
 * CLEF_BAD_FILE; CLEF_OUT_OF_MEMORY stays. Returns the new status. */
clef_status clef_bad_file_from_json(clef_error *error, clef_status status, const char *path,
                                    const char *what);

#endif
