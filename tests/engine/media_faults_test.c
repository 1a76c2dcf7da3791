/* Faults that ports of the vision path are known for: pictures of other sizes that shift each
 * other's rows, places that are lost, a picture whose turn nobody notices. */
#include "engine_support.h"

#include "base/base64.h"
#include "base/memory.h"

#include <stdio.h>

#define IMAGES "tiny-random/media/images/"

/* A request whose "images" or "videos" are these files; a video is one list of all of them. */
static clef_record *encode_files(clef_model *model, const char *list, const char *const *names,
                                 size_t count, clef_exif_mode exif) {
    clef_buffer body = {0};
    clef_error error = {0};
    clef_record *record = NULL;
    bool is_video = strcmp(list, "videos") == 0;
    clef_buffer_append_format(&body, "{\"model\":\"m\",\"state\":\"s\",\"%s\":[%s", list,
                              is_video ? "[" : "");
    for (size_t i = 0; i < count; i++) {
        char path[256];
        snprintf(path, sizeof path, IMAGES "%s", names[i]);
        clef_text file = load_file(fixture(path));
        clef_buffer_append_string(&body, i > 0 ? ",\"" : "\"");
        clef_base64_append(&body, file.bytes, file.length);
        clef_buffer_append_byte(&body, '"');
        release_text(file);
    }
    clef_buffer_append_format(&body, "%s],\"questions\":{\"a\":{\"type\":\"noul\"}}}",
                              is_video ? "]" : "");
    const clef_record_options options = {.exif = exif};
    assert_ok(clef_record_encode(model, body.bytes, body.length, &options, &record, &error),
              &error);
    clef_buffer_release(&body);
    return record;
}

/* Runs of placeholders of a record are as long as its media say. */
static void assert_runs(const clef_record *record, const uint32_t *tokens, size_t count) {
    const clef_record_media *media = &record->media;
    size_t first = 0;
    assert_int_equal(media->run_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(media->runs[i].count, tokens[i]);
        first += tokens[i];
    }
    assert_int_equal(clef_media_token_count(&media->media), first);
}

/* 64 × 64, 1280 × 720 and 64 × 64 pixels in one request, in every order: as many placeholders as
 * rows for each of them; and frames of two lists. */
static void c07_counts_follow_each_picture(void **state) {
    static const char *const names[] = {"jpeg-cmyk-64x64.jpg", "progressive-720x1280.jpg",
                                        "jpeg-cmyk-64x64.jpg"};
    static const uint32_t tokens[] = {64, 880, 64};
    static const size_t orders[][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    (void)state;
    for (size_t o = 0; o < 3; o++) {
        const char *files[3];
        uint32_t expected[3];
        for (size_t i = 0; i < 3; i++) {
            files[i] = names[orders[o][i]];
            expected[i] = tokens[orders[o][i]];
        }
        clef_record *record = encode_files(model, "images", files, 3, CLEF_EXIF_APPLY);
        assert_runs(record, expected, 3);
        clef_record_close(record);
    }
    static const char *const frames[] = {"frames/00.png", "frames/01.png", "frames/02.png",
                                         "frames/03.png", "frames/04.png", "frames/05.png",
                                         "frames/06.png", "frames/07.png", "frames/08.png"};
    for (size_t count = 4; count <= 9; count += 5) {
        clef_record *record = encode_files(model, "videos", frames, count, CLEF_EXIF_APPLY);
        const clef_medium *video = record->media.media.items;
        uint32_t own = (uint32_t)(clef_patch_token_count(video->grid) / video->grid.frames);
        assert_int_equal(video->frame_count, 4);
        assert_runs(record, (const uint32_t[]){own, own}, 2);
        clef_record_close(record);
    }
    clef_model_close(model);
}

/* The same pixels seen in a mirror, in the same grid: other features, and another answer. */
static void c06_a_turned_picture_changes_the_answer(void **state) {
    static const char *const name[] = {"exif-mirrored-64x96.png"};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_session(model, 0);
    clef_record *upright = encode_files(model, "images", name, 1, CLEF_EXIF_APPLY);
    clef_record *stored = encode_files(model, "images", name, 1, CLEF_EXIF_IGNORE);
    (void)state;
    assert_int_equal(upright->task.token_count, stored->task.token_count);
    assert_memory_equal(upright->task.tokens, stored->task.tokens,
                        stored->task.token_count * sizeof *stored->task.tokens);
    clef_answer *a = decide(session, upright), *b = decide(session, stored);
    assert_memory_not_equal(a->logits, b->logits, stored->task.option_total * sizeof *b->logits);
    assert_false(clef_record_equals(upright, stored));
    clef_answer_close(a);
    clef_answer_close(b);
    clef_record_close(upright);
    clef_record_close(stored);
    clef_session_close(session);
    clef_model_close(model);
}

/* Rows and columns of a picture, and the text that goes on behind the larger side. */
static void c06_places_of_a_picture(void **state) {
    static const char *const name[] = {"progressive-720x1280.jpg"};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_files(model, "images", name, 1, CLEF_EXIF_APPLY);
    const clef_position_table *table = &record->media.table;
    const clef_feature_run *run = record->media.runs;
    const int32_t *time = table->positions, *row = time + table->count,
                  *column = row + table->count;
    int32_t start = (int32_t)run->position;
    (void)state;
    for (size_t i = 0; i < run->count; i++) {
        size_t at = run->position + i;
        assert_int_equal(time[at], start);
        assert_int_equal(row[at], start + (int32_t)(i / 40));
        assert_int_equal(column[at], start + (int32_t)(i % 40));
    }
    size_t behind = run->position + run->count;
    assert_int_equal(time[behind], start + 40);
    assert_int_equal(row[behind], start + 40);
    assert_int_equal(column[behind], start + 40);
    clef_record_close(record);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c07_counts_follow_each_picture),
        cmocka_unit_test(c06_a_turned_picture_changes_the_answer),
        cmocka_unit_test(c06_places_of_a_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
