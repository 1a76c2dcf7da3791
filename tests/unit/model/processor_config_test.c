/* processor_config.json: the published numbers, other sizes and rates, what may be absent, and what
 * is refused with the member, the value and what is expected. */
#include "support.h"

#include "base/memory.h"
#include "model/processor_config.h"

static clef_text published; /* byte for byte that of the releases */

static int load_text(void **state) {
    (void)state;
    published = load_file(fixture("tiny-random/release/processor_config.json"));
    return 0;
}

static int drop_text(void **state) {
    (void)state;
    release_text(published);
    return 0;
}

static void assert_default(const clef_processor_config *config) {
    assert_int_equal(config->image_pixels_least, 65536);
    assert_int_equal(config->image_pixels_most, 16777216);
    assert_int_equal(config->video_pixels_least, 4096);
    assert_int_equal(config->video_pixels_most, 25165824);
    assert_true(config->video_rate == 2);
    assert_int_equal(config->video_frames_least, 4);
    assert_int_equal(config->video_frames_most, 768);
}

static clef_processor_config parse(clef_text text) {
    clef_error error = {0};
    clef_processor_config config;
    assert_ok(clef_processor_config_parse("file", text, &config, &error), &error);
    return config;
}

static void published_numbers(void **state) {
    (void)state;
    clef_error error = {0};
    clef_processor_config config = parse(published);
    assert_default(&config);
    assert_ok(clef_processor_config_load(fixture("tiny-random/release"), &config, &error), &error);
    assert_default(&config);
    /* Absent, as a whole and in parts. */
    assert_ok(clef_processor_config_load(fixture("tiny-random"), &config, &error), &error);
    assert_default(&config);
    static const char *const parts[] = {"{}", "{\"image_processor\":null,\"video_processor\":{}}",
                                        "{\"image_processor\":{\"size\":{}},\"other\":5}"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        config = parse(clef_text_of(parts[i]));
        assert_default(&config);
    }
}

static void other_numbers(void **state) {
    (void)state;
    clef_processor_config config = parse(CLEF_TEXT(
        "{\"image_processor\":{\"size\":{\"shortest_edge\":1024,\"longest_edge\":262144}},"
        "\"video_processor\":{\"fps\":0.5,\"min_frames\":2,\"max_frames\":9,"
        "\"size\":{\"longest_edge\":65536}}}"));
    assert_int_equal(config.image_pixels_least, 1024);
    assert_int_equal(config.image_pixels_most, 262144);
    assert_int_equal(config.video_pixels_least, 4096);
    assert_int_equal(config.video_pixels_most, 65536);
    assert_true(config.video_rate == 0.5);
    assert_int_equal(config.video_frames_least, 2);
    assert_int_equal(config.video_frames_most, 9);
}

static void refuse(const char *text, const char *message) {
    clef_error error = {0};
    clef_processor_config config;
    assert_int_equal(clef_processor_config_parse("file", clef_text_of(text), &config, &error),
                     CLEF_BAD_FILE);
    if (strstr(error.message, message) == NULL) {
        fail_msg("expected \"%s\" in: %s", message, error.message);
    }
}

static void what_is_made_otherwise_is_refused(void **state) {
    (void)state;
#define IMAGE(members) "{\"image_processor\":{" members "}}"
#define VIDEO(members) "{\"video_processor\":{" members "}}"
    refuse("[]", "it is not a JSON object");
    refuse("{", "file");
    refuse("{\"image_processor\":5}", "image_processor is 5; expected an object");
    refuse(IMAGE("\"patch_size\":14"), "image_processor.patch_size is 14; expected 16");
    refuse(IMAGE("\"merge_size\":4"), "image_processor.merge_size is 4; expected 2");
    refuse(IMAGE("\"temporal_patch_size\":1"), "temporal_patch_size is 1; expected 2");
    refuse(IMAGE("\"resample\":2"), "image_processor.resample is 2; expected 3");
    refuse(IMAGE("\"rescale_factor\":1"), "image_processor.rescale_factor is 1; expected 1/255");
    refuse(IMAGE("\"image_mean\":[0.48,0.45,0.4]"), "image_mean is a list of 3; expected [0.5,");
    refuse(IMAGE("\"image_std\":[0.5,0.5]"), "image_std is a list of 2; expected [0.5,");
    refuse(IMAGE("\"do_normalize\":false"), "image_processor.do_normalize is false");
    refuse(VIDEO("\"do_convert_rgb\":false"), "video_processor.do_convert_rgb is false");
    refuse(VIDEO("\"do_sample_frames\":false"), "video_processor.do_sample_frames is false");
    refuse(VIDEO("\"fps\":0"), "video_processor.fps is 0");
    refuse(VIDEO("\"max_frames\":769"),
           "video_processor.max_frames is 769; expected a whole number from 1 to 768");
    refuse(VIDEO("\"max_frames\":8,\"min_frames\":9"),
           "video_processor.min_frames is 9; expected a whole number from 1 to 8");
    refuse(IMAGE("\"size\":{\"longest_edge\":4096,\"shortest_edge\":4097}"),
           "image_processor.size.shortest_edge is 4097; expected a whole number from 1 to 4096");
    refuse(IMAGE("\"size\":{\"longest_edge\":1e9}"), "image_processor.size.longest_edge is 1e9");
    refuse(VIDEO("\"size\":[1,2]"), "size is a list of 2; expected an object");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_numbers),
        cmocka_unit_test(other_numbers),
        cmocka_unit_test(what_is_made_otherwise_is_refused),
    };
    return cmocka_run_group_tests(tests, load_text, drop_text);
}
