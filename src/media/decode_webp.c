/* Adapter of libwebp and its demuxer, the only file that names them.
 *
 * A still picture is an animation of one frame: the demuxer checks the whole container and hands
 * out the first frame, which is decoded straight into its place on the canvas. */
#include "media/decoders.h"

#include "media/exif.h"
#include "media/media_error.h"

#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

static clef_status refuse(clef_error *error, const char *why) {
    return clef_fail_media(error, CLEF_BAD_REQUEST, "not a decodable image (WebP: %s)", why);
}

static const char *describe(VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_BITSTREAM_ERROR:
        return "its data are damaged";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return "it uses a feature that is not supported";
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return "it is cut off";
    default:
        return "it cannot be decoded";
    }
}

static unsigned find_orientation(const WebPDemuxer *container) {
    WebPChunkIterator chunk;
    unsigned orientation = 1;
    if (WebPDemuxGetChunk(container, "EXIF", 1, &chunk)) {
        orientation = clef_exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    return orientation;
}

/* Decodes one frame to its place; pixels of the canvas outside it are black. */
static clef_status decode_frame(const WebPIterator *frame, clef_picture *picture,
                                clef_error *error) {
    size_t row = (size_t)picture->width * 3;
    uint32_t left = (uint32_t)frame->x_offset, top = (uint32_t)frame->y_offset;
    uint32_t width = (uint32_t)frame->width, height = (uint32_t)frame->height;
    if (left > picture->width || width > picture->width - left || top > picture->height ||
        height > picture->height - top || width == 0 || height == 0) {
        return refuse(error, "its first frame lies outside the canvas");
    }
    if (width != picture->width || height != picture->height) {
        memset(picture->rgb, 0, row * picture->height);
    }
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) {
        return clef_fail(error, CLEF_INTERNAL, "libwebp is of another version than its headers");
    }
    size_t first = row * top + (size_t)left * 3;
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = picture->rgb + first;
    config.output.u.RGBA.stride = (int)row;
    config.output.u.RGBA.size = row * picture->height - first;
    VP8StatusCode code = WebPDecode(frame->fragment.bytes, frame->fragment.size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_OUT_OF_MEMORY) {
        return clef_fail(error, CLEF_OUT_OF_MEMORY,
                         "out of memory: the WebP decoder could not take more");
    }
    return code == VP8_STATUS_OK ? CLEF_OK : refuse(error, describe(code));
}

static clef_status decode_first(const WebPDemuxer *container, const clef_stored *stored,
                                clef_picture *picture, clef_error *error) {
    WebPIterator frame;
    if (!WebPDemuxGetFrame(container, 1, &frame)) {
        return refuse(error, "it holds no frame");
    }
    clef_status status = clef_picture_create(stored->width, stored->height, picture, error);
    if (status == CLEF_OK) {
        status = decode_frame(&frame, picture, error);
    }
    WebPDemuxReleaseIterator(&frame);
    return status;
}

clef_status clef_webp_decode(const clef_encoded *encoded, clef_stored *stored, clef_error *error) {
    WebPData data = {encoded->bytes, encoded->length};
    WebPDemuxState state;
    WebPDemuxer *container = WebPDemuxPartial(&data, &state);
    if (container == NULL || state != WEBP_DEMUX_DONE) {
        WebPDemuxDelete(container);
        return refuse(error, state == WEBP_DEMUX_PARSE_ERROR ? "its container is damaged"
                                                             : "it is cut off");
    }
    stored->width = WebPDemuxGetI(container, WEBP_FF_CANVAS_WIDTH);
    stored->height = WebPDemuxGetI(container, WEBP_FF_CANVAS_HEIGHT);
    stored->orientation = find_orientation(container);
    clef_status status =
        clef_picture_check_size(stored->width, stored->height, encoded->pixel_limit, error);
    if (status == CLEF_OK && !encoded->is_header_only) {
        status = decode_first(container, stored, &stored->picture, error);
    }
    WebPDemuxDelete(container);
    if (status != CLEF_OK) {
        clef_picture_release(&stored->picture);
    }
    return status;
}
