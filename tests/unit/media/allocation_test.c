/* Every allocation of the layer fails once, at each place in turn: the answer is always out of
 * memory, and nothing is left behind. (What the picture libraries take for themselves cannot be
 * counted here, but for libpng's, which comes from us.) */
#include "../weights/failing_memory.h"
#include "made_pictures.h"

#include "media/image.h"
#include "media/media_text.h"
#include "media/video.h"

static clef_status read_image(const void *subject, clef_error *error) {
    const clef_text *file = subject;
    clef_image image;
    clef_status status =
        clef_image_read(file->bytes, file->length, &(clef_image_options){0}, &image, error);
    assert_true((status == CLEF_OK) == (image.picture.rgb != NULL));
    clef_image_release(&image);
    return status;
}

static void pictures_of_every_format(void **state) {
    (void)state;
    static const char *const names[] = {"exif-mirrored-64x96.png", "interlaced-77x131.png",
                                        "exif-rotated-60x120.jpg", "jpeg-cmyk-64x64.jpg",
                                        "lossy-200x300.webp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        allocations_before_failure = SIZE_MAX;
        clef_text file = load_picture(names[i]);
        assert_true(fail_each(read_image, &file) > 8);
        release_text(file);
    }
}

static clef_status read_text(const void *subject, clef_error *error) {
    uint8_t *bytes;
    size_t length;
    clef_status status = clef_media_text_decode(*(const clef_text *)subject, CLEF_MEDIA_IMAGE, 0,
                                                &bytes, &length, error);
    assert_true((status == CLEF_OK) == (bytes != NULL));
    clef_release(bytes);
    return status;
}

static void base64(void **state) {
    (void)state;
    clef_text text = CLEF_TEXT("data:;base64,QUJD");
    assert_int_equal(fail_each(read_text, &text), 1);
}

static clef_status read_video(const void *subject, clef_error *error) {
    clef_frame_list list = *(const clef_frame_list *)subject;
    clef_frame_source source;
    clef_video video = {0};
    clef_status status = clef_frame_list_open(&list, &source, error);
    if (status == CLEF_OK) {
        status = clef_video_read(&source, &(clef_video_options){.pixels = {0, 20000}},
                                 CLEF_RESIZE_TORCH, NULL, &video, error);
    }
    assert_true((status == CLEF_OK) == (video.frames != NULL));
    clef_video_release(&video);
    return status;
}

static void frames_of_a_video(void **state) {
    (void)state;
    clef_text frames[3];
    allocations_before_failure = SIZE_MAX;
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "frames-odd/%02zu.png", i);
        frames[i] = load_picture(name);
    }
    clef_frame_list list = {.frames = frames, .frame_count = 3};
    assert_true(fail_each(read_video, &list) > 20);
    for (size_t i = 0; i < 3; i++) {
        release_text(frames[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_of_every_format),
        cmocka_unit_test(base64),
        cmocka_unit_test(frames_of_a_video),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
