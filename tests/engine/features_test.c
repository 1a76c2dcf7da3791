/* Kept features: a second record about the same picture skips the tower, whatever stands before and
 * behind it, and not a bit differs. */
#include "cache_support.h"

#include <stdio.h>

enum { PICTURES = 2, TEXTS = 3 };

typedef struct bench {
    clef_model *model;
    clef_arena arena;
    clef_text pictures[PICTURES]; /* base64 of two pictures */
    clef_text frames;             /* a list of frames as JSON */
} bench;

static void take_request(void *context, size_t number, clef_text text) {
    bench *b = context;
    const clef_json *line = parse_json(text, &b->arena);
    (void)number;
    if (clef_text_equals(member(line, "name")->text, CLEF_TEXT("two-images"))) {
        clef_text body = clef_arena_copy(&b->arena, member(line, "request")->text);
        const clef_json *picture = member(parse_json(body, &b->arena), "images")->first;
        b->pictures[0] = clef_arena_copy(&b->arena, picture->text);
        b->pictures[1] = clef_arena_copy(&b->arena, picture->next->text);
    }
}

static bench open_bench(void) {
    bench b = {.model = open_model_with(random_model(), 1, NULL)};
    for_each_line(fixture("tiny-random/media/requests.jsonl"), take_request, &b);
    assert_int_not_equal(b.pictures[1].length, 0);
    return b;
}

static void close_bench(bench *b) {
    clef_arena_release(&b->arena);
    clef_model_close(b->model);
}

/* A record about a list of pictures, with a text of its own. Every text has another system of
 * questions and another state. */
static clef_record *encode_about(bench *b, const char *list, const size_t *pictures, size_t count,
                                 size_t text) {
    static const char *const states[TEXTS] = {"", "The parcel came back.", "Who is to be told?"};
    clef_buffer body = {0};
    clef_buffer_append_format(&body, "{\"model\":\"clef\",\"state\":\"%s\",\"%s\":[", states[text],
                              list);
    bool is_video = strcmp(list, "videos") == 0;
    for (size_t i = 0; i < count; i++) {
        clef_text picture = b->pictures[pictures[i]];
        clef_buffer_append_string(&body, i > 0 ? "," : "");
        clef_buffer_append_format(&body, is_video ? "[\"%.*s\",\"%.*s\"]" : "\"%.*s\"",
                                  (int)picture.length, picture.bytes, (int)picture.length,
                                  picture.bytes);
    }
    clef_buffer_append_format(&body, "],\"questions\":{\"q%zu\":{\"type\":\"noul\"}}}", text);
    clef_record *record = encode_body(b->model, clef_buffer_text(&body));
    clef_buffer_release(&body);
    return record;
}

static clef_session *open_remembering(clef_model *model, uint64_t feature_bytes,
                                      uint64_t state_bytes) {
    clef_error error = {0};
    clef_session *session = NULL;
    clef_session_options options = {.rows_per_step = 128,
                                    .prefix_cache_bytes = state_bytes,
                                    .feature_cache_bytes = feature_bytes};
    assert_ok(clef_session_create(model, &options, &session, &error), &error);
    return session;
}

static void decide_equal(clef_session *plain, clef_session *session, clef_record *record,
                         const char *what) {
    clef_answer *expected = decide(plain, record), *answer = decide(session, record);
    assert_equal_logits(answer, expected->logits, what);
    clef_answer_close(answer);
    clef_answer_close(expected);
}

/* What a session counts after one record. */
static void check_counts(const clef_session *session, uint64_t hits, uint64_t misses) {
    clef_session_statistics numbers = numbers_of(session);
    assert_int_equal(numbers.feature_cache_hits, hits);
    assert_int_equal(numbers.feature_cache_misses, misses);
}

static void the_same_picture_skips_the_tower(void **state) {
    bench b = open_bench();
    clef_session *plain = open_session(b.model, 128);
    clef_session *session = open_remembering(b.model, 64 << 20, 0);
    static const size_t first[] = {0}, second[] = {1}, turned[] = {1, 0}, twice[] = {0, 0};
    const struct step {
        const char *list;
        const size_t *pictures;
        size_t count, text, hits, misses;
    } steps[] = {
        {"images", first, 1, 0, 0, 1},  /* new */
        {"images", first, 1, 1, 1, 1},  /* under another text */
        {"images", first, 1, 2, 2, 1},  /* and another */
        {"images", second, 1, 1, 2, 2}, /* another picture */
        {"images", turned, 2, 1, 4, 2}, /* both, in another order */
        {"images", twice, 2, 2, 6, 2},  /* one twice */
        {"videos", first, 1, 0, 6, 3},  /* a video is something else */
        {"videos", first, 1, 1, 7, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        clef_record *record =
            encode_about(&b, steps[i].list, steps[i].pictures, steps[i].count, steps[i].text);
        decide_equal(plain, session, record, "with kept features");
        check_counts(session, steps[i].hits, steps[i].misses);
        clef_record_close(record);
    }
    assert_int_equal(numbers_of(session).feature_cache_entries, 3);
    check_counts(plain, 0, 10);
    clef_session_close(session);
    clef_session_close(plain);
    close_bench(&b);
}

/* Together with kept states: features are asked for only where a state does not reach behind the
 * media. */
static void kept_states_come_first(void **state) {
    bench b = open_bench();
    static const size_t first[] = {0};
    clef_session *plain = open_session(b.model, 128);
    clef_session *session = open_remembering(b.model, 64 << 20, 64 << 20);
    clef_record *record = encode_about(&b, "images", first, 1, 1);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        decide_equal(plain, session, record, "with kept features and states");
    }
    clef_session_statistics numbers = numbers_of(session);
    assert_int_equal(numbers.feature_cache_misses, 1);
    assert_true(numbers.prefix_cache_hits >= 2);
    clef_record_close(record);
    clef_session_close(session);
    clef_session_close(plain);
    close_bench(&b);
}

/* Records of one step share a picture that none of them has seen before. */
static void records_of_a_step_share_it(void **state) {
    bench b = open_bench();
    static const size_t first[] = {0};
    static const size_t order[TEXTS] = {2, 0, 1};
    clef_session *plain = open_session(b.model, 128);
    clef_session *session = open_remembering(b.model, 64 << 20, 0);
    clef_record *records[TEXTS];
    clef_answer *answers[TEXTS];
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        records[i] = encode_about(&b, "images", first, 1, i);
    }
    decide_together(session, records, order, TEXTS, answers);
    for (size_t i = 0; i < TEXTS; i++) {
        clef_answer *expected = decide(plain, records[i]);
        assert_equal_logits(answers[i], expected->logits, "beside others with the same picture");
        clef_answer_close(expected);
        clef_answer_close(answers[i]);
        clef_record_close(records[i]);
    }
    check_counts(session, TEXTS - 1, 1);
    clef_session_close(session);
    clef_session_close(plain);
    close_bench(&b);
}

/* Whoever asks under another scope is not told by a fast answer that the picture was there. */
static void scopes_do_not_share(void **state) {
    static const char *const scopes[] = {"a", "b", NULL, "a", "b", NULL};
    bench b = open_bench();
    clef_session *session = open_remembering(b.model, 64 << 20, 0);
    clef_buffer body = {0};
    (void)state;
    clef_buffer_append_format(&body,
                              "{\"model\":\"m\",\"state\":1,\"images\":[\"%.*s\"],"
                              "\"questions\":{\"q\":{\"type\":\"noul\"}}}",
                              (int)b.pictures[0].length, b.pictures[0].bytes);
    for (size_t i = 0; i < 6; i++) {
        clef_error error = {0};
        clef_record *record = NULL;
        const clef_record_options options = {.cache_scope = scopes[i]};
        assert_ok(clef_record_encode(b.model, body.bytes, body.length, &options, &record, &error),
                  &error);
        clef_answer_close(decide(session, record));
        check_counts(session, i < 3 ? 0 : i - 2, i < 3 ? i + 1 : 3);
        clef_record_close(record);
    }
    clef_buffer_release(&body);
    clef_session_close(session);
    close_bench(&b);
}

/* Room for one picture: two in turn drop each other, and every answer stays what it is. */
static void the_budget_holds(void **state) {
    bench b = open_bench();
    static const size_t pictures[PICTURES][1] = {{0}, {1}};
    clef_session *plain = open_session(b.model, 128);
    clef_record *records[PICTURES] = {encode_about(&b, "images", pictures[0], 1, 0),
                                      encode_about(&b, "images", pictures[1], 1, 0)};
    size_t columns = b.model->network.config.hidden_size;
    uint64_t bytes = sizeof(clef_feature_entry);
    (void)state;
    for (size_t i = 0; i < PICTURES; i++) {
        uint64_t rows = clef_media_token_count(&records[i]->media.media);
        uint64_t own = rows * columns * sizeof(float) + sizeof(clef_feature_entry);
        bytes = own > bytes ? own : bytes;
    }
    clef_session *session = open_remembering(b.model, bytes, 0);
    for (size_t i = 0; i < 6; i++) {
        decide_equal(plain, session, records[i % PICTURES], "with room for one picture");
        clef_session_statistics numbers = numbers_of(session);
        assert_true(numbers.feature_cache_bytes <= bytes);
        assert_int_equal(numbers.feature_cache_entries, 1);
        assert_int_equal(numbers.feature_cache_evictions, i);
    }
    check_counts(session, 0, 6);
    clef_session_close(session);
    for (size_t i = 0; i < PICTURES; i++) {
        clef_record_close(records[i]);
    }
    clef_session_close(plain);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_picture_skips_the_tower),
        cmocka_unit_test(kept_states_come_first),
        cmocka_unit_test(records_of_a_step_share_it),
        cmocka_unit_test(scopes_do_not_share),
        cmocka_unit_test(the_budget_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
