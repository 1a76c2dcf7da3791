/* FFmpeg's libraries as a table of functions, loaded when the first video is opened.
 *
 * They bring more than a hundred others with them; linked, each start of the program would pay for
 * them (tens of milliseconds), and could not run without. Part of the adapter: only decode_video.c
 * includes this. */
#ifndef CLEF_MEDIA_VIDEO_LIBRARY_H
#define CLEF_MEDIA_VIDEO_LIBRARY_H

#include "base/error.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>

#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
#define CLEF_VIDEO_SIDE_DATA(X) X(codec, av_packet_side_data_get)
#else
#define CLEF_VIDEO_SIDE_DATA(X) X(format, av_stream_get_side_data)
#endif

/* X(library, function) */
#define CLEF_VIDEO_FUNCTIONS(X)                                                                    \
    X(util, av_log_set_level)                                                                      \
    X(util, av_strerror)                                                                           \
    X(util, av_malloc)                                                                             \
    X(util, av_free)                                                                               \
    X(util, av_freep)                                                                              \
    X(util, av_strdup)                                                                             \
    X(util, av_display_rotation_get)                                                               \
    X(util, av_frame_alloc)                                                                        \
    X(util, av_frame_free)                                                                         \
    X(util, av_frame_unref)                                                                        \
    X(util, av_frame_move_ref)                                                                     \
    X(util, av_frame_get_buffer)                                                                   \
    X(codec, av_packet_alloc)                                                                      \
    X(codec, av_packet_free)                                                                       \
    X(codec, av_packet_unref)                                                                      \
    X(codec, avcodec_alloc_context3)                                                               \
    X(codec, avcodec_free_context)                                                                 \
    X(codec, avcodec_parameters_to_context)                                                        \
    X(codec, avcodec_open2)                                                                        \
    X(codec, avcodec_send_packet)                                                                  \
    X(codec, avcodec_receive_frame)                                                                \
    X(format, avio_alloc_context)                                                                  \
    X(format, avio_context_free)                                                                   \
    X(format, avformat_alloc_context)                                                              \
    X(format, avformat_open_input)                                                                 \
    X(format, avformat_close_input)                                                                \
    X(format, avformat_find_stream_info)                                                           \
    X(format, av_find_best_stream)                                                                 \
    X(format, av_guess_frame_rate)                                                                 \
    X(format, av_read_frame)                                                                       \
    X(scale, sws_getCachedContext)                                                                 \
    X(scale, sws_getCoefficients)                                                                  \
    X(scale, sws_setColorspaceDetails)                                                             \
    X(scale, sws_scale)                                                                            \
    X(scale, sws_freeContext)                                                                      \
    CLEF_VIDEO_SIDE_DATA(X)

typedef struct clef_video_library {
#define CLEF_VIDEO_MEMBER(library, function) __typeof__(&function) function;
    CLEF_VIDEO_FUNCTIONS(CLEF_VIDEO_MEMBER)
#undef CLEF_VIDEO_MEMBER
} clef_video_library;

/* Fills the table from the libraries of the versions that the build saw; they stay loaded until the
 * process ends. CLEF_BAD_REQUEST, kind "media_error", when one is not on this machine. */
clef_status clef_video_library_load(clef_video_library *library, clef_error *error);

#endif
