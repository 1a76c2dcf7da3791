/* media_kwargs: the keys that change how pictures and videos are prepared. One table says which
 * there are; what their values mean together is decided where videos are planned. */
#include "decide/media.h"

#include "decide/render.h"
#include "media/media_error.h"

#include <stdio.h>

/* What was found instead: scalars as they stand, as far as a message goes; the rest by kind. */
static void describe_value(const clef_json *value, char found[CLEF_NAME_BYTES]) {
    switch (value->type) {
    case CLEF_JSON_NULL:
    case CLEF_JSON_FALSE:
    case CLEF_JSON_TRUE:
        snprintf(found, CLEF_NAME_BYTES, "%s",
                 value->type == CLEF_JSON_NULL    ? "null"
                 : value->type == CLEF_JSON_FALSE ? "false"
                                                  : "true");
        break;
    case CLEF_JSON_NUMBER:
        clef_render_name(value->text, found);
        break;
    case CLEF_JSON_STRING:
        snprintf(found, CLEF_NAME_BYTES, "a string");
        break;
    case CLEF_JSON_ARRAY:
        snprintf(found, CLEF_NAME_BYTES, "a list");
        break;
    case CLEF_JSON_OBJECT:
        snprintf(found, CLEF_NAME_BYTES, "a mapping");
        break;
    }
}

static clef_status refuse_value(const clef_json *value, const char *expected, clef_error *error) {
    char name[CLEF_NAME_BYTES];
    char found[CLEF_NAME_BYTES];
    clef_render_name(value->key, name);
    describe_value(value, found);
    clef_fail_media(error, CLEF_BAD_REQUEST, "media_kwargs: %s: expected %s, found %s", name,
                    expected, found);
    clef_render_place(value->key, name);
    clef_error_set_place(error, "media_kwargs" CLEF_PLACE_SEPARATOR "%s", name);
    return CLEF_BAD_REQUEST;
}

static clef_status refuse_key(const clef_json *value, clef_error *error) {
    char name[CLEF_NAME_BYTES];
    clef_render_name(value->key, name);
    clef_fail_media(error, CLEF_BAD_REQUEST,
                    "media_kwargs: %s: expected one of the keys size, min_pixels, max_pixels, "
                    "do_sample_frames, fps, num_frames, video_metadata, cap_pixels_per_frame",
                    name);
    clef_render_place(value->key, name);
    clef_error_set_place(error, "media_kwargs" CLEF_PLACE_SEPARATOR "%s", name);
    return CLEF_BAD_REQUEST;
}

/* ---- values --------------------------------------------------------------------------------- */

static clef_status read_flag(const clef_json *value, bool *flag, clef_error *error) {
    if (value->type != CLEF_JSON_TRUE && value->type != CLEF_JSON_FALSE) {
        return refuse_value(value, "true or false", error);
    }
    *flag = value->type == CLEF_JSON_TRUE;
    return CLEF_OK;
}

static clef_status read_count(const clef_json *value, uint64_t *count, clef_error *error) {
    if (value->type != CLEF_JSON_NUMBER || !clef_json_unsigned(value, count) || *count == 0) {
        return refuse_value(value, "a whole number over 0", error);
    }
    return CLEF_OK;
}

static clef_status read_number(const clef_json *value, double *number, clef_error *error) {
    if (value->type != CLEF_JSON_NUMBER) {
        return refuse_value(value, "a number", error);
    }
    *number = clef_json_double(value->text);
    return CLEF_OK;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static clef_status read_sampling(const clef_json *value, clef_media_arguments *arguments,
                                 clef_error *error) {
    bool samples = true;
    clef_status status = read_flag(value, &samples, error);
    arguments->video.uses_all_frames = !samples;
    return status;
}

static clef_status read_rate(const clef_json *value, clef_media_arguments *arguments,
                             clef_error *error) {
    arguments->video.has_rate = true;
    return read_number(value, &arguments->video.rate, error);
}

static clef_status read_target(const clef_json *value, clef_media_arguments *arguments,
                               clef_error *error) {
    arguments->video.has_frame_target = true;
    return read_count(value, &arguments->video.frame_target, error);
}

static clef_status read_metadata(const clef_json *value, clef_media_arguments *arguments,
                                 clef_error *error) {
    if (value->type != CLEF_JSON_OBJECT && value->type != CLEF_JSON_ARRAY) {
        return refuse_value(value, "a list of mappings", error);
    }
    arguments->metadata = value;
    return CLEF_OK;
}

static clef_status read_minimum(const clef_json *value, clef_media_arguments *arguments,
                                clef_error *error) {
    clef_status status = read_count(value, &arguments->image_pixels.minimum, error);
    arguments->video.pixels.minimum = arguments->image_pixels.minimum;
    return status;
}

static clef_status read_maximum(const clef_json *value, clef_media_arguments *arguments,
                                clef_error *error) {
    clef_status status = read_count(value, &arguments->image_pixels.maximum, error);
    arguments->video.pixels.maximum = arguments->image_pixels.maximum;
    return status;
}

/* {"shortest_edge": …, "longest_edge": …}, which are pixels, whatever they are called. */
static clef_status read_size(const clef_json *value, clef_media_arguments *arguments,
                             clef_error *error) {
    const clef_json *shortest = clef_json_member(value, "shortest_edge");
    const clef_json *longest = clef_json_member(value, "longest_edge");
    if (shortest == NULL || longest == NULL) {
        return refuse_value(value, "a mapping with shortest_edge and longest_edge", error);
    }
    clef_status status = read_minimum(shortest, arguments, error);
    return status == CLEF_OK ? read_maximum(longest, arguments, error) : status;
}

static clef_status read_cap(const clef_json *value, clef_media_arguments *arguments,
                            clef_error *error) {
    return read_flag(value, &arguments->video.caps_frame_pixels, error);
}

static const struct argument_key {
    const char *name;
    clef_status (*read)(const clef_json *value, clef_media_arguments *arguments, clef_error *error);
} keys[] = {
    {"size", read_size}, /* before the two that may narrow it */
    {"min_pixels", read_minimum},
    {"max_pixels", read_maximum},
    {"do_sample_frames", read_sampling},
    {"fps", read_rate},
    {"num_frames", read_target},
    {"video_metadata", read_metadata},
    {"cap_pixels_per_frame", read_cap},
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

static clef_status check_keys(const clef_json *object, clef_error *error) {
    for (const clef_json *value = object->first; value != NULL; value = value->next) {
        size_t i = 0;
        while (i < KEY_COUNT && !clef_text_equals(value->key, clef_text_of(keys[i].name))) {
            i++;
        }
        if (i == KEY_COUNT) {
            return refuse_key(value, error);
        }
    }
    return CLEF_OK;
}

clef_status clef_media_arguments_read(const clef_json *object, clef_media_arguments *arguments,
                                      clef_error *error) {
    if (object == NULL) {
        return CLEF_OK;
    }
    clef_status status = check_keys(object, error);
    for (size_t i = 0; i < KEY_COUNT && status == CLEF_OK; i++) {
        const clef_json *value = clef_json_member(object, keys[i].name);
        if (value != NULL && value->type != CLEF_JSON_NULL) {
            status = keys[i].read(value, arguments, error);
        } else if (value != NULL && keys[i].read == read_rate) {
            arguments->video.has_no_rate = true; /* null takes away the rate of the default */
        }
    }
    return status;
}

/* ---- metadata ------------------------------------------------------------------------------- */

static clef_status read_indices(const clef_json *list, clef_arena *arena,
                                clef_video_options *options, clef_error *error) {
    if (list->type != CLEF_JSON_ARRAY) {
        return refuse_value(list, "a list of whole numbers", error);
    }
    uint64_t *indices = clef_arena_allocate(arena, list->count, sizeof *indices);
    if (indices == NULL) {
        return clef_fail_memory(error, list->count * sizeof *indices, "the indices of frames");
    }
    size_t count = 0;
    for (const clef_json *item = list->first; item != NULL; item = item->next) {
        if (item->type != CLEF_JSON_NUMBER || !clef_json_unsigned(item, &indices[count++])) {
            return refuse_value(list, "a list of whole numbers", error);
        }
    }
    options->metadata_indices = indices;
    options->metadata_index_count = count;
    return CLEF_OK;
}

static const clef_json *given(const clef_json *object, const char *key) {
    const clef_json *value = clef_json_member(object, key);
    return value == NULL || value->type == CLEF_JSON_NULL ? NULL : value;
}

clef_status clef_media_arguments_apply(const clef_media_arguments *arguments, size_t index,
                                       size_t count, clef_arena *arena, clef_video_options *options,
                                       clef_error *error) {
    *options = arguments->video;
    const clef_json *metadata = arguments->metadata;
    if (metadata == NULL) {
        return CLEF_OK;
    }
    if (metadata->type == CLEF_JSON_ARRAY) {
        if (metadata->count != count) {
            return refuse_value(metadata, "one entry for each video", error);
        }
        metadata = metadata->first;
        for (; index > 0; index--) {
            metadata = metadata->next;
        }
    }
    if (metadata->type == CLEF_JSON_NULL) {
        return CLEF_OK;
    }
    if (metadata->type != CLEF_JSON_OBJECT) {
        return refuse_value(arguments->metadata, "a list of mappings", error);
    }
    clef_status status = CLEF_OK;
    const clef_json *value = given(metadata, "fps");
    if (value != NULL) {
        options->has_metadata_rate = true;
        status = read_number(value, &options->metadata_rate, error);
    }
    value = given(metadata, "total_num_frames");
    if (status == CLEF_OK && value != NULL) {
        options->has_metadata_frame_count = true;
        status = read_count(value, &options->metadata_frame_count, error);
    }
    value = given(metadata, "frames_indices");
    return status == CLEF_OK && value != NULL ? read_indices(value, arena, options, error) : status;
}
