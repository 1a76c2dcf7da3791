/* Video files whose frames are known by formula (tools/goldens/make_videos.py), and files that are
 * none. Builds without FFmpeg say so. */
#include "support.h"

#include "base/memory.h"
#include "media/decode_video.h"

#include <stdio.h>
#include <stdlib.h>

static const clef_decode_options defaults = {0};

/* Ends the test where video files are not read. */
#define NEEDS_VIDEO()                                                                              \
    do {                                                                                           \
        if (!clef_video_is_built()) {                                                              \
            printf("SKIP: this build reads no video files (FFmpeg was not found)\n");              \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static clef_video_file *open_video(clef_text file, const clef_decode_options *options) {
    clef_error error = {0};
    clef_video_file *video;
    assert_ok(clef_video_file_open(file.bytes, file.length, options, &video, &error), &error);
    return video;
}

static void builds_without_say_so(void **state) {
    (void)state;
    if (clef_video_is_built()) {
        return;
    }
    clef_error error = {0};
    clef_video_file *video;
    assert_int_equal(clef_video_file_open("x", 1, &defaults, &video, &error), CLEF_BAD_REQUEST);
    assert_non_null(strstr(error.message, "this build reads no video files"));
    assert_non_null(strstr(error.message, "CLEF_VIDEO=OFF"));
    assert_string_equal(error.kind, "media_error");
    assert_int_equal(clef_video_file_source(video).frame_count, 0);
    clef_video_file_close(video);
}

/* Without loss: every byte. Frames are skipped, and one is asked for twice. */
static void frames_without_loss(void **state) {
    (void)state;
    NEEDS_VIDEO();
    clef_text file = load_file(fixture("media/counted.mkv"));
    clef_video_file *video = open_video(file, &defaults);
    clef_frame_source source = clef_video_file_source(video);
    assert_int_equal(source.frame_count, 12);
    assert_int_equal(source.width, 48);
    assert_int_equal(source.height, 32);
    assert_true(clef_video_file_rate(video) == 24);
    static const uint32_t indices[] = {1, 2, 7, 7, 11};
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
        clef_error error = {0};
        clef_picture frame;
        uint32_t index = indices[i];
        assert_ok(source.read(source.context, index, &frame, &error), &error);
        for (uint32_t y = 0; y < 32; y++) {
            for (uint32_t x = 0; x < 48; x++) {
                const uint8_t *pixel = frame.rgb + (y * 48 + x) * 3;
                assert_int_equal(pixel[0], (uint8_t)(x * 5 + index));
                assert_int_equal(pixel[1], (uint8_t)(y * 7 + index * 3));
                assert_int_equal(pixel[2], (uint8_t)(x * y + index * 11));
            }
        }
        clef_picture_release(&frame);
    }
    clef_error error = {0};
    clef_picture frame;
    assert_int_equal(source.read(source.context, 3, &frame, &error), CLEF_INTERNAL);
    clef_video_file_close(video);
    release_text(file);
}

static void shows_grey(const clef_picture *frame, uint32_t x, uint32_t y, unsigned grey) {
    for (size_t c = 0; c < 3; c++) {
        int found = frame->rgb[((size_t)y * frame->width + x) * 3 + c];
        assert_in_range(found + 6, grey, grey + 12);
    }
}

/* With loss and with frames stored out of order; turned as the recording asks. */
static void frames_in_order_and_upright(void **state) {
    (void)state;
    NEEDS_VIDEO();
    clef_text file = load_file(fixture("media/counted.mp4"));
    for (int ignores = 0; ignores < 2; ignores++) {
        clef_video_file *video =
            open_video(file, &(clef_decode_options){.ignores_exif = ignores == 1});
        clef_frame_source source = clef_video_file_source(video);
        assert_int_equal(source.frame_count, 20);
        assert_int_equal(source.width, ignores ? 96 : 64);
        assert_int_equal(source.height, ignores ? 64 : 96);
        assert_true(clef_video_file_rate(video) == 10);
        for (uint32_t i = 0; i < 20; i++) {
            clef_error error = {0};
            clef_picture frame;
            assert_ok(source.read(source.context, i, &frame, &error), &error);
            /* The white third is on the left, and turned on top. */
            shows_grey(&frame, ignores ? 8 : 32, ignores ? 32 : 8, 255);
            shows_grey(&frame, ignores ? 80 : 32, ignores ? 32 : 80, 12 * i);
            clef_picture_release(&frame);
        }
        clef_video_file_close(video);
    }
    release_text(file);
}

/* Through the whole layer: the rate of the file as metadata. */
static void a_file_as_a_video(void **state) {
    (void)state;
    NEEDS_VIDEO();
    clef_error error = {0};
    clef_text file = load_file(fixture("media/counted.mp4"));
    clef_video_file *input = open_video(file, &defaults);
    clef_frame_source source = clef_video_file_source(input);
    clef_video_options options = {.has_metadata_rate = true,
                                  .metadata_rate = clef_video_file_rate(input)};
    clef_video video;
    assert_ok(clef_video_read(&source, &options, CLEF_RESIZE_TORCH, NULL, &video, &error), &error);
    assert_int_equal(video.plan.frame_count, 4);
    static const uint32_t indices[] = {0, 6, 13, 19};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(video.plan.indices[i], indices[i]);
        assert_int_equal(video.frames[i].width, 64);
        shows_grey(&video.frames[i], 32, 80, 12 * indices[i]);
    }
    char label[CLEF_VIDEO_LABEL_BYTES];
    clef_video_label_write(video.plan.seconds[1], label);
    assert_string_equal(label, "1.6");
    clef_video_release(&video);
    clef_video_file_close(input);
    release_text(file);
}

static void refuses(const void *bytes, size_t length, clef_status status, uint64_t pixel_limit) {
    clef_error error = {0};
    clef_video_file *video;
    assert_int_equal(clef_video_file_open(bytes, length,
                                          &(clef_decode_options){.pixel_limit = pixel_limit},
                                          &video, &error),
                     status);
    assert_null(video);
    assert_string_equal(error.kind, "media_error");
}

static void what_is_no_video(void **state) {
    (void)state;
    NEEDS_VIDEO();
    static const char playlist[] = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n";
    static const char list[] = "ffconcat version 1.0\nfile '/etc/passwd'\n";
    refuses("", 0, CLEF_BAD_REQUEST, 0);
    refuses("no video at all", 15, CLEF_BAD_REQUEST, 0);
    refuses(playlist, sizeof playlist - 1, CLEF_BAD_REQUEST, 0);
    refuses(list, sizeof list - 1, CLEF_BAD_REQUEST, 0);
    clef_text picture = load_file(fixture("tiny-random/media/images/rgb-16x16.png"));
    refuses(picture.bytes, picture.length, CLEF_BAD_REQUEST, 0);
    release_text(picture);
    clef_text file = load_file(fixture("media/counted.mp4"));
    refuses(file.bytes, file.length, CLEF_TOO_LARGE, 96 * 64 - 1);
    release_text(file);
}

/* A container may claim any number of frames; its claim is judged before anything is decoded. */
static void too_many_frames(void **state) {
    (void)state;
    NEEDS_VIDEO();
    clef_text file = load_file(fixture("media/counted.mp4"));
    char *bytes = malloc(file.length);
    memcpy(bytes, file.bytes, file.length);
    /* Behind "stts" come a version, the number of entries, and the samples of the first. */
    char *table = memmem(bytes, file.length, "stts", 4);
    assert_non_null(table);
    static const uint32_t claims[] = {CLEF_VIDEO_FILE_FRAME_LIMIT, CLEF_VIDEO_FILE_FRAME_LIMIT + 1,
                                      0x7fffffff};
    for (size_t i = 0; i < 3; i++) {
        clef_error error = {0};
        clef_video_file *video;
        for (size_t j = 0; j < 4; j++) {
            table[12 + j] = (char)(claims[i] >> (24 - 8 * j));
        }
        clef_status status = clef_video_file_open(bytes, file.length, &defaults, &video, &error);
        if (i == 0) {
            assert_ok(status, &error);
            assert_int_equal(clef_video_file_source(video).frame_count, claims[i]);
        } else {
            assert_int_equal(status, CLEF_TOO_LARGE);
            assert_string_equal(error.kind, "media_error");
            assert_non_null(strstr(error.message, "frames, over the limit of 18000"));
        }
        clef_video_file_close(video);
    }
    free(bytes);
    release_text(file);
}

/* Damaged and cut files: frames or an error, within the limits. */
static void damaged_files(void **state) {
    (void)state;
    NEEDS_VIDEO();
    static const char *const names[] = {"media/counted.mkv", "media/counted.mp4"};
    uint64_t seed = 9;
    for (size_t i = 0; i < 2; i++) {
        clef_text file = load_file(fixture(names[i]));
        for (int round = 0; round < 150; round++) {
            char *bytes = malloc(file.length);
            memcpy(bytes, file.bytes, file.length);
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            size_t length = round % 5 == 0 ? (seed >> 33) % file.length : file.length;
            for (int hits = 0; hits < 1 + round % 6; hits++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
                size_t reach = round % 2 == 0 ? 1500 : file.length;
                bytes[(seed >> 33) % reach] = (char)(seed >> 20);
            }
            clef_error error = {0};
            clef_video_file *input;
            clef_decode_options options = {.pixel_limit = 1000000};
            if (clef_video_file_open(bytes, length, &options, &input, &error) == CLEF_OK) {
                clef_frame_source source = clef_video_file_source(input);
                for (uint32_t index = 0; index < source.frame_count && index < 40; index += 3) {
                    clef_picture frame;
                    if (source.read(source.context, index, &frame, &error) == CLEF_OK) {
                        assert_int_equal(frame.width, source.width);
                        assert_int_equal(frame.height, source.height);
                    }
                    clef_picture_release(&frame);
                }
                clef_video_file_close(input);
            } else {
                assert_true(strlen(error.message) > 10);
            }
            free(bytes);
        }
        release_text(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_without_say_so),
        cmocka_unit_test(frames_without_loss),
        cmocka_unit_test(frames_in_order_and_upright),
        cmocka_unit_test(a_file_as_a_video),
        cmocka_unit_test(what_is_no_video),
        cmocka_unit_test(too_many_frames),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
