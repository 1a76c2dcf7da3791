/* Files in a request as people write it: "@FILE" in place of a picture's bytes. */
#ifndef CLEF_CLI_REQUEST_FILES_H
#define CLEF_CLI_REQUEST_FILES_H

#include "base/buffer.h"

/* Puts the files that items of "images" and "videos", and frames of the latter, name by "@FILE" in
 * their place, as base64. *embedded, empty before, is what *result then lies in; *result is the
 * body itself where there is nothing to do, also where it is no JSON: what is wrong with it is for
 * others to say. CLEF_USAGE for a file that cannot be read, CLEF_TOO_LARGE, CLEF_OUT_OF_MEMORY. */
clef_status clef_request_files_embed(clef_text body, clef_buffer *embedded, clef_text *result,
                                     clef_error *error);

#endif
