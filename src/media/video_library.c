/* Loads FFmpeg's libraries by the names that their headers stand for. */
#include "media/video_library.h"

#include "media/media_error.h"

#include <dlfcn.h>
#include <string.h>

typedef enum library_part {
    PART_util,
    PART_codec,
    PART_format,
    PART_scale,
    PART_count
} library_part;

static const char *const part_names[PART_count] = {
    [PART_util] = "libavutil.so." AV_STRINGIFY(LIBAVUTIL_VERSION_MAJOR),
    [PART_codec] = "libavcodec.so." AV_STRINGIFY(LIBAVCODEC_VERSION_MAJOR),
    [PART_format] = "libavformat.so." AV_STRINGIFY(LIBAVFORMAT_VERSION_MAJOR),
    [PART_scale] = "libswscale.so." AV_STRINGIFY(LIBSWSCALE_VERSION_MAJOR),
};

static clef_status refuse(const char *what, clef_error *error) {
    return clef_fail_media(error, CLEF_BAD_REQUEST,
                           "video files cannot be read here (FFmpeg: %s was not found)", what);
}

clef_status clef_video_library_load(clef_video_library *library, clef_error *error) {
    void *parts[PART_count] = {0};
    clef_status status = CLEF_OK;
    for (int i = 0; i < PART_count && status == CLEF_OK; i++) {
        parts[i] = dlopen(part_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        status = parts[i] != NULL ? CLEF_OK : refuse(part_names[i], error);
    }
    /* The C standard has no way from an object pointer to a function; POSIX promises that the bits
     * are the same. */
#define LOAD(part, function)                                                                       \
    if (status == CLEF_OK) {                                                                       \
        void *symbol = dlsym(parts[PART_##part], #function);                                       \
        memcpy(&library->function, &symbol, sizeof symbol);                                        \
        status = symbol != NULL ? CLEF_OK : refuse(#function, error);                              \
    }
    CLEF_VIDEO_FUNCTIONS(LOAD)
#undef LOAD
    for (int i = 0; i < PART_count; i++) {
        if (parts[i] != NULL) {
            dlclose(parts[i]);
        }
    }
    return status;
}
