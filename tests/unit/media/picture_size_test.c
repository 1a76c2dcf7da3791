/* Sizes after resizing, against the reference's table and the fault bank. */
#include "support.h"

#include "media/patches.h"
#include "media/picture_size.h"

#include <stdio.h>

static size_t accepted_count, refused_count;

static uint32_t number_member(const clef_json *row, const char *key) {
    uint64_t number = 0;
    assert_true(clef_json_unsigned(member(row, key), &number));
    return (uint32_t)number;
}

static void check_row(void *context, size_t number, clef_text line) {
    (void)context;
    clef_arena arena = {0};
    clef_error error = {0};
    const clef_json *row = parse_json(line, &arena);
    uint32_t height = number_member(row, "height"), width = number_member(row, "width");
    bool is_video = clef_text_equals(member(row, "kind")->text, CLEF_TEXT("video"));
    clef_pixel_budget budget = {0};
    clef_status status = is_video ? clef_video_size_fit(number_member(row, "frames"), &width,
                                                        &height, budget, false, &error)
                                  : clef_image_size_fit(&width, &height, budget, &error);
    const clef_json *expected = clef_json_member(row, "resized");
    if (expected == NULL) {
        const char *text = is_video ? "must be larger than factor:32" : "aspect ratio over 200";
        assert_int_equal(status, CLEF_BAD_REQUEST);
        assert_string_equal(error.kind, "media_error");
        assert_non_null(strstr(error.message, text));
        refused_count++;
    } else {
        uint64_t expected_height = 0, expected_width = 0;
        clef_json_unsigned(expected->first, &expected_height);
        clef_json_unsigned(expected->first->next, &expected_width);
        if (status != CLEF_OK || height != expected_height || width != expected_width) {
            fail_msg("row %zu: %ux%u (%s), expected %llux%llu", number, height, width,
                     error.message, (unsigned long long)expected_height,
                     (unsigned long long)expected_width);
        }
        accepted_count++;
    }
    clef_arena_release(&arena);
}

static void every_size_of_the_reference(void **state) {
    (void)state;
    for_each_line(fixture("tiny-random/media/sizes.jsonl"), check_row, NULL);
    assert_int_equal(accepted_count + refused_count, 533);
    assert_true(refused_count > 50);
}

static size_t count_tokens(uint32_t width, uint32_t height) {
    clef_error error = {0};
    assert_ok(clef_image_size_fit(&width, &height, (clef_pixel_budget){0}, &error), &error);
    return clef_patch_token_count(clef_patch_grid_of(1, width, height));
}

/* C01, C02: half to even, and pictures of a few pixels. */
static void c01_c02_tokens_of_odd_sizes(void **state) {
    (void)state;
    assert_int_equal(count_tokens(1280, 720), 880);
    assert_int_equal(count_tokens(1040, 1040), 1024);
    assert_int_equal(count_tokens(2048, 16), 91);
    assert_int_equal(count_tokens(1, 1), 64);
    assert_int_equal(count_tokens(305, 30), 78);
    assert_int_equal(count_tokens(100, 1), 80);
    assert_int_equal(count_tokens(200, 1), 114);
    assert_int_equal(count_tokens(4096, 4096), 16384);
    assert_int_equal(count_tokens(8000, 6000), 16170);
}

static void budgets_of_a_request(void **state) {
    (void)state;
    clef_error error = {0};
    uint32_t width = 640, height = 480;
    assert_ok(clef_image_size_fit(&width, &height, (clef_pixel_budget){1024, 65536}, &error),
              &error);
    assert_true(width * height <= 65536);
    width = height = 64;
    assert_int_equal(clef_image_size_fit(&width, &height, (clef_pixel_budget){9000, 8000}, &error),
                     CLEF_BAD_REQUEST);
    assert_int_equal(
        clef_image_size_fit(&width, &height, (clef_pixel_budget){UINT64_MAX, UINT64_MAX}, &error),
        CLEF_BAD_REQUEST);
    assert_int_equal(width, 64);
    assert_non_null(strstr(error.message, "fewer pixels"));
}

/* The cap gives each frame at most 768 tokens, or its share of the budget, and no less than a
 * little over the minimum. */
static void frames_can_be_capped(void **state) {
    (void)state;
    const struct {
        uint32_t frames, width, height;
        uint64_t minimum, maximum, frame_limit;
    } cases[] = {
        {4, 1920, 1080, 0, 0, 768 * 1024},
        {64, 1920, 1080, 0, 0, 25165824 / 64},
        {60, 1920, 1080, 65536, 1000000, 68812},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_error error = {0};
        uint32_t width = cases[i].width, height = cases[i].height;
        clef_pixel_budget budget = {cases[i].minimum, cases[i].maximum};
        assert_ok(clef_video_size_fit(cases[i].frames, &width, &height, budget, true, &error),
                  &error);
        assert_true(width * height <= cases[i].frame_limit);
        assert_true(width * height > cases[i].frame_limit * 3 / 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_of_the_reference),
        cmocka_unit_test(c01_c02_tokens_of_odd_sizes),
        cmocka_unit_test(budgets_of_a_request),
        cmocka_unit_test(frames_can_be_capped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
