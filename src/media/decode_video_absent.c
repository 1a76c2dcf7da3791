/* Stands in for decode_video.c where FFmpeg was not found. */
#include "media/decode_video.h"

#include "media/media_error.h"

bool clef_video_is_built(void) {
    return false;
}

clef_status clef_video_file_open(const void *bytes, size_t length,
                                 const clef_decode_options *options, clef_video_file **video,
                                 clef_error *error) {
    (void)bytes;
    (void)length;
    (void)options;
    *video = NULL;
    return clef_fail_media(
        error, CLEF_BAD_REQUEST,
        "this build reads no video files: it was made with CLEF_VIDEO=OFF, which "
        "is the default where FFmpeg's libraries are not found");
}

clef_frame_source clef_video_file_source(clef_video_file *video) {
    (void)video;
    return (clef_frame_source){0};
}

double clef_video_file_rate(const clef_video_file *video) {
    (void)video;
    return 0;
}

void clef_video_file_close(clef_video_file *video) {
    (void)video;
}
