/* Sampling, times and refusals of videos, against the tables of the description. */
#include "support.h"

#include "media/video_frames.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

static clef_video_plan plan_of(uint32_t frame_count, const clef_video_options *options) {
    clef_error error = {0};
    clef_video_plan plan;
    assert_ok(clef_video_plan_make(frame_count, 64, 64, options, &plan, &error), &error);
    return plan;
}

static void counts_of_samples(void **state) {
    (void)state;
    static const uint32_t cases[][2] = {
        {1, 1},  {2, 2},    {3, 3},    {4, 4},      {30, 4},     {59, 4},     {60, 5},
        {72, 6}, {120, 10}, {240, 20}, {9215, 767}, {9216, 768}, {9240, 768}, {4000000000, 768}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_video_plan plan = plan_of(cases[i][0], &(clef_video_options){0});
        assert_int_equal(plan.frame_count, cases[i][1]);
        assert_int_equal(plan.indices[0], 0);
        assert_int_equal(plan.indices[plan.frame_count - 1], cases[i][0] - 1);
        for (uint32_t j = 1; j < plan.frame_count; j++) {
            assert_true(plan.indices[j] > plan.indices[j - 1]);
        }
    }
}

static void indices_of_samples(void **state) {
    (void)state;
    static const struct {
        uint32_t frames, count, indices[6];
    } cases[] = {
        {5, 4, {0, 1, 3, 4}},    {6, 4, {0, 2, 3, 5}},     {8, 4, {0, 2, 5, 7}},
        {16, 4, {0, 5, 10, 15}}, {30, 4, {0, 10, 19, 29}}, {60, 5, {0, 15, 30, 44, 59}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_video_plan plan = plan_of(cases[i].frames, &(clef_video_options){0});
        assert_int_equal(plan.frame_count, cases[i].count);
        for (uint32_t j = 0; j < cases[i].count; j++) {
            assert_int_equal(plan.indices[j], cases[i].indices[j]);
        }
    }
}

static void labels_are(const clef_video_plan *plan, const char *expected) {
    char all[256] = "";
    for (uint32_t pair = 0; pair < plan->grid.frames; pair++) {
        char label[CLEF_VIDEO_LABEL_BYTES];
        clef_video_label_write(plan->seconds[pair], label);
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s%s", pair > 0 ? " " : "", label);
    }
    assert_string_equal(all, expected);
}

static void labels_of_pairs(void **state) {
    (void)state;
    static const struct {
        uint32_t frames;
        const char *labels;
    } cases[] = {{1, "0.0"},
                 {4, "0.0 0.1"},
                 {6, "0.0 0.2"},
                 {16, "0.1 0.5"},
                 {30, "0.2 1.0"},
                 {60, "0.3 1.5 2.5"},
                 {120, "0.3 1.4 2.5 3.6 4.7"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_video_plan plan = plan_of(cases[i].frames, &(clef_video_options){0});
        labels_are(&plan, cases[i].labels);
    }
    clef_video_options options = {.has_rate = true,
                                  .rate = 4,
                                  .has_metadata_rate = true,
                                  .metadata_rate = 10,
                                  .has_metadata_frame_count = true,
                                  .metadata_frame_count = 10};
    clef_video_plan plan = plan_of(10, &options);
    labels_are(&plan, "0.1 0.8");
    /* Without sampling, frames may bring their own indices. */
    static const uint64_t indices[] = {0, 24, 48, 240};
    options = (clef_video_options){
        .uses_all_frames = true, .metadata_indices = indices, .metadata_index_count = 4};
    plan = plan_of(4, &options);
    labels_are(&plan, "0.5 6.0");
}

static void labels_round_as_python_does(void **state) {
    (void)state;
    static const struct {
        double seconds;
        const char *label;
    } cases[] = {{0, "0.0"},     {0.05, "0.1"},      {0.25, "0.2"},
                 {0.35, "0.3"},  {0.75, "0.8"},      {0.95, "0.9"},
                 {9.96, "10.0"}, {86400, "86400.0"}, {1e15, "1000000000000000.0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[CLEF_VIDEO_LABEL_BYTES];
        clef_video_label_write(cases[i].seconds, label);
        assert_string_equal(label, cases[i].label);
    }
    /* Where a comma is the decimal point, the label still has a full stop. */
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL) {
            char label[CLEF_VIDEO_LABEL_BYTES];
            clef_video_label_write(12.5, label);
            assert_string_equal(label, "12.5");
        }
    }
    setlocale(LC_ALL, "C");
}

/* C09: a high rate takes every frame. */
static void c09_rates(void **state) {
    (void)state;
    clef_video_options options = {.has_rate = true, .rate = 1e9};
    assert_int_equal(plan_of(6, &options).frame_count, 6);
    options.rate = 1e300;
    assert_int_equal(plan_of(2000, &options).frame_count, 768);
    options.rate = 1e-6;
    assert_int_equal(plan_of(2000, &options).frame_count, 4);
    /* fps: null alone means the default. */
    options = (clef_video_options){.has_no_rate = true};
    assert_int_equal(plan_of(60, &options).frame_count, 5);
    options.has_frame_target = true;
    options.frame_target = 9;
    clef_video_plan plan = plan_of(4, &options);
    assert_int_equal(plan.frame_count, 9);
    assert_int_equal(plan.indices[8], 3);
    assert_int_equal(plan.grid.frames, 5);
}

static void refuses(uint32_t frames, uint32_t side, const clef_video_options *options,
                    const char *words) {
    clef_error error = {0};
    clef_video_plan plan;
    assert_int_equal(clef_video_plan_make(frames, side, side, options, &plan, &error),
                     CLEF_BAD_REQUEST);
    assert_string_equal(error.kind, "media_error");
    if (strstr(error.message, words) == NULL) {
        fail_msg("%s", error.message);
    }
}

static void what_is_refused(void **state) {
    (void)state;
    clef_video_options none = {0};
    refuses(0, 64, &none, "a video needs at least one frame");
    refuses(4, 31, &none, "height:31 or width:31 must be larger than factor:32");
    static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuses(4, 64, &(clef_video_options){.has_rate = true, .rate = bad[i]}, "fps is ");
        refuses(4, 64, &(clef_video_options){.has_metadata_rate = true, .metadata_rate = bad[i]},
                "video_metadata.fps is ");
    }
    refuses(4, 64, &(clef_video_options){.has_frame_target = true, .frame_target = 6},
            "num_frames and fps exclude each other");
    clef_video_options target = {.has_no_rate = true, .has_frame_target = true};
    refuses(4, 64, &target, "num_frames is 0; it must be 1 to 768");
    target.frame_target = 769;
    refuses(4, 64, &target, "num_frames is 769");
    clef_video_options metadata = {.has_metadata_frame_count = true, .metadata_frame_count = 5};
    refuses(4, 64, &metadata, "total_num_frames is 5, but the video has 4 frames");
    metadata.metadata_frame_count = 0;
    refuses(4, 64, &metadata, "total_num_frames is 0");
    clef_video_options all = {.uses_all_frames = true};
    refuses(769, 64, &all, "the video has 769 frames");
    static const uint64_t indices[] = {0, UINT64_MAX};
    all.metadata_indices = indices;
    all.metadata_index_count = 2;
    refuses(3, 64, &all, "frames_indices has 2 entries, but the video has 3 frames");
    refuses(2, 64, &all, "frames_indices holds 18446744073709551615");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_samples), cmocka_unit_test(indices_of_samples),
        cmocka_unit_test(labels_of_pairs),   cmocka_unit_test(labels_round_as_python_does),
        cmocka_unit_test(c09_rates),         cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
