/* An item's encoded bytes are held only while it is read; what stays are the resized pictures. */
#include "decide/media_item.h"

#include "base/memory.h"
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

/* The encoded bytes of a picture, owned by the caller. */
static clef_status take_bytes(const clef_json *value, clef_text *bytes, clef_error *error) {
    const clef_json *text = find_text(value);
    uint8_t *decoded = NULL;
    size_t length = 0;
    clef_status status = text == NULL
                             ? clef_media_refuse_form(error)
                             : clef_media_text_decode(text->text, 0, &decoded, &length, error);
    *bytes = (clef_text){(const char *)decoded, length};
    return status;
}

/* ---- pictures ------------------------------------------------------------------------------- */

clef_status clef_media_picture_read(const clef_json *value, const clef_image_options *options,
                                    clef_medium *item, clef_error *error) {
    clef_text bytes;
    clef_image image = {0};
    clef_status status = take_bytes(value, &bytes, error);
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
    item->digest = image.digest;
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

static clef_status read_frames(clef_frame_list *list, const clef_video_options *options,
                               clef_medium *item, clef_error *error) {
    clef_frame_source source;
    clef_video video = {0};
    clef_status status = clef_frame_list_open(list, &source, error);
    if (status == CLEF_OK) {
        status = clef_video_read(&source, options, CLEF_RESIZE_TORCH, &video, error);
    }
    if (status == CLEF_OK) {
        item->digest = video.digest;
        status = keep_video(&video, item, error);
        clef_video_release(&video);
    }
    return status;
}

clef_status clef_media_video_read(const clef_json *value, const clef_decode_options *decode,
                                  const clef_video_options *options, clef_medium *item,
                                  size_t *fault, clef_error *error) {
    *fault = SIZE_MAX;
    if (value->type != CLEF_JSON_ARRAY) {
        return clef_fail_media(error, CLEF_BAD_REQUEST, "expected a list of frames");
    }
    clef_text *frames = clef_allocate(value->count + 1, sizeof *frames);
    if (frames == NULL) {
        return clef_fail_memory(error, value->count * sizeof *frames, "the frames of a video");
    }
    clef_status status = CLEF_OK;
    size_t count = 0;
    for (const clef_json *frame = value->first; frame != NULL && status == CLEF_OK;
         frame = frame->next) {
        *fault = count;
        status = take_bytes(frame, &frames[count++], error);
    }
    if (status == CLEF_OK) {
        clef_frame_list list = {
            .frames = frames, .options = *decode, .frame_count = (uint32_t)count};
        status = read_frames(&list, options, item, error);
        *fault = list.fault < count ? list.fault : SIZE_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        clef_release((void *)(uintptr_t)frames[i].bytes);
    }
    clef_release(frames);
    return status;
}
