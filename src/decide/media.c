/* From the lists of a request to pixels, item by item. */
#include "decide/media_item.h"

#include "base/memory.h"

#include <stdio.h>

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

/* What reading has in hand: whose media they are, and what all of them come under. */
typedef struct media_reading {
    const clef_request *request;
    clef_media_source source;
    clef_decode_options decode;
    clef_media_arguments arguments;
    clef_arena *arena;
    clef_media *media;
    clef_digest_state digest;
} media_reading;

static size_t count_items(const clef_json *list) {
    return list == NULL ? 0 : list->count;
}

static void add_item(clef_digest_state *state, const clef_medium *item) {
    clef_digest_add_number(state, item->seconds != NULL);
    clef_digest_add_number(state, item->frame_count);
    clef_digest_add(state, item->digest.bytes, sizeof item->digest.bytes);
}

static clef_status read_pictures(media_reading *of, clef_error *error) {
    const clef_image_options options = {
        .decode = of->decode, .pixels = of->arguments.image_pixels, .memory = &of->media->memory};
    clef_media *media = of->media;
    const clef_json *list = of->request->images;
    const clef_json *value = list == NULL ? NULL : list->first;
    for (; value != NULL; value = value->next) {
        clef_medium *item = &media->items[media->image_count];
        clef_status status = clef_media_picture_read(value, &of->source, &options, item, error);
        if (status != CLEF_OK) {
            name_item("images", media->image_count, SIZE_MAX, error);
            return status;
        }
        media->image_count++;
        add_item(&of->digest, item);
    }
    return CLEF_OK;
}

static clef_status read_videos(media_reading *of, clef_error *error) {
    clef_media *media = of->media;
    const clef_json *list = of->request->videos;
    const clef_json *value = list == NULL ? NULL : list->first;
    for (; value != NULL; value = value->next) {
        clef_medium *item = &media->items[media->image_count + media->video_count];
        clef_video_options options;
        size_t fault;
        clef_status status = clef_media_arguments_apply(&of->arguments, media->video_count,
                                                        list->count, of->arena, &options, error);
        if (status != CLEF_OK) {
            return status;
        }
        status = clef_media_video_read(value, &of->source, &of->decode, &options, &media->memory,
                                       item, &fault, error);
        if (status != CLEF_OK) {
            name_item("videos", media->video_count, fault, error);
            return status;
        }
        media->video_count++;
        add_item(&of->digest, item);
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

/* All items, one behind the other. */
static clef_status read_items(media_reading *of, size_t count, clef_error *error) {
    clef_media *media = of->media;
    media->items = clef_allocate(count, sizeof *media->items);
    if (media->items == NULL) {
        return clef_fail_memory(error, count * sizeof *media->items, "pictures and videos");
    }
    clef_digest_begin(&of->digest, CLEF_DIGEST_KEY);
    clef_status status = read_pictures(of, error);
    if (status == CLEF_OK) {
        status = read_videos(of, error);
    }
    if (status == CLEF_OK) {
        media->digest = clef_digest_finish(&of->digest);
    }
    return status;
}

static bool has_remote(const clef_json *list) {
    const clef_json *value = list == NULL ? NULL : list->first;
    while (value != NULL && !clef_media_item_is_remote(value)) {
        value = value->next;
    }
    return value != NULL;
}

/* Whether the call may read the media of the request. What is refused anyway is in reach. */
static bool is_in_reach(const clef_request *request, const clef_media_settings *settings) {
    switch (settings->reach) {
    case CLEF_MEDIA_REACH_NONE:
        return false;
    case CLEF_MEDIA_REACH_ENCLOSED:
        return settings->remote == NULL ||
               (!has_remote(request->images) && !has_remote(request->videos));
    case CLEF_MEDIA_REACH_ALL:
        break;
    }
    return true;
}

clef_status clef_media_read(const clef_request *request, const clef_media_settings *settings,
                            clef_arena *arena, clef_media *media, clef_error *error) {
    size_t count = count_items(request->images) + count_items(request->videos);
    *media = (clef_media){0};
    if (count == 0) {
        return CLEF_OK;
    }
    media_reading of = {.request = request,
                        .source = {.remote = settings->remote, .stop = settings->stop},
                        .decode = {.ignores_exif = settings->ignores_exif},
                        .arena = arena,
                        .media = media};
    if (settings->usual != NULL) {
        of.arguments = *settings->usual;
    }
    clef_status status = check_counts(request, error);
    if (status == CLEF_OK && !is_in_reach(request, settings)) {
        return clef_fail(error, CLEF_BUSY, "pictures and videos are not read in this call");
    }
    if (status == CLEF_OK) {
        status = clef_media_arguments_read(request->media_arguments, &of.arguments, error);
    }
    if (status == CLEF_OK) {
        media->memory = (clef_memory_grant){
            .budget = settings->budget, .limit = settings->byte_limit, .stop = settings->stop};
        status = read_items(&of, count, error);
        media->memory.stop = (clef_stop){0};
    }
    if (status != CLEF_OK) {
        clef_media_release(media);
    }
    return status;
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
    clef_memory_grant_shrink(&media->memory, media->memory.bytes);
    *media = (clef_media){0};
}
