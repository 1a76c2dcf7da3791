/* The requests that --calibrate names: one a line as `clef ask --batch` reads them, all of them
 * good. What is measured on them is the library's matter. */
#ifndef CLEF_CLI_CALIBRATION_FILE_H
#define CLEF_CLI_CALIBRATION_FILE_H

#include "base/buffer.h"

#include <clef/clef.h>

/* Zero-initialised is a valid empty one. */
typedef struct clef_calibration_file {
    clef_record **records; /* owned; [count] */
    size_t count, capacity;
    clef_buffer source; /* "requests.jsonl sha256:…"; ends in NUL */
} clef_calibration_file;

/* Reads and encodes every line; blank ones are skipped, states that are too long are cut. Fails on
 * the first line that cannot be encoded, naming file and line, and with CLEF_USAGE when there is no
 * request at all. */
clef_status clef_calibration_file_read(const char *path, clef_model *model,
                                       clef_calibration_file *file, clef_error *error);
void clef_calibration_file_release(clef_calibration_file *file);

#endif
