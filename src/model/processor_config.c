/* Reading of processor_config.json: two sections that have most members in common. */
#include "model/processor_config.h"

#include "base/file.h"
#include "base/memory.h"
#include "model/config_fields.h"

#include <math.h>

#define FILE_NAME       "processor_config.json"
#define FILE_BYTE_LIMIT ((size_t)1 << 20)
/* Pixels that a picture or a video may be enlarged to. */
#define PIXEL_LIMIT (UINT32_C(1) << 28)
#define RATE_LIMIT  1000.0

clef_processor_config clef_processor_config_default(void) {
    return (clef_processor_config){
        .image_pixels_least = 65536,
        .image_pixels_most = 16777216,
        .video_pixels_least = 4096,
        .video_pixels_most = 25165824,
        .video_rate = 2,
        .video_frames_least = 4,
        .video_frames_most = CLEF_PROCESSOR_FRAME_LIMIT,
    };
}

/* ---- what must be as it is here ------------------------------------------------------------- */

static clef_status expect_number(const clef_config_fields *fields, const char *name,
                                 double expected, const char *text) {
    const clef_json *value = clef_config_fields_find(fields, name);
    if (value == NULL || (value->type == CLEF_JSON_NUMBER &&
                          fabs(clef_json_double(value->text) - expected) <= 1e-9 * expected)) {
        return CLEF_OK;
    }
    return clef_config_fields_fail(fields, name, value, text);
}

/* A list of three, all one half. */
static clef_status expect_halves(const clef_config_fields *fields, const char *name) {
    const clef_json *list = clef_config_fields_find(fields, name);
    bool is_good = list == NULL || (list->type == CLEF_JSON_ARRAY && list->count == 3);
    const clef_json *item = list == NULL || !is_good ? NULL : list->first;
    for (; item != NULL; item = item->next) {
        is_good = is_good && item->type == CLEF_JSON_NUMBER && clef_json_double(item->text) == 0.5;
    }
    return is_good ? CLEF_OK : clef_config_fields_fail(fields, name, list, "[0.5, 0.5, 0.5]");
}

static clef_status expect_flags(const clef_config_fields *fields) {
    static const char *const names[] = {"do_resize", "do_rescale", "do_normalize",
                                        "do_convert_rgb"};
    clef_status status = CLEF_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == CLEF_OK; i++) {
        status = clef_config_fields_expect_flag(fields, names[i], true);
    }
    return status;
}

static clef_status expect_fixed(const clef_config_fields *fields) {
    clef_status status = expect_flags(fields);
    if (status == CLEF_OK) {
        status = expect_halves(fields, "image_mean");
    }
    if (status == CLEF_OK) {
        status = expect_halves(fields, "image_std");
    }
    static const struct fixed_number {
        const char *name;
        double value;
        const char *text;
    } numbers[] = {
        {"rescale_factor", 1.0 / 255, "1/255"},
        {"resample", 3, "3, which is bicubic"},
        {"patch_size", 16, "16"},
        {"merge_size", 2, "2"},
        {"temporal_patch_size", 2, "2"},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == CLEF_OK; i++) {
        status = expect_number(fields, numbers[i].name, numbers[i].value, numbers[i].text);
    }
    return status;
}

/* ---- what is taken -------------------------------------------------------------------------- */

/* A whole number where there is one, else what stands in *result. */
static clef_status take_size(const clef_config_fields *fields, const char *name, uint32_t low,
                             uint32_t high, uint32_t *result) {
    return clef_config_fields_find(fields, name) == NULL
               ? CLEF_OK
               : clef_config_fields_size(fields, name, low, high, result);
}

static clef_status take_pixels(const clef_config_fields *section, const char *scope,
                               uint32_t *least, uint32_t *most) {
    clef_config_fields size;
    clef_status status = clef_config_fields_enter(section, "size", scope, &size);
    if (status != CLEF_OK || size.object == NULL) {
        return status;
    }
    status = take_size(&size, "longest_edge", 1024, PIXEL_LIMIT, most);
    return status == CLEF_OK ? take_size(&size, "shortest_edge", 1, *most, least) : status;
}

static clef_status read_images(const clef_config_fields *root, clef_processor_config *config) {
    clef_config_fields section;
    clef_status status =
        clef_config_fields_enter(root, "image_processor", "image_processor.", &section);
    if (status != CLEF_OK || section.object == NULL) {
        return status;
    }
    status = expect_fixed(&section);
    return status == CLEF_OK ? take_pixels(&section, "image_processor.size.",
                                           &config->image_pixels_least, &config->image_pixels_most)
                             : status;
}

static clef_status read_videos(const clef_config_fields *root, clef_processor_config *config) {
    clef_config_fields section;
    clef_status status =
        clef_config_fields_enter(root, "video_processor", "video_processor.", &section);
    if (status != CLEF_OK || section.object == NULL) {
        return status;
    }
    status = expect_fixed(&section);
    if (status == CLEF_OK) {
        status = clef_config_fields_expect_flag(&section, "do_sample_frames", true);
    }
    if (status == CLEF_OK) {
        status = take_pixels(&section, "video_processor.size.", &config->video_pixels_least,
                             &config->video_pixels_most);
    }
    if (status == CLEF_OK && clef_config_fields_find(&section, "fps") != NULL) {
        status = clef_config_fields_number(&section, "fps", 0, RATE_LIMIT, &config->video_rate);
    }
    if (status == CLEF_OK) {
        status = take_size(&section, "max_frames", 1, CLEF_PROCESSOR_FRAME_LIMIT,
                           &config->video_frames_most);
    }
    return status == CLEF_OK ? take_size(&section, "min_frames", 1, config->video_frames_most,
                                         &config->video_frames_least)
                             : status;
}

clef_status clef_processor_config_parse(const char *name, clef_text text,
                                        clef_processor_config *config, clef_error *error) {
    *config = clef_processor_config_default();
    clef_arena arena = {0};
    clef_config_fields fields;
    clef_status status = clef_config_fields_parse(name, text, &arena, &fields, error);
    if (status == CLEF_OK) {
        status = read_images(&fields, config);
    }
    if (status == CLEF_OK) {
        status = read_videos(&fields, config);
    }
    clef_arena_release(&arena);
    return status;
}

clef_status clef_processor_config_load(const char *directory, clef_processor_config *config,
                                       clef_error *error) {
    *config = clef_processor_config_default();
    char *path = clef_path_join(directory, FILE_NAME);
    if (path == NULL) {
        return clef_fail_memory(error, strlen(directory), "a path");
    }
    clef_file file;
    clef_status status = CLEF_OK;
    /* A dangling link is there, and gets its own message. */
    if (clef_path_is_taken(path)) {
        status = clef_file_read(path, FILE_BYTE_LIMIT, &file, error);
        if (status == CLEF_OK) {
            status = clef_processor_config_parse(path, (clef_text){file.bytes, file.length}, config,
                                                 error);
            clef_file_close(&file);
        }
    }
    clef_release(path);
    return status;
}
