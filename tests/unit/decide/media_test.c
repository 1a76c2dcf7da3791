/* Spellings of pictures in a request, refusals that name the item, limits, and media_kwargs. */
#include "support.h"

#include "decide/media.h"

#include "base/base64.h"
#include "base/memory.h"
#include "media/decode_video.h"

#include <math.h>
#include <stdio.h>

/* A PNG of 2 × 2 red pixels. */
#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5E" \
    "rkJggg=="

typedef struct case_result {
    clef_status status;
    clef_error error;
    clef_media media;
    clef_arena arena;
} case_result;

/* Reads the media of a request with these members; the caller drops the result. */
static case_result read_members(const char *members) {
    case_result result = {0};
    clef_buffer body = {0};
    clef_request *request;
    clef_buffer_append_format(
        &body, "{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{\"type\":\"noul\"}},%s}",
        members);
    clef_text copy = clef_arena_copy(&result.arena, clef_buffer_text(&body));
    clef_buffer_release(&body);
    assert_ok(clef_request_parse(copy, NULL, &result.arena, &request, &result.error),
              &result.error);
    result.status = clef_media_read(request, &(clef_media_settings){0}, &result.arena,
                                    &result.media, &result.error);
    return result;
}

static void drop(case_result *result) {
    clef_media_release(&result->media);
    clef_arena_release(&result->arena);
}

static void assert_read(const char *members, size_t images, size_t videos) {
    case_result result = read_members(members);
    assert_ok(result.status, &result.error);
    assert_int_equal(result.media.image_count, images);
    assert_int_equal(result.media.video_count, videos);
    drop(&result);
}

static void assert_refused(const char *members, clef_status status, const char *message,
                           const char *place) {
    case_result result = read_members(members);
    assert_int_equal(result.status, status);
    assert_string_equal(result.error.message, message);
    assert_string_equal(result.error.place, place);
    assert_string_equal(result.error.kind,
                        status == CLEF_OVER_LIMIT ? "over_limit" : "media_error");
    assert_int_equal(clef_media_count(&result.media), 0);
    assert_null(result.media.items);
    drop(&result);
}

static void spellings_are_read(void **state) {
    (void)state;
    assert_read("\"images\":[]", 0, 0);
    assert_read("\"images\":[\"" PNG "\"]", 1, 0);
    assert_read("\"images\":[\"data:image/jpeg;base64," PNG "\"]", 1, 0);
    assert_read("\"images\":[\"DATA:;x=y;BASE64," PNG "\"]", 1, 0);
    assert_read("\"images\":[{\"content_type\":\"image/png\",\"base64\":\"" PNG "\"}]", 1, 0);
    assert_read("\"images\":[{\"url\":\"data:image/png;base64," PNG "\"}]", 1, 0);
    assert_read("\"images\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:;base64," PNG
                "\"}}]",
                1, 0);
    assert_read("\"images\":[{\"type\":\"image_url\",\"image_url\":\"data:;base64," PNG "\"}]", 1,
                0);
}

static void refusals_name_the_item(void **state) {
    static const char form[] = "images[1]: expected a base64 string, a data: URL or an http(s) URL";
    static const char *const wrong[] = {"7",
                                        "null",
                                        "[\"" PNG "\"]",
                                        "{}",
                                        "{\"url\":7}",
                                        "{\"image_url\":null}",
                                        "{\"image_url\":{\"href\":\"x\"}}",
                                        "\"\"",
                                        "\"file:///etc/passwd\"",
                                        "{\"url\":\"ftp://x/y.png\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char members[1024];
        snprintf(members, sizeof members, "\"images\":[\"" PNG "\",%s]", wrong[i]);
        assert_refused(members, CLEF_BAD_REQUEST, form,
                       "images\x1f"
                       "1");
    }
    assert_refused("\"images\":[\"https://example.org/a.png\"]", CLEF_BAD_REQUEST,
                   "images[0]: remote image URLs are disabled on this server",
                   "images\x1f"
                   "0");
    assert_refused("\"images\":[{\"url\":\"HTTP://example.org/a.png\"}]", CLEF_BAD_REQUEST,
                   "images[0]: remote image URLs are disabled on this server",
                   "images\x1f"
                   "0");
    assert_refused("\"images\":[\"data:image/png,abc\"]", CLEF_BAD_REQUEST,
                   "images[0]: data: URL must be base64 encoded",
                   "images\x1f"
                   "0");
    assert_refused("\"videos\":[[]]", CLEF_BAD_REQUEST,
                   "videos[0]: a video needs at least one frame",
                   "videos\x1f"
                   "0");
    assert_refused("\"videos\":[5]", CLEF_BAD_REQUEST,
                   "videos[0]: expected a list of frames, or a video file as a base64 string, a "
                   "data: URL or an http(s) URL",
                   "videos\x1f"
                   "0");
    assert_refused(
        "\"videos\":[\"!\"]", CLEF_BAD_REQUEST,
        "videos[0]: invalid base64 video data: byte 0 is '!', which is not of the base64 "
        "alphabet",
        "videos\x1f"
        "0");
    assert_refused("\"videos\":[[\"" PNG "\",5]]", CLEF_BAD_REQUEST,
                   "videos[0][1]: expected a base64 string, a data: URL or an http(s) URL",
                   "videos\x1f"
                   "0\x1f"
                   "1");
}

/* A list of `count` values. */
static void assert_too_many(const char *name, size_t count, const char *value,
                            const char *message) {
    clef_buffer members = {0};
    clef_buffer_append_format(&members, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_format(&members, "%s%s", i > 0 ? "," : "", value);
    }
    clef_buffer_append(&members, "]", 2);
    assert_refused(clef_buffer_text(&members).bytes, CLEF_OVER_LIMIT, message, name);
    clef_buffer_release(&members);
}

static void counts_are_limited(void **state) {
    (void)state;
    assert_too_many("images", 17, "1", "images: 17 images, over the limit of 16");
    assert_too_many("videos", 5, "[1]", "videos: 5 videos, over the limit of 4");
    clef_buffer frames = {0};
    clef_buffer_append_string(&frames, "[1");
    for (size_t i = 1; i < 400; i++) {
        clef_buffer_append_string(&frames, ",1");
    }
    clef_buffer_append(&frames, "]", 2);
    assert_too_many("videos", 2, clef_buffer_text(&frames).bytes,
                    "videos: 800 frames, over the limit of 768");
    clef_buffer_release(&frames);
}

static void digests_follow_pixels_order_and_kind(void **state) {
    static const char *const members[] = {
        "\"images\":[\"" PNG "\"]", "\"images\":[\"" PNG "\",\"" PNG "\"]",
        "\"images\":[\"" PNG "\"],\"media_kwargs\":{\"min_pixels\":100000}"};
    clef_digest digests[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        case_result result = read_members(members[i]);
        assert_ok(result.status, &result.error);
        digests[i] = result.media.digest;
        drop(&result);
        for (size_t j = 0; j < i; j++) {
            assert_false(clef_digest_equals(&digests[i], &digests[j]));
        }
    }
    case_result spelled = read_members("\"images\":[{\"base64\":\"" PNG "\"}]");
    assert_true(clef_digest_equals(&spelled.media.digest, &digests[0]));
    drop(&spelled);
}

/* ---- media_kwargs ---- */

static clef_media_arguments read_arguments(clef_arena *arena, const char *json) {
    clef_error error = {0};
    clef_media_arguments arguments = {0};
    assert_ok(clef_media_arguments_read(parse_json(clef_text_of(json), arena), &arguments, &error),
              &error);
    return arguments;
}

static void arguments_are_read(void **state) {
    clef_arena arena = {0};
    clef_error error = {0};
    clef_video_options options;
    (void)state;
    clef_media_arguments a = read_arguments(
        &arena, "{\"do_sample_frames\":false,\"fps\":null,\"num_frames\":6,\"size\":"
                "{\"shortest_edge\":4096,\"longest_edge\":8192},\"max_pixels\":9000,"
                "\"cap_pixels_per_frame\":true,\"video_metadata\":[{\"fps\":10.5,"
                "\"total_num_frames\":30,\"duration\":3.0},{\"frames_indices\":[1,5]}]}");
    assert_int_equal(a.image_pixels.minimum, 4096);
    assert_int_equal(a.image_pixels.maximum, 9000);
    assert_ok(clef_media_arguments_apply(&a, 0, 2, &arena, &options, &error), &error);
    assert_true(options.uses_all_frames && options.has_no_rate && !options.has_rate);
    assert_true(options.has_frame_target && options.caps_frame_pixels);
    assert_int_equal(options.frame_target, 6);
    assert_int_equal(options.pixels.maximum, 9000);
    assert_true(options.metadata_rate == 10.5);
    assert_int_equal(options.metadata_frame_count, 30);
    assert_ok(clef_media_arguments_apply(&a, 1, 2, &arena, &options, &error), &error);
    assert_false(options.has_metadata_rate);
    assert_int_equal(options.metadata_index_count, 2);
    assert_int_equal(options.metadata_indices[1], 5);
    assert_int_equal(clef_media_arguments_apply(&a, 0, 1, &arena, &options, &error),
                     CLEF_BAD_REQUEST);
    a = read_arguments(&arena, "{\"fps\":12,\"size\":null}");
    assert_true(a.video.has_rate && a.video.rate == 12);
    clef_arena_release(&arena);
}

static void wrong_arguments_are_named(void **state) {
    static const struct {
        const char *json, *message, *place;
    } cases[] = {
        {"{\"fps\":\"x\"}", "media_kwargs: fps: expected a number, found a string",
         "media_kwargs\x1f"
         "fps"},
        {"{\"num_frames\":2.5}",
         "media_kwargs: num_frames: expected a whole number over 0, found 2.5",
         "media_kwargs\x1f"
         "num_frames"},
        {"{\"num_frames\":0}", "media_kwargs: num_frames: expected a whole number over 0, found 0",
         "media_kwargs\x1f"
         "num_frames"},
        {"{\"do_sample_frames\":0}",
         "media_kwargs: do_sample_frames: expected true or false, found 0",
         "media_kwargs\x1f"
         "do_sample_frames"},
        {"{\"size\":3}",
         "media_kwargs: size: expected a mapping with shortest_edge and longest_edge, found 3",
         "media_kwargs\x1f"
         "size"},
        {"{\"video_metadata\":7}",
         "media_kwargs: video_metadata: expected a list of mappings, found 7",
         "media_kwargs\x1f"
         "video_metadata"},
        {"{\"cap_pixels_per_frame\":[]}",
         "media_kwargs: cap_pixels_per_frame: expected true or false, found a list",
         "media_kwargs\x1f"
         "cap_pixels_per_frame"},
        {"{\"fps\":{}}", "media_kwargs: fps: expected a number, found a mapping",
         "media_kwargs\x1f"
         "fps"},
        {"{\"max_pixels\":true}",
         "media_kwargs: max_pixels: expected a whole number over 0, found true",
         "media_kwargs\x1f"
         "max_pixels"},
        {"{\"bogus\":1}",
         "media_kwargs: bogus: expected one of the keys size, min_pixels, max_pixels, "
         "do_sample_frames, fps, num_frames, video_metadata, cap_pixels_per_frame",
         "media_kwargs\x1f"
         "bogus"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[512];
        snprintf(members, sizeof members, "\"images\":[\"" PNG "\"],\"media_kwargs\":%s",
                 cases[i].json);
        assert_refused(members, CLEF_BAD_REQUEST, cases[i].message, cases[i].place);
    }
}

/* ---- video files ---------------------------------------------------------------------------- */

/* Members with a video file of the fixtures, and more behind the list. */
static case_result read_video_file(const char *more) {
    clef_buffer members = {0};
    clef_text file = load_file(fixture("media/counted.mp4"));
    clef_buffer_append_string(&members, "\"videos\":[\"data:video/mp4;base64,");
    clef_base64_append(&members, file.bytes, file.length);
    clef_buffer_append_format(&members, "\"]%s", more);
    release_text(file);
    case_result result = read_members(members.bytes);
    clef_buffer_release(&members);
    return result;
}

static void assert_seconds(const char *more, uint32_t frames, const double *seconds, size_t count) {
    case_result result = read_video_file(more);
    assert_ok(result.status, &result.error);
    assert_int_equal(result.media.video_count, 1);
    const clef_medium *video = result.media.items;
    assert_int_equal(video->frame_count, frames);
    assert_int_equal(video->grid.frames, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabs(video->seconds[i] - seconds[i]) < 1e-9);
    }
    drop(&result);
}

/* Twenty frames, ten a second: sampled by the file's own rate, unless the request has another. */
static void video_files_are_sampled_by_their_rate(void **state) {
    static const double own[] = {0.3, 1.6}, said[] = {0.15, 0.8};
    (void)state;
    if (!clef_video_is_built()) {
        assert_refused("\"videos\":[\"AAAA\"]", CLEF_BAD_REQUEST,
                       "videos[0]: this build reads no video files: it was made with "
                       "CLEF_VIDEO=OFF, which is the default where FFmpeg's libraries are not "
                       "found",
                       "videos\x1f"
                       "0");
        return;
    }
    assert_seconds("", 4, own, 2);
    assert_seconds(",\"media_kwargs\":{\"video_metadata\":{\"fps\":20}}", 4, said, 2);
    case_result all = read_video_file(",\"media_kwargs\":{\"do_sample_frames\":false}");
    assert_ok(all.status, &all.error);
    assert_int_equal(all.media.items->frame_count, 20);
    assert_true(fabs(all.media.items->seconds[9] - 1.85) < 1e-9);
    drop(&all);
    assert_refused("\"videos\":[\"AAAA\"]", CLEF_BAD_REQUEST,
                   "videos[0]: not a readable video (opening: Invalid data found when processing "
                   "input)",
                   "videos\x1f"
                   "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_are_read),
        cmocka_unit_test(refusals_name_the_item),
        cmocka_unit_test(counts_are_limited),
        cmocka_unit_test(digests_follow_pixels_order_and_kind),
        cmocka_unit_test(arguments_are_read),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(video_files_are_sampled_by_their_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
