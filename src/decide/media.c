/* From the lists of a request to pixels. An item's encoded bytes are held only while it is read;
 * what stays are the resized pictures. */
#include "decide/media.h"

#include "base/memory.h"
#include "media/image.h"
#include "media/media_error.h"
#include "media/media_text.h"

#include <stdio.h>

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

/* ---- names ---------------------------------------------------------------------------------- */

/* Says which item an error is about; `frame` SIZE_MAX: the item as a whole. */
static void name_item(const char *list, size_t index, size_t frame, clef_error *error) {
    char name[80];
    if (frame == SIZE_MAX) {
        snprintf(name, sizeof name, "%s[%zu]", list, index);
        clef_error_set_place(error, "%s" CLEF_PLACE_SEPARATOR "%zu", list, index);
    } else {
        snprintf(name, sizeof name, "%s[%zu][%zu]", list, index, frame);
        clef_error_set_place(error, "%s" CLEF_PLACE_SEPARATOR "%zu" CLEF_PLACE_SEPARATOR "%zu",
                             list, index, frame);
    }
    clef_error_prefix(error, name);
}

static clef_status check_count(const char *list, size_t count, const char *what, size_t limit,
                               clef_error *error) {
    if (count <= limit) {
        return CLEF_OK;
    }
    clef_fail(error, CLEF_OVER_LIMIT, "%s: %zu %s, over the limit of %zu", list, count, what,
              limit);
    clef_error_set_kind(error, "over_limit", 0);
    clef_error_set_place(error, "%s", list);
    return CLEF_OVER_LIMIT;
}

/* ---- items ---------------------------------------------------------------------------------- */

static clef_status read_picture(const clef_json *value, const clef_image_options *options,
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

/* *fault: the frame that a failure is about, or SIZE_MAX. */
static clef_status read_video(const clef_json *value, const clef_video_options *options,
                              clef_medium *item, size_t *fault, clef_error *error) {
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
        clef_frame_list list = {.frames = frames, .frame_count = (uint32_t)count};
        status = read_frames(&list, options, item, error);
        *fault = list.fault < count ? list.fault : SIZE_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        clef_release((void *)(uintptr_t)frames[i].bytes);
    }
    clef_release(frames);
    return status;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static size_t count_items(const clef_json *list) {
    return list == NULL ? 0 : list->count;
}

static void add_item(clef_digest_state *state, const clef_medium *item) {
    clef_digest_add_number(state, item->seconds != NULL);
    clef_digest_add_number(state, item->frame_count);
    clef_digest_add(state, item->digest.bytes, sizeof item->digest.bytes);
}

static clef_status read_pictures(const clef_request *request, const clef_media_arguments *arguments,
                                 clef_media *media, clef_digest_state *state, clef_error *error) {
    const clef_image_options options = {.pixels = arguments->image_pixels};
    const clef_json *value = request->images == NULL ? NULL : request->images->first;
    for (; value != NULL; value = value->next) {
        clef_medium *item = &media->items[media->image_count];
        clef_status status = read_picture(value, &options, item, error);
        if (status != CLEF_OK) {
            name_item("images", media->image_count, SIZE_MAX, error);
            return status;
        }
        media->image_count++;
        add_item(state, item);
    }
    return CLEF_OK;
}

static clef_status read_videos(const clef_request *request, const clef_media_arguments *arguments,
                               clef_arena *arena, clef_media *media, clef_digest_state *state,
                               clef_error *error) {
    const clef_json *value = request->videos == NULL ? NULL : request->videos->first;
    for (; value != NULL; value = value->next) {
        clef_medium *item = &media->items[media->image_count + media->video_count];
        clef_video_options options;
        size_t fault;
        clef_status status = clef_media_arguments_apply(
            arguments, media->video_count, request->videos->count, arena, &options, error);
        if (status != CLEF_OK) {
            return status;
        }
        status = read_video(value, &options, item, &fault, error);
        if (status != CLEF_OK) {
            name_item("videos", media->video_count, fault, error);
            return status;
        }
        media->video_count++;
        add_item(state, item);
    }
    return CLEF_OK;
}

static clef_status check_counts(const clef_request *request, clef_error *error) {
    size_t frames = 0;
    const clef_json *video = request->videos == NULL ? NULL : request->videos->first;
    for (; video != NULL; video = video->next) {
        frames += video->type == CLEF_JSON_ARRAY ? video->count : 0;
    }
    clef_status status = check_count("images", count_items(request->images), "images",
                                     CLEF_IMAGE_COUNT_LIMIT, error);
    if (status == CLEF_OK) {
        status = check_count("videos", count_items(request->videos), "videos",
                             CLEF_VIDEO_COUNT_LIMIT, error);
    }
    return status == CLEF_OK
               ? check_count("videos", frames, "frames", CLEF_VIDEO_FRAME_LIMIT, error)
               : status;
}

clef_status clef_media_read(const clef_request *request, clef_arena *arena, clef_media *media,
                            clef_error *error) {
    size_t count = count_items(request->images) + count_items(request->videos);
    clef_media_arguments arguments;
    clef_digest_state state;
    *media = (clef_media){0};
    if (count == 0) {
        return CLEF_OK;
    }
    clef_status status = check_counts(request, error);
    if (status == CLEF_OK) {
        status = clef_media_arguments_read(request->media_arguments, &arguments, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    media->items = clef_allocate(count, sizeof *media->items);
    if (media->items == NULL) {
        return clef_fail_memory(error, count * sizeof *media->items, "pictures and videos");
    }
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    status = read_pictures(request, &arguments, media, &state, error);
    if (status == CLEF_OK) {
        status = read_videos(request, &arguments, arena, media, &state, error);
    }
    if (status != CLEF_OK) {
        clef_media_release(media);
        return status;
    }
    media->digest = clef_digest_finish(&state);
    return CLEF_OK;
}

size_t clef_media_token_count(const clef_media *media) {
    size_t count = 0;
    for (size_t i = 0; i < clef_media_count(media); i++) {
        count += clef_patch_token_count(media->items[i].grid);
    }
    return count;
}

void clef_media_release(clef_media *media) {
    for (size_t i = 0; i < clef_media_count(media); i++) {
        clef_medium *item = &media->items[i];
        for (uint32_t j = 0; j < item->frame_count; j++) {
            clef_picture_release(&item->frames[j]);
        }
        clef_release(item->frames);
        clef_release(item->seconds);
    }
    clef_release(media->items);
    *media = (clef_media){0};
}
