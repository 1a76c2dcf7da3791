/* Video files as a source of frames: there when the build found FFmpeg. */
#ifndef CLEF_MEDIA_DECODE_VIDEO_H
#define CLEF_MEDIA_DECODE_VIDEO_H

#include "media/video.h"

typedef struct clef_video_file clef_video_file;

/* Whether this build reads video files. */
bool clef_video_is_built(void);

/* Frames of a file, ten minutes of thirty a second: all are decoded up to the last that is used. */
#define CLEF_VIDEO_FILE_FRAME_LIMIT 18000
/* How long the frames of one file may take to decode. */
#define CLEF_VIDEO_FILE_SECONDS_LIMIT 120

/* Opens the first video stream of a file in memory; `bytes` are borrowed until it is closed.
 * Nothing is opened beside them, whatever the file asks for. Only options->decode limits matter:
 * pixels of a frame, and whether a turned recording is shown upright. CLEF_BAD_REQUEST, kind
 * "media_error": no video, damaged, or `this build reads no video files`; CLEF_TOO_LARGE for the
 * limits. */
clef_status clef_video_file_open(const void *bytes, size_t length,
                                 const clef_decode_options *options, clef_video_file **video,
                                 clef_error *error);

/* Frames as they are shown, from the first; the source is valid until the file is closed. Where the
 * file holds fewer frames than it says, the last one stands for the missing. */
clef_frame_source clef_video_file_source(clef_video_file *video);

/* Frames a second on average; 0 when the file does not say. */
double clef_video_file_rate(const clef_video_file *video);

void clef_video_file_close(clef_video_file *video);

#endif
