/* Names and shapes of tensors as they appear in messages. Names come from files and may hold
 * anything; what is printed is short, printable ASCII. */
#ifndef CLEF_WEIGHTS_TENSOR_TEXT_H
#define CLEF_WEIGHTS_TENSOR_TEXT_H

#include "base/text.h"

/* Room for any name as clef_name_text writes it, with its quotes and the NUL. */
#define CLEF_NAME_TEXT_BYTES 192
/* Room for the shapes of most tensors; longer ones are cut. */
#define CLEF_SHAPE_TEXT_BYTES 192

/* "[248320, 5120]" into out (cut at its size); for messages. Returns out. */
const char *clef_shape_text(unsigned rank, const uint64_t *shape, char *out, size_t size);

/* The name in double quotes: control characters, quotes and everything outside ASCII as \u{…}, a
 * long name cut in the middle with its length. Returns out. */
const char *clef_name_text(clef_text name, char *out, size_t size);

#endif
