/* Adapter of FFmpeg's libraries, with video_library.c the only file that names them.
 *
 * A file is read from memory through callbacks; containers that could name other files are not on
 * the list, and a demuxer that wants to open one is refused. Frames are decoded in order, one at a
 * time; opening counts the packets of the stream where the container does not say how many frames
 * there are. */
#include "media/decode_video.h"

#include "base/clock.h"
#include "base/memory.h"
#include "media/media_error.h"
#include "media/video_library.h"

#include <stdio.h>

#define CONTAINERS   "mov,matroska,webm,avi,mpegts,mpeg,ogg,flv,asf,ivf,nut"
#define READ_BYTES   65536
#define STREAM_LIMIT 64
/* Pictures above this height are colour-coded for high definition when they do not say how. */
#define STANDARD_HEIGHT 576
/* More faults than this, and it is no video that somebody wants to see. */
#define FAULT_LIMIT 1000
#define FRAME_NONE  UINT32_MAX

struct clef_video_file {
    clef_video_library library;
    const uint8_t *bytes; /* borrowed */
    size_t length, at;
    AVIOContext *input; /* owned, as all below */
    AVFormatContext *format;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *decoded; /* what the decoder gave last */
    AVFrame *shown;   /* frame `index` */
    AVFrame *rgb;     /* `shown` as RGB, with the margins that the scaler writes over */
    struct SwsContext *scaler;
    int stream;
    uint32_t index; /* of `shown`; FRAME_NONE before the first */
    uint32_t frame_count;
    uint32_t width, height; /* as stored */
    unsigned orientation;
    double rate;
    bool has_ended;
    unsigned fault_count; /* packets and frames that could not be decoded */
    uint64_t end_ns;      /* when decoding has taken too long; 0: it has not begun */
};

static clef_status refuse(const clef_video_file *video, const char *what, int code,
                          clef_error *error) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    if (code == AVERROR(ENOMEM)) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY,
                         "out of memory: the video decoder could not take more");
    }
    video->library.av_strerror(code, reason, sizeof reason);
    return clef_fail_media(error, CLEF_BAD_REQUEST, "not a readable video (%s: %s)", what, reason);
}

/* ---- input from memory ---------------------------------------------------------------------- */

static int give_bytes(void *context, uint8_t *out, int wanted) {
    clef_video_file *video = context;
    size_t left = video->length - video->at;
    size_t count = left < (size_t)wanted ? left : (size_t)wanted;
    if (count == 0) {
        return AVERROR_EOF;
    }
    memcpy(out, video->bytes + video->at, count);
    video->at += count;
    return (int)count;
}

static int64_t move_input(void *context, int64_t offset, int whence) {
    clef_video_file *video = context;
    int64_t base = 0;
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
        return (int64_t)video->length;
    case SEEK_SET:
        break;
    case SEEK_CUR:
        base = (int64_t)video->at;
        break;
    case SEEK_END:
        base = (int64_t)video->length;
        break;
    default:
        return AVERROR(EINVAL);
    }
    if (offset < -base || offset > (int64_t)video->length - base) {
        return AVERROR(EINVAL);
    }
    video->at = (size_t)(base + offset);
    return base + offset;
}

static int open_nothing(AVFormatContext *format, AVIOContext **input, const char *url, int flags,
                        AVDictionary **options) {
    (void)format;
    (void)url;
    (void)flags;
    (void)options;
    *input = NULL;
    return AVERROR(EACCES);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void close_container(clef_video_file *video) {
    video->library.avformat_close_input(&video->format);
    if (video->input != NULL) {
        video->library.av_freep(&video->input->buffer);
    }
    video->library.avio_context_free(&video->input);
}

/* From the first byte. */
static clef_status open_container(clef_video_file *video, clef_error *error) {
    video->at = 0;
    unsigned char *buffer = video->library.av_malloc(READ_BYTES);
    if (buffer != NULL) {
        video->input = video->library.avio_alloc_context(buffer, READ_BYTES, 0, video, give_bytes,
                                                         NULL, move_input);
    }
    if (video->input == NULL) {
        video->library.av_free(buffer);
        return refuse(video, "opening", AVERROR(ENOMEM), error);
    }
    video->format = video->library.avformat_alloc_context();
    if (video->format == NULL) {
        return refuse(video, "opening", AVERROR(ENOMEM), error);
    }
    video->format->pb = video->input;
    video->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    video->format->io_open = open_nothing;
    video->format->max_streams = STREAM_LIMIT;
    video->format->format_whitelist = video->library.av_strdup(CONTAINERS);
    video->format->protocol_whitelist = video->library.av_strdup("none");
    /* Releases the context when it fails. */
    int code = video->library.avformat_open_input(&video->format, NULL, NULL, NULL);
    if (code >= 0) {
        code = video->library.avformat_find_stream_info(video->format, NULL);
    }
    return code < 0 ? refuse(video, "opening", code, error) : CLEF_OK;
}

static clef_status open_decoder(clef_video_file *video, uint64_t pixel_limit, clef_error *error) {
    const AVCodec *codec = NULL;
    video->stream =
        video->library.av_find_best_stream(video->format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (video->stream < 0 || codec == NULL) {
        return refuse(video, "finding a video stream",
                      video->stream < 0 ? video->stream : AVERROR_DECODER_NOT_FOUND, error);
    }
    const AVCodecParameters *parameters = video->format->streams[video->stream]->codecpar;
    if (parameters->width <= 0 || parameters->height <= 0) {
        return refuse(video, "finding the size", AVERROR_INVALIDDATA, error);
    }
    video->width = (uint32_t)parameters->width;
    video->height = (uint32_t)parameters->height;
    clef_status status = clef_picture_check_size(video->width, video->height, pixel_limit, error);
    if (status != CLEF_OK) {
        return status;
    }
    video->decoder = video->library.avcodec_alloc_context3(codec);
    if (video->decoder == NULL) {
        return refuse(video, "decoding", AVERROR(ENOMEM), error);
    }
    int code = video->library.avcodec_parameters_to_context(video->decoder, parameters);
    if (code >= 0) {
        video->decoder->thread_count = 1;
        video->decoder->max_pixels =
            (int64_t)(pixel_limit != 0 ? pixel_limit : CLEF_PICTURE_PIXEL_LIMIT);
        code = video->library.avcodec_open2(video->decoder, codec, NULL);
    }
    return code < 0 ? refuse(video, "decoding", code, error) : CLEF_OK;
}

/* What the container says; else its packets are counted, which takes a new start afterwards. */
static clef_status count_frames(clef_video_file *video, clef_error *error) {
    int64_t count = video->format->streams[video->stream]->nb_frames;
    if (count <= 0) {
        count = 0;
        while (video->library.av_read_frame(video->format, video->packet) >= 0) {
            count += video->packet->stream_index == video->stream;
            video->library.av_packet_unref(video->packet);
        }
        close_container(video);
        clef_status status = open_container(video, error);
        if (status != CLEF_OK) {
            return status;
        }
        if ((unsigned)video->stream >= video->format->nb_streams) {
            return refuse(video, "opening again", AVERROR_INVALIDDATA, error);
        }
    }
    if (count <= 0) {
        return refuse(video, "counting its frames", AVERROR_INVALIDDATA, error);
    }
    if (count > CLEF_VIDEO_FILE_FRAME_LIMIT) {
        return clef_fail_media(error, CLEF_TOO_LARGE, "video has %lld frames, over the limit of %d",
                               (long long)count, CLEF_VIDEO_FILE_FRAME_LIMIT);
    }
    video->frame_count = (uint32_t)count;
    return CLEF_OK;
}

static const uint8_t *find_display_matrix(const clef_video_file *video, const AVStream *stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    const AVPacketSideData *data = video->library.av_packet_side_data_get(
        stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data,
        AV_PKT_DATA_DISPLAYMATRIX);
    return data != NULL && data->size >= 9 * sizeof(int32_t) ? data->data : NULL;
#else
    size_t size = 0;
    const uint8_t *data =
        video->library.av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return size >= 9 * sizeof(int32_t) ? data : NULL;
#endif
}

/* The quarter turn that a recording asks for, in the numbers of EXIF. */
static unsigned find_orientation(const clef_video_file *video, const AVStream *stream) {
    const uint8_t *bytes = find_display_matrix(video, stream);
    if (bytes == NULL) {
        return 1;
    }
    int32_t matrix[9];
    memcpy(matrix, bytes, sizeof matrix);
    double angle =
        video->library.av_display_rotation_get(matrix); /* counterclockwise, NaN when it is none */
    return angle > -135 && angle < -45     ? 6
           : angle > 45 && angle < 135     ? 8
           : angle >= 135 || angle <= -135 ? 3
                                           : 1;
}

static clef_status open_all(clef_video_file *video, const clef_decode_options *options,
                            clef_error *error) {
    clef_status status = open_container(video, error);
    if (status == CLEF_OK) {
        status = open_decoder(video, options->pixel_limit, error);
    }
    video->packet = video->library.av_packet_alloc();
    video->decoded = video->library.av_frame_alloc();
    video->shown = video->library.av_frame_alloc();
    video->rgb = video->library.av_frame_alloc();
    if (status == CLEF_OK && (video->packet == NULL || video->decoded == NULL ||
                              video->shown == NULL || video->rgb == NULL)) {
        return refuse(video, "decoding", AVERROR(ENOMEM), error);
    }
    if (status == CLEF_OK) {
        AVStream *stream = video->format->streams[video->stream];
        AVRational rate = video->library.av_guess_frame_rate(video->format, stream, NULL);
        video->rate = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
        video->orientation = options->ignores_exif ? 1 : find_orientation(video, stream);
        status = count_frames(video, error);
    }
    return status;
}

bool clef_video_is_built(void) {
    return true;
}

clef_status clef_video_file_open(const void *bytes, size_t length,
                                 const clef_decode_options *options, clef_video_file **video,
                                 clef_error *error) {
    *video = NULL;
    clef_video_file *opened = clef_allocate(1, sizeof *opened);
    if (opened == NULL) {
        return clef_fail_memory(error, sizeof *opened, "a video file");
    }
    opened->bytes = bytes;
    opened->length = length;
    opened->index = FRAME_NONE;
    clef_status status = clef_video_library_load(&opened->library, error);
    if (status != CLEF_OK) {
        clef_release(opened);
        return status;
    }
    /* The library prints its complaints unless it is told otherwise, for the whole process. */
    opened->library.av_log_set_level(AV_LOG_QUIET);
    status = open_all(opened, options, error);
    if (status != CLEF_OK) {
        clef_video_file_close(opened);
        return status;
    }
    *video = opened;
    return CLEF_OK;
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Gives the decoder its next packet, or the news that there is none. */
static int feed_decoder(clef_video_file *video) {
    int code = video->library.av_read_frame(video->format, video->packet);
    if (code < 0) {
        return video->library.avcodec_send_packet(video->decoder, NULL);
    }
    if (video->packet->stream_index == video->stream) {
        code = video->library.avcodec_send_packet(video->decoder, video->packet);
    }
    video->library.av_packet_unref(video->packet);
    return code;
}

/* The next frame into `shown`; at the end the last one stays. What is damaged costs its frame; the
 * next one may be fine. */
static clef_status decode_next(clef_video_file *video, clef_error *error) {
    while (!video->has_ended) {
        if (clef_clock_ns() > video->end_ns) {
            return clef_fail_media(
                error, CLEF_TOO_LARGE, "video takes over %d seconds to decode, at frame %u of %u",
                CLEF_VIDEO_FILE_SECONDS_LIMIT, video->index == FRAME_NONE ? 0 : video->index + 1,
                video->frame_count);
        }
        int code = video->library.avcodec_receive_frame(video->decoder, video->decoded);
        if (code >= 0) {
            video->library.av_frame_unref(video->shown);
            video->library.av_frame_move_ref(video->shown, video->decoded);
            break;
        }
        if (code == AVERROR(EAGAIN)) {
            code = feed_decoder(video);
        }
        if (code == AVERROR_EOF) {
            video->has_ended = true;
        } else if (code < 0 &&
                   (code != AVERROR_INVALIDDATA || ++video->fault_count > FAULT_LIMIT)) {
            return refuse(video, "decoding", code, error);
        }
    }
    if (video->shown->width <= 0) {
        return refuse(video, "decoding its first frame", AVERROR_INVALIDDATA, error);
    }
    video->index = video->index == FRAME_NONE ? 0 : video->index + 1;
    return CLEF_OK;
}

/* Colours as the frame says they are coded, or as its size suggests. */
static void choose_colours(clef_video_file *video) {
    const AVFrame *shown = video->shown;
    int space = shown->colorspace != AVCOL_SPC_UNSPECIFIED ? (int)shown->colorspace
                : shown->height > STANDARD_HEIGHT          ? SWS_CS_ITU709
                                                           : SWS_CS_ITU601;
    const int *coefficients = video->library.sws_getCoefficients(space);
    video->library.sws_setColorspaceDetails(video->scaler, coefficients,
                                            shown->color_range == AVCOL_RANGE_JPEG, coefficients, 1,
                                            0, 1 << 16, 1 << 16);
}

static clef_status convert_frame(clef_video_file *video, clef_error *error) {
    const AVFrame *shown = video->shown;
    AVFrame *rgb = video->rgb;
    if ((uint32_t)shown->width != video->width || (uint32_t)shown->height != video->height) {
        return clef_fail_media(
            error, CLEF_BAD_REQUEST, "not a readable video (frame %u is %dx%d, the first %ux%u)",
            video->index, shown->width, shown->height, video->width, video->height);
    }
    video->scaler = video->library.sws_getCachedContext(
        video->scaler, shown->width, shown->height, (enum AVPixelFormat)shown->format, shown->width,
        shown->height, AV_PIX_FMT_RGB24,
        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP, NULL, NULL, NULL);
    if (video->scaler == NULL) {
        return refuse(video, "converting a frame", AVERROR(EINVAL), error);
    }
    choose_colours(video);
    if (rgb->data[0] == NULL) {
        rgb->format = AV_PIX_FMT_RGB24;
        rgb->width = shown->width;
        rgb->height = shown->height;
        int code = video->library.av_frame_get_buffer(rgb, 0);
        if (code < 0) {
            return refuse(video, "converting a frame", code, error);
        }
    }
    int rows =
        video->library.sws_scale(video->scaler, (const uint8_t *const *)shown->data,
                                 shown->linesize, 0, shown->height, rgb->data, rgb->linesize);
    return rows == shown->height ? CLEF_OK
                                 : refuse(video, "converting a frame", AVERROR_INVALIDDATA, error);
}

static clef_status read_frame(void *context, uint32_t index, clef_picture *picture,
                              clef_error *error) {
    clef_video_file *video = context;
    *picture = (clef_picture){0};
    if (video->index != FRAME_NONE && index < video->index) {
        return clef_fail(error, CLEF_INTERNAL, "frame %u of a video was asked for after frame %u",
                         index, video->index);
    }
    if (video->end_ns == 0) {
        video->end_ns = clef_clock_ns() + CLEF_VIDEO_FILE_SECONDS_LIMIT * UINT64_C(1000000000);
    }
    clef_status status = CLEF_OK;
    while (status == CLEF_OK && (video->index == FRAME_NONE || video->index < index)) {
        status = decode_next(video, error);
    }
    if (status == CLEF_OK) {
        status = convert_frame(video, error);
    }
    if (status == CLEF_OK) {
        status = clef_picture_create(video->width, video->height, picture, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    size_t row = (size_t)video->width * 3;
    for (uint32_t y = 0; y < video->height; y++) {
        memcpy(picture->rgb + row * y, video->rgb->data[0] + (ptrdiff_t)y * video->rgb->linesize[0],
               row);
    }
    status = clef_picture_turn(picture, video->orientation, error);
    if (status != CLEF_OK) {
        clef_picture_release(picture);
    }
    return status;
}

clef_frame_source clef_video_file_source(clef_video_file *video) {
    bool is_sideways = video->orientation >= 5;
    return (clef_frame_source){.frame_count = video->frame_count,
                               .width = is_sideways ? video->height : video->width,
                               .height = is_sideways ? video->width : video->height,
                               .read = read_frame,
                               .context = video};
}

double clef_video_file_rate(const clef_video_file *video) {
    return video->rate;
}

void clef_video_file_close(clef_video_file *video) {
    if (video == NULL) {
        return;
    }
    video->library.sws_freeContext(video->scaler);
    video->library.av_frame_free(&video->rgb);
    video->library.av_frame_free(&video->shown);
    video->library.av_frame_free(&video->decoded);
    video->library.av_packet_free(&video->packet);
    video->library.avcodec_free_context(&video->decoder);
    close_container(video);
    clef_release(video);
}
