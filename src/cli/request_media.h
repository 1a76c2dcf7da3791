/* Pictures and videos of the short form: files and folders of frames become base64 in the request.
 * Looks at no pixel; what a file holds is judged by the library. */
#ifndef CLEF_CLI_REQUEST_MEDIA_H
#define CLEF_CLI_REQUEST_MEDIA_H

#include "cli/settings.h"

/* Appends the members "images" and "videos", each with a comma in front; nothing where the command
 * line has none. A video is a file, or a folder: its files in the order of their names are its
 * frames, but for those whose names begin with a dot. CLEF_USAGE for what cannot be read,
 * CLEF_TOO_LARGE, CLEF_OUT_OF_MEMORY. */
clef_status clef_request_media_append(const clef_settings *settings, clef_buffer *body,
                                      clef_error *error);

/* Appends the file of a picture or a video as one JSON string. Errors as above. */
clef_status clef_request_media_append_file(const char *path, clef_buffer *body, clef_error *error);

#endif
