/* Records with pictures and videos through the whole engine: their tokens stand where the reference
 * places them, packing and kept states leave every bit, other pixels are never answered from a kept
 * state, and what cannot be read is refused by name. */
#include "engine_support.h"

#include "base/memory.h"

#include <stdio.h>

enum { RECORDS = 4, BODY_LIMIT = 8 };

/* Bodies of recorded requests, found by name. */
typedef struct body_list {
    clef_arena arena;
    clef_text names[BODY_LIMIT], bodies[BODY_LIMIT];
    size_t count;
} body_list;

static void take_body(void *context, size_t number, clef_text text) {
    body_list *list = context;
    const clef_json *line = parse_json(text, &list->arena);
    (void)number;
    assert_true(list->count < BODY_LIMIT);
    list->names[list->count] = clef_arena_copy(&list->arena, member(line, "name")->text);
    list->bodies[list->count++] = clef_arena_copy(&list->arena, member(line, "request")->text);
}

static void load_bodies(body_list *list, const char *name) {
    char path[1024];
    *list = (body_list){0};
    snprintf(path, sizeof path, "%s", fixture(name));
    for_each_line(path, take_body, list);
}

static clef_text body_of(const body_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        if (clef_text_equals(list->names[i], clef_text_of(name))) {
            return list->bodies[i];
        }
    }
    fail_msg("no request is named %s", name);
    return (clef_text){NULL, 0};
}

/* ---- places ---- */

typedef struct places {
    clef_model *model;
    body_list bodies;
    size_t compared;
} places;

/* Control tokens in the texts of a request act as such, and pictures are not turned. */
static clef_record *encode_as_reference(clef_model *model, clef_text body) {
    clef_error error = {0};
    clef_record *record;
    clef_record_options options = {.control_tokens = CLEF_CONTROL_TOKENS_PARSE,
                                   .exif = CLEF_EXIF_IGNORE};
    assert_ok(clef_record_encode(model, body.bytes, body.length, &options, &record, &error),
              &error);
    return record;
}

static void compare_axis(const clef_json *expected, const clef_position_table *table, size_t axis) {
    const clef_json *place = expected->first;
    assert_int_equal(expected->count, table->count);
    for (size_t i = 0; i < table->count; i++, place = place->next) {
        assert_int_equal((int32_t)clef_json_double(place->text),
                         table->positions[axis * table->count + i]);
    }
}

static void compare_places(void *context, size_t number, clef_text text) {
    places *with = context;
    clef_arena arena = {0};
    const clef_json *line = parse_json(text, &arena);
    clef_text name = member(line, "name")->text;
    (void)number;
    for (size_t i = 0; i < with->bodies.count; i++) {
        /* One of the others holds a GIF. */
        if (clef_text_equals(with->bodies.names[i], name) &&
            !clef_text_equals(name, CLEF_TEXT("image-and-video"))) {
            clef_record *record = encode_as_reference(with->model, with->bodies.bodies[i]);
            const clef_position_table *table = &record->media.table;
            compare_axis(member(line, "positions_t"), table, 0);
            compare_axis(member(line, "positions_h"), table, 1);
            compare_axis(member(line, "positions_w"), table, 2);
            assert_int_equal((int32_t)clef_json_double(member(line, "rope_delta")->text),
                             table->shift);
            clef_record_close(record);
            with->compared++;
        }
    }
    clef_arena_release(&arena);
}

static void tokens_stand_where_the_reference_has_them(void **state) {
    places with = {.model = open_model_with(random_model(), 1, NULL)};
    (void)state;
    load_bodies(&with.bodies, "tiny-random/media/requests.jsonl");
    for_each_line(fixture("tiny-random/media/positions.jsonl"), compare_places, &with);
    assert_int_equal(with.compared, 7);
    clef_arena_release(&with.bodies.arena);
    clef_model_close(with.model);
}

/* ---- packing ---- */

static void check_packing(clef_model *model, clef_record **records, float **alone,
                          const char *level) {
    static const uint32_t rows[] = {64, 512, 2048};
    uint64_t seed = 5;
    for (size_t r = 0; r < 3; r++) {
        clef_session *session = open_session(model, rows[r]);
        size_t order[RECORDS];
        clef_answer *answers[RECORDS];
        shuffle(order, RECORDS, &seed);
        decide_together(session, records, order, RECORDS, answers);
        for (size_t i = 0; i < RECORDS; i++) {
            assert_equal_logits(answers[i], alone[i], level);
            clef_answer_close(answers[i]);
        }
        clef_session_close(session);
    }
}

/* One text and three records with media, alone and in one batch. */
static void check_level(const char *level) {
    clef_model *model = open_model_with(random_model(), 0, level);
    clef_session *session = open_session(model, 0);
    body_list bodies;
    load_bodies(&bodies, "tiny-random/media/requests.jsonl");
    clef_record *records[RECORDS] = {encode_made(model, 1, 40),
                                     encode_body(model, body_of(&bodies, "one-image")),
                                     encode_body(model, body_of(&bodies, "two-images")),
                                     encode_body(model, body_of(&bodies, "one-video"))};
    float *alone[RECORDS];
    for (size_t i = 0; i < RECORDS; i++) {
        clef_answer *answer = decide(session, records[i]);
        alone[i] = copy_logits(answer);
        clef_answer_close(answer);
    }
    clef_session_close(session);
    check_packing(model, records, alone, level);
    for (size_t i = 0; i < RECORDS; i++) {
        clef_release(alone[i]);
        clef_record_close(records[i]);
    }
    clef_arena_release(&bodies.arena);
    clef_model_close(model);
}

static void packing_does_not_matter(void **state) {
    (void)state;
    for_each_level(check_level);
}

/* ---- kept states ---- */

static clef_session *open_cached(clef_model *model) {
    clef_error error = {0};
    clef_session *session;
    clef_session_options options = {.rows_per_step = 128, .prefix_cache_bytes = 64 << 20};
    assert_ok(clef_session_create(model, &options, &session, &error), &error);
    return session;
}

static uint32_t cached_of(const clef_answer *answer) {
    clef_answer_usage usage;
    clef_answer_describe(answer, &usage);
    return usage.cached_tokens;
}

/* The same tokens with another picture: a body is changed in the one place where its picture is. */
static clef_text exchange_picture(clef_text body, const char *from, clef_text to,
                                  clef_buffer *changed) {
    const char *place = strstr(body.bytes, from);
    assert_non_null(place);
    const char *end = strchr(place, '"');
    assert_non_null(end);
    clef_buffer_append(changed, body.bytes, (size_t)(place - body.bytes));
    clef_buffer_append_text(changed, to);
    clef_buffer_append_string(changed, end);
    return clef_buffer_text(changed);
}

static void kept_states_belong_to_their_pixels(void **state) {
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *cached = open_cached(model), *plain = open_session(model, 128);
    body_list bodies;
    clef_buffer changed = {0};
    (void)state;
    load_bodies(&bodies, "tiny-random/media/requests.jsonl");
    /* The second request's first picture has the same size as the first request's. */
    clef_text body = body_of(&bodies, "one-image");
    const clef_json *request = parse_json(body, &bodies.arena);
    const clef_json *other = parse_json(body_of(&bodies, "two-images"), &bodies.arena);
    char begin[32];
    snprintf(begin, sizeof begin, "%.24s", member(request, "images")->first->text.bytes);
    clef_record *first = encode_body(model, body);
    clef_record *second = encode_body(
        model, exchange_picture(body, begin, member(other, "images")->first->text, &changed));
    assert_int_equal(first->task.token_count, second->task.token_count);
    assert_memory_equal(first->task.tokens, second->task.tokens,
                        first->task.token_count * sizeof *first->task.tokens);
    assert_false(clef_digest_equals(&first->media.media.digest, &second->media.media.digest));
    clef_record *records[] = {first, second, first, second};
    for (size_t i = 0; i < 4; i++) {
        clef_answer *expected = decide(plain, records[i]);
        clef_answer *answer = decide(cached, records[i]);
        assert_equal_logits(answer, expected->logits, "with kept states");
        if (i < 2) {
            assert_true(cached_of(answer) <= first->prompt.prefix_tokens);
        } else {
            assert_true(cached_of(answer) > first->prompt.prefix_tokens);
        }
        clef_answer_close(answer);
        clef_answer_close(expected);
    }
    clef_record_close(first);
    clef_record_close(second);
    clef_buffer_release(&changed);
    clef_arena_release(&bodies.arena);
    clef_session_close(cached);
    clef_session_close(plain);
    clef_model_close(model);
}

/* ---- refusals ---- */

static void refuse(clef_model *model, clef_text body, clef_control_token_mode tokens,
                   const char *message, const char *place) {
    clef_record *record;
    clef_error error = {0};
    clef_record_options options = {.control_tokens = tokens};
    assert_int_equal(clef_record_encode(model, body.bytes, body.length, &options, &record, &error),
                     CLEF_BAD_REQUEST);
    assert_string_equal(error.kind, "media_error");
    assert_string_equal(error.place, place);
    assert_non_null(strstr(error.message, message));
}

static void what_the_reference_cannot_read_is_refused(void **state) {
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_session(model, 0);
    body_list bodies;
    (void)state;
    load_bodies(&bodies, "tiny-random/media/refused.jsonl");
    refuse(model, body_of(&bodies, "ratio-over-200"), 0, "images[0]: aspect ratio over 200",
           "images\x1f"
           "0");
    refuse(model, body_of(&bodies, "frames-of-unequal-size"), 0,
           "frames of one video must have equal size",
           "videos\x1f"
           "0\x1f"
           "1");
    refuse(model, body_of(&bodies, "frames-under-32"), 0, "videos[0]: ",
           "videos\x1f"
           "0");
    clef_text placeholder = body_of(&bodies, "placeholder-in-state");
    refuse(model, placeholder, CLEF_CONTROL_TOKENS_PARSE, "<|image_pad|>", "images");
    static const char *const read[] = {"placeholder-in-state", "one-frame-video",
                                       "media-kwargs-without-media"};
    for (size_t i = 0; i < 3; i++) {
        clef_record *record = encode_body(model, body_of(&bodies, read[i]));
        clef_answer_close(decide(session, record));
        clef_record_close(record);
    }
    model->network.config.has_vision = false;
    refuse(model, placeholder, 0, "this model has no vision tower", "images");
    model->network.config.has_vision = true;
    clef_arena_release(&bodies.arena);
    clef_session_close(session);
    clef_model_close(model);
}

/* ---- decisions ------------------------------------------------------------------------------ */

static clef_record *encode_turned(clef_model *model, clef_text body, clef_exif_mode exif) {
    clef_error error = {0};
    clef_record *record;
    clef_record_options options = {.exif = exif};
    assert_ok(clef_record_encode(model, body.bytes, body.length, &options, &record, &error),
              &error);
    return record;
}

/* A photograph stored lying down, 60 high and 120 wide: upright by default, with its sides
 * exchanged; as stored on demand, and the two never share what was kept. */
static void e09_pictures_are_turned_unless_told_otherwise(void **state) {
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_cached(model), *plain = open_session(model, 128);
    body_list bodies;
    (void)state;
    load_bodies(&bodies, "tiny-random/media/requests.jsonl");
    clef_text body = body_of(&bodies, "odd-encodings");
    for (size_t round = 0; round < 2; round++) {
        for (clef_exif_mode exif = CLEF_EXIF_APPLY; exif <= CLEF_EXIF_IGNORE; exif++) {
            clef_record *record = encode_turned(model, body, exif);
            const clef_medium *turned = &record->media.media.items[2];
            assert_int_equal(turned->grid.rows, exif == CLEF_EXIF_APPLY ? 24 : 12);
            assert_int_equal(turned->grid.columns, exif == CLEF_EXIF_APPLY ? 12 : 24);
            clef_answer *expected = decide(plain, record), *answer = decide(session, record);
            assert_equal_logits(answer, expected->logits, "beside the other way round");
            clef_answer_close(answer);
            clef_answer_close(expected);
            clef_record_close(record);
        }
    }
    clef_arena_release(&bodies.arena);
    clef_session_close(session);
    clef_session_close(plain);
    clef_model_close(model);
}

/* The reference reads a GIF; here it is refused by name, as one of a request's pictures too. */
static void gif_is_refused_by_name(void **state) {
    clef_model *model = open_model_with(random_model(), 1, NULL);
    body_list bodies;
    (void)state;
    load_bodies(&bodies, "tiny-random/media/requests.jsonl");
    refuse(model, body_of(&bodies, "image-and-video"), 0,
           "images[0]: format GIF is not supported (PNG, JPEG, WebP)",
           "images\x1f"
           "0");
    clef_arena_release(&bodies.arena);
    clef_model_close(model);
}

/* ---- the model's own sizes ------------------------------------------------------------------ */

static void write_processor(const char *directory, const char *text) {
    FILE *file = fopen(path_in(directory, "processor_config.json"), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A picture of 16 × 16 is enlarged to the least that the model's processor allows, unless the
 * request says otherwise; a video is sampled as it says. */
static void sizes_are_those_of_the_model(void **state) {
    (void)state;
    char *directory = copy_model(random_model());
    body_list bodies;
    load_bodies(&bodies, "tiny-random/media/requests.jsonl");
    write_processor(directory, "{\"image_processor\":{\"size\":{\"shortest_edge\":16384}},"
                               "\"video_processor\":{\"fps\":12,\"max_frames\":6}}");
    clef_model *model = open_model_with(directory, 1, NULL);
    clef_record *record = encode_body(model, body_of(&bodies, "one-image"));
    assert_int_equal(record->media.media.items[0].grid.rows, 8);
    assert_int_equal(record->media.media.items[0].grid.columns, 8);
    clef_record_close(record);
    record = encode_body(model, body_of(&bodies, "long-video"));
    assert_int_equal(record->media.media.items[0].frame_count, 6);
    clef_record_close(record);
    clef_model_close(model);
    write_processor(directory, "{\"image_processor\":{\"patch_size\":14}}");
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_error error = {0};
    assert_int_equal(clef_model_open(runtime, directory, NULL, &model, &error), CLEF_BAD_FILE);
    assert_non_null(strstr(error.message, "image_processor.patch_size is 14; expected 16"));
    clef_runtime_close(runtime);
    drop_copy(directory);
    clef_arena_release(&bodies.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_stand_where_the_reference_has_them),
        cmocka_unit_test(packing_does_not_matter),
        cmocka_unit_test(kept_states_belong_to_their_pixels),
        cmocka_unit_test(what_the_reference_cannot_read_is_refused),
        cmocka_unit_test(e09_pictures_are_turned_unless_told_otherwise),
        cmocka_unit_test(gif_is_refused_by_name),
        cmocka_unit_test(sizes_are_those_of_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
