/* An item's encoded bytes are held only while it is read; what stays are the resized pictures. */
#include "decide/media_item.h"

#include "base/memory.h"
#include "media/decode_video.h"
#include "media/media_error.h"
#include "media/media_text.h"

/* ---- spellings ------------------------------------------------------------------------------ */

static bool is_string(const clef_json *value) {
    return value != NULL && value->type == CLEF_JSON_STRING;
}

/* The string that holds a picture: the value itself, or a member of one of the objects that chat
 * and decision clients send. NULL for anything else. */
static const clef_json *find_text(const clef_json *value) {
    if (value->type == CLEF_JSON_OBJECT) {
        const clef_json *part = clef_json_member(value, "image_url");
        const clef_json *holder = part != NULL ? part : value;
        if (holder->type == CLEF_JSON_OBJECT) {
            const clef_json *base64 = clef_json_member(holder, "base64");
            holder = base64 != NULL ? base64 : clef_json_member(holder, "url");
        }
        value = holder;
    }
    return is_string(value) ? value : NULL;
}

bool clef_media_item_is_remote(const clef_json *value) {
    if (value->type == CLEF_JSON_ARRAY) {
        for (const clef_json *frame = value->first; frame != NULL; frame = frame->next) {
            if (frame->type != CLEF_JSON_ARRAY && clef_media_item_is_remote(frame)) {
                return true;
            }
        }
        return false;
    }
    const clef_json *text = find_text(value);
    return text != NULL && clef_media_form_of(text->text) == CLEF_MEDIA_REMOTE;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* What another host has, within what is left of the request's share. Of pictures only those formats
 * are handed on that are read, so that no message tells what answered. */
static clef_status fetch_bytes(clef_text url, clef_media_kind kind, clef_media_source *source,
                               clef_text *bytes, clef_error *error) {
    clef_buffer fetched = {0};
    const char *name;
    size_t own_limit = kind == CLEF_MEDIA_VIDEO ? CLEF_FETCH_BYTE_LIMIT : CLEF_MEDIA_BYTE_LIMIT;
    size_t left = CLEF_FETCH_BYTE_LIMIT - source->fetched_bytes;
    if (source->fetched_count == CLEF_FETCH_COUNT_LIMIT) {
        return clef_fail_media(error, CLEF_BAD_REQUEST, "more than %d remote images in a request",
                               CLEF_FETCH_COUNT_LIMIT);
    }
    source->fetched_count++;
    clef_status status = clef_fetch(url, source->remote, left < own_limit ? left : own_limit,
                                    &source->stop, &fetched, error);
    if (status != CLEF_OK) {
        return status;
    }
    source->fetched_bytes += fetched.length;
    *bytes = clef_buffer_text(&fetched);
    clef_picture_format format = clef_picture_format_of(bytes->bytes, bytes->length, &name);
    bool is_read =
        format == CLEF_PICTURE_PNG || format == CLEF_PICTURE_JPEG || format == CLEF_PICTURE_WEBP;
    return kind == CLEF_MEDIA_VIDEO || is_read ? CLEF_OK : clef_fetch_fail(error);
}

/* The encoded bytes of a picture or of a video file, owned by the caller in any case. */
static clef_status take_bytes(const clef_json *value, clef_media_kind kind,
                              clef_media_source *source, clef_text *bytes, clef_error *error) {
    const clef_json *text = find_text(value);
    uint8_t *decoded = NULL;
    size_t length = 0;
    *bytes = (clef_text){NULL, 0};
    if (text == NULL) {
        return clef_media_refuse_form(kind, error);
    }
    if (source->remote != NULL && clef_media_form_of(text->text) == CLEF_MEDIA_REMOTE) {
        return fetch_bytes(text->text, kind, source, bytes, error);
    }
    clef_status status = clef_media_text_decode(text->text, kind, 0, &decoded, &length, error);
    *bytes = (clef_text){(const char *)decoded, length};
    return status;
}

/* ---- pictures ------------------------------------------------------------------------------- */

clef_status clef_media_picture_read(const clef_json *value, clef_media_source *source,
                                    const clef_image_options *options, clef_medium *item,
                                    clef_error *error) {
    clef_text bytes;
    clef_image image = {0};
    clef_status status = take_bytes(value, CLEF_MEDIA_IMAGE, source, &bytes, error);
    if (status == CLEF_OK) {
        status = clef_image_read(bytes.bytes, bytes.length, options, &image, error);
    }
    clef_release((void *)(uintptr_t)bytes.bytes);
    if (status != CLEF_OK) {
        return status;
    }
    item->frames = clef_allocate(1, sizeof *item->frames);
    if (item->frames == NULL) {
        clef_image_release(&image);
        return clef_fail_memory(error, sizeof *item->frames, "a picture");
    }
    item->frames[0] = image.picture;
    item->frame_count = 1;
    item->grid = image.grid;
    item->digest = clef_image_digest(&image);
    return CLEF_OK;
}

/* ---- videos --------------------------------------------------------------------------------- */

/* Takes over a video's frames and keeps its times. */
static clef_status keep_video(clef_video *video, clef_medium *item, clef_error *error) {
    uint32_t pairs = video->plan.grid.frames;
    item->seconds = clef_allocate(pairs, sizeof *item->seconds);
    if (item->seconds == NULL) {
        return clef_fail_memory(error, pairs * sizeof *item->seconds, "the times of a video");
    }
    memcpy(item->seconds, video->plan.seconds, pairs * sizeof *item->seconds);
    item->frames = video->frames;
    item->frame_count = video->plan.frame_count;
    item->grid = video->plan.grid;
    video->frames = NULL;
    return CLEF_OK;
}

/* How a video is read; borrowed for the call. */
typedef struct video_reading {
    clef_media_source *source;
    const clef_decode_options *decode;
    const clef_video_options *options;
    clef_memory_grant *memory;
    clef_medium *item;
} video_reading;

static clef_status read_source(const video_reading *of, const clef_frame_source *source,
                               const clef_video_options *options, clef_error *error) {
    clef_video video = {0};
    clef_status status =
        clef_video_read(source, options, CLEF_RESIZE_TORCH, of->memory, &video, error);
    if (status == CLEF_OK) {
        of->item->digest = video.digest;
        status = keep_video(&video, of->item, error);
        clef_video_release(&video);
    }
    return status;
}

/* A list of frames. *fault: the frame that a failure is about. */
static clef_status read_frames(const video_reading *of, const clef_json *value, size_t *fault,
                               clef_error *error) {
    clef_text *frames = clef_allocate(value->count + 1, sizeof *frames);
    if (frames == NULL) {
        return clef_fail_memory(error, value->count * sizeof *frames, "the frames of a video");
    }
    clef_status status = CLEF_OK;
    size_t count = 0;
    for (const clef_json *frame = value->first; frame != NULL && status == CLEF_OK;
         frame = frame->next) {
        *fault = count;
        status = take_bytes(frame, CLEF_MEDIA_IMAGE, of->source, &frames[count++], error);
    }
    if (status == CLEF_OK) {
        clef_frame_source source;
        clef_frame_list list = {
            .frames = frames, .options = *of->decode, .frame_count = (uint32_t)count};
        status = clef_frame_list_open(&list, &source, error);
        if (status == CLEF_OK) {
            status = read_source(of, &source, of->options, error);
        }
        *fault = list.fault < count ? list.fault : SIZE_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        clef_release((void *)(uintptr_t)frames[i].bytes);
    }
    clef_release(frames);
    return status;
}

/* A video file, whose own rate stands for what the request does not say. */
static clef_status read_file(const video_reading *of, const clef_json *value, clef_error *error) {
    clef_text bytes;
    clef_video_file *file = NULL;
    clef_status status = take_bytes(value, CLEF_MEDIA_VIDEO, of->source, &bytes, error);
    if (status == CLEF_OK) {
        status = clef_video_file_open(bytes.bytes, bytes.length, of->decode, &file, error);
    }
    if (status == CLEF_OK) {
        clef_frame_source source = clef_video_file_source(file);
        clef_video_options own = *of->options;
        double rate = clef_video_file_rate(file);
        if (!own.has_metadata_rate && rate > 0) {
            own.has_metadata_rate = true;
            own.metadata_rate = rate;
        }
        status = read_source(of, &source, &own, error);
    }
    clef_video_file_close(file);
    clef_release((void *)(uintptr_t)bytes.bytes);
    return status;
}

clef_status clef_media_video_read(const clef_json *value, clef_media_source *source,
                                  const clef_decode_options *decode,
                                  const clef_video_options *options, clef_memory_grant *memory,
                                  clef_medium *item, size_t *fault, clef_error *error) {
    const video_reading of = {source, decode, options, memory, item};
    *fault = SIZE_MAX;
    return value->type == CLEF_JSON_ARRAY ? read_frames(&of, value, fault, error)
                                          : read_file(&of, value, error);
}
