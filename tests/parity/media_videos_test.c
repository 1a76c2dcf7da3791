/* Every frame list of the fixtures: the same frames, times, sizes, bytes and floats as the
 * reference. */
#include "support_media.h"

#include "base/memory.h"
#include "media/media_text.h"
#include "media/video.h"

#include <math.h>
#include <stdio.h>

static size_t accepted_count, refused_count;

static double number_of_member(const clef_json *object, const char *key) {
    return clef_json_double(member(object, key)->text);
}

/* media_kwargs as a request parser would read them. */
static clef_video_options read_options(const clef_json *kwargs) {
    clef_video_options options = {0};
    if (kwargs == NULL) {
        return options;
    }
    const clef_json *rate = clef_json_member(kwargs, "fps");
    options.has_no_rate = rate != NULL && rate->type == CLEF_JSON_NULL;
    options.has_rate = rate != NULL && !options.has_no_rate;
    options.rate = options.has_rate ? clef_json_double(rate->text) : 0;
    const clef_json *sampling = clef_json_member(kwargs, "do_sample_frames");
    options.uses_all_frames = sampling != NULL && sampling->type == CLEF_JSON_FALSE;
    options.has_frame_target = has_member(kwargs, "num_frames");
    if (options.has_frame_target) {
        clef_json_unsigned(member(kwargs, "num_frames"), &options.frame_target);
    }
    const clef_json *metadata = clef_json_member(kwargs, "video_metadata");
    if (metadata != NULL && metadata->type == CLEF_JSON_ARRAY) {
        metadata = metadata->first;
    }
    if (metadata != NULL) {
        options.has_metadata_rate = options.has_metadata_frame_count = true;
        options.metadata_rate = number_of_member(metadata, "fps");
        clef_json_unsigned(member(metadata, "total_num_frames"), &options.metadata_frame_count);
    }
    const clef_json *size = clef_json_member(kwargs, "size");
    if (size != NULL) {
        clef_json_unsigned(member(size, "shortest_edge"), &options.pixels.minimum);
        clef_json_unsigned(member(size, "longest_edge"), &options.pixels.maximum);
    }
    return options;
}

static void check_plan(const clef_json *row, const clef_video_plan *plan) {
    const clef_json *indices = member(row, "sampled_indices");
    assert_int_equal(plan->frame_count, indices->count);
    for (uint32_t i = 0; i < plan->frame_count; i++) {
        assert_int_equal(plan->indices[i], number_at(indices, i));
    }
    const clef_json *grid = member(row, "grid_thw");
    assert_int_equal(plan->grid.frames, number_at(grid, 0));
    assert_int_equal(plan->grid.rows, number_at(grid, 1));
    assert_int_equal(plan->grid.columns, number_at(grid, 2));
    const clef_json *timestamps = member(row, "timestamps");
    assert_int_equal(plan->grid.frames, timestamps->count);
    const clef_json *timestamp = timestamps->first;
    for (uint32_t i = 0; i < plan->grid.frames; i++, timestamp = timestamp->next) {
        char label[CLEF_VIDEO_LABEL_BYTES], text[CLEF_VIDEO_LABEL_BYTES + 16];
        clef_video_label_write(plan->seconds[i], label);
        snprintf(text, sizeof text, "%s seconds", label);
        assert_true(clef_text_equals(timestamp->text, clef_text_of(text)));
    }
}

static void check_values(const clef_json *row, const clef_video *video) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_SHA256);
    for (uint32_t i = 0; i < video->plan.frame_count; i++) {
        const clef_picture *frame = &video->frames[i];
        clef_digest_add(&state, frame->rgb, (size_t)frame->width * frame->height * 3);
    }
    assert_digest_text(&state, row, "resized_sha256");
    size_t count = clef_patch_grid_patches(video->plan.grid);
    assert_int_equal(count, number_at(member(row, "pixel_values_shape"), 0));
    float *values = clef_allocate(count, CLEF_PATCH_VALUES * sizeof *values);
    clef_patches_write(video->frames, video->plan.frame_count, CLEF_PIXEL_TORCH, 0, count, values);
    assert_sha256(values, count * CLEF_PATCH_VALUES * sizeof *values, row, "pixel_values_sha256");
    double expected = number_of_member(row, "pixel_values_sum");
    assert_true(fabs(sum_floats(values, count * CLEF_PATCH_VALUES) - expected) <
                1e-9 * fabs(expected));
    clef_release(values);
}

/* error->message is "" when the video is read and checked. */
static void read_video(const clef_json *row, clef_text *frames, uint32_t count, clef_error *error) {
    *error = (clef_error){0};
    clef_frame_list list = {.frames = frames, .frame_count = count};
    clef_frame_source source;
    clef_video video = {0};
    clef_video_options options = read_options(clef_json_member(row, "media_kwargs"));
    clef_status status = clef_frame_list_open(&list, &source, error);
    if (status == CLEF_OK) {
        status = clef_video_read(&source, &options, CLEF_RESIZE_TORCH, NULL, &video, error);
    }
    if (status == CLEF_OK && has_member(row, "grid_thw")) {
        check_plan(row, &video.plan);
        check_values(row, &video);
    }
    assert_true(status == CLEF_OK || strcmp(error->kind, "media_error") == 0);
    clef_video_release(&video);
}

static void check_video(void *context, size_t number, clef_text line) {
    (void)context;
    (void)number;
    clef_arena arena = {0};
    const clef_json *row = parse_json(line, &arena);
    const clef_json *names = member(row, "frames");
    clef_text frames[64];
    uint32_t count = 0;
    for (const clef_json *name = names->first; name != NULL; name = name->next) {
        frames[count++] = load_picture_file(name->text);
    }
    clef_error error;
    read_video(row, frames, count, &error);
    if (has_member(row, "error")) {
        bool is_unequal = clef_text_equals(member(row, "name")->text, CLEF_TEXT("unequal"));
        assert_non_null(strstr(error.message, is_unequal
                                                  ? "equal size: this one is 75x50, the first is "
                                                    "96x64"
                                                  : "num_frames and fps exclude each other"));
        refused_count++;
    } else {
        assert_string_equal(error.message, "");
        accepted_count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        clef_release((void *)(uintptr_t)frames[i].bytes);
    }
    clef_arena_release(&arena);
}

static void every_video_equals_the_reference(void **state) {
    (void)state;
    for_each_line(fixture("tiny-random/media/videos.jsonl"), check_video, NULL);
    assert_int_equal(accepted_count, 16);
    assert_int_equal(refused_count, 2);
}

/* Frames of the requests that the reference refuses, or that it accepts against expectation. */
static void check_request(void *context, size_t number, clef_text line) {
    (void)number;
    clef_arena arena = {0};
    const clef_json *row = parse_json(line, &arena);
    const clef_json *request = parse_json(member(row, "request")->text, &arena);
    const clef_json *videos = clef_json_member(request, "videos");
    for (const clef_json *video = videos == NULL ? NULL : videos->first; video != NULL;
         video = video->next) {
        clef_text frames[8];
        uint32_t count = 0;
        for (const clef_json *frame = video->first; frame != NULL; frame = frame->next) {
            clef_error fault = {0};
            uint8_t *bytes;
            size_t length;
            assert_ok(
                clef_media_text_decode(frame->text, CLEF_MEDIA_IMAGE, 0, &bytes, &length, &fault),
                &fault);
            frames[count++] = (clef_text){(char *)bytes, length};
        }
        clef_error error;
        read_video(request, frames, count, &error);
        const char *message = error.message;
        clef_text name = member(row, "name")->text;
        const char *expected = clef_text_equals(name, CLEF_TEXT("frames-of-unequal-size"))
                                   ? "frames of one video must have equal size"
                               : clef_text_equals(name, CLEF_TEXT("frames-under-32"))
                                   ? "height:16 or width:16 must be larger than factor:32"
                                   : "";
        assert_true(strncmp(message, expected, strlen(expected)) == 0);
        assert_true((message[0] == '\0') == (expected[0] == '\0'));
        for (uint32_t i = 0; i < count; i++) {
            clef_release((void *)(uintptr_t)frames[i].bytes);
        }
        *(size_t *)context += 1;
    }
    clef_arena_release(&arena);
}

static void videos_of_refused_requests(void **state) {
    (void)state;
    size_t count = 0;
    for_each_line(fixture("tiny-random/media/refused.jsonl"), check_request, &count);
    assert_int_equal(count, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_video_equals_the_reference),
        cmocka_unit_test(videos_of_refused_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
