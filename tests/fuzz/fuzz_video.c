/* libFuzzer entry: any bytes through the adapter of FFmpeg, a few frames of what it takes for a
 * video. Builds without video files refuse everything. */
#include "base/memory.h"
#include "media/decode_video.h"

#define PIXEL_LIMIT 400000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t nothing = 0;
    const clef_decode_options options = {.pixel_limit = PIXEL_LIMIT};
    clef_error error = {0};
    clef_video_file *video;
    clef_status status =
        clef_video_file_open(size == 0 ? &nothing : data, size, &options, &video, &error);
    if ((status == CLEF_OK) != (video != NULL) || (status != CLEF_OK && error.message[0] == '\0')) {
        __builtin_trap();
    }
    if (status != CLEF_OK) {
        return 0;
    }
    clef_frame_source source = clef_video_file_source(video);
    if (source.frame_count == 0 || source.frame_count > CLEF_VIDEO_FILE_FRAME_LIMIT ||
        (uint64_t)source.width * source.height > PIXEL_LIMIT) {
        __builtin_trap();
    }
    for (uint32_t index = 0; index < source.frame_count && index < 12; index += 3) {
        clef_picture frame;
        status = source.read(source.context, index, &frame, &error);
        if ((status == CLEF_OK) != (frame.rgb != NULL) ||
            (status == CLEF_OK && (frame.width != source.width || frame.height != source.height))) {
            __builtin_trap();
        }
        clef_picture_release(&frame);
    }
    clef_video_file_close(video);
    return 0;
}
