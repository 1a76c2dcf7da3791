/* Records that are one computation, answers said again in the words of another request, and answers
 * made without a model. */
#include "engine_support.h"

static const char FIRST[] =
    "{\"model\":\"a\",\"state\":\"s\",\"questions\":{\"q\":{\"type\":\"choice\",\"criteria\":"
    "{\"x\":\"one\",\"y\":null,\"z\":\"three\"}}}}";
/* The same options in another order and another model's name: the same prompt. */
static const char SAME[] =
    "{\"model\":\"b\",\"state\":\"s\",\"questions\":{\"q\":{\"type\":\"choice\",\"criteria\":"
    "{\"z\":\"three\",\"y\":null,\"x\":\"one\"}}}}";
static const char OTHER[] =
    "{\"model\":\"a\",\"state\":\"t\",\"questions\":{\"q\":{\"type\":\"choice\",\"criteria\":"
    "{\"x\":\"one\",\"y\":null,\"z\":\"three\"}}}}";

static void assert_same_json(const clef_answer *a, const clef_answer *b) {
    char *texts[2] = {NULL, NULL};
    size_t bytes;
    clef_error error = {0};
    assert_ok(clef_answer_json(a, NULL, &texts[0], &bytes, &error), &error);
    assert_ok(clef_answer_json(b, NULL, &texts[1], &bytes, &error), &error);
    assert_string_equal(texts[0], texts[1]);
    clef_text_free(texts[0]);
    clef_text_free(texts[1]);
}

/* `session` may be one of made answers. */
static void check_repetition(clef_model *model, clef_session *session) {
    clef_error error = {0};
    clef_record *first = encode_body(model, clef_text_of(FIRST));
    clef_record *same = encode_body(model, clef_text_of(SAME));
    clef_record *other = encode_body(model, clef_text_of(OTHER));
    size_t length;
    assert_string_equal(clef_record_model(same, &length), "b");
    assert_int_equal(length, 1);
    assert_true(clef_record_equals(first, same) && clef_record_equals(first, first));
    assert_false(clef_record_equals(first, other));
    clef_answer *answer = decide(session, first);
    clef_answer *computed = decide(session, same);
    clef_answer *repeated = NULL;
    assert_ok(clef_answer_repeat(answer, same, &repeated, &error), &error);
    assert_same_json(repeated, computed);
    clef_answer *wrong = answer;
    assert_int_equal(clef_answer_repeat(answer, other, &wrong, &error), CLEF_USAGE);
    assert_null(wrong);
    clef_answer_close(answer);
    clef_answer_close(computed);
    clef_answer_close(repeated);
    clef_record_close(first);
    clef_record_close(same);
    clef_record_close(other);
}

static void answers_are_said_again_in_other_words(void **state) {
    (void)state;
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *model = open_model(runtime, random_model());
    clef_session *session = open_session(model, 64);
    check_repetition(model, session);
    clef_session_close(session);
    clef_model_close(model);
    clef_runtime_close(runtime);
}

static void made_answers_need_a_tokenizer_alone(void **state) {
    (void)state;
    const clef_model_options tokenizer_only = {.tokenizer_only = true};
    const clef_session_options made = {.made_answers = true};
    clef_error error = {0};
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *model = NULL;
    clef_session *session = NULL;
    assert_ok(clef_model_open(runtime, random_model(), &tokenizer_only, &model, &error), &error);
    assert_int_equal(clef_session_create(model, NULL, &session, &error), CLEF_USAGE);
    assert_ok(clef_session_create(model, &made, &session, &error), &error);
    assert_ok(clef_session_warm(session, &error), &error);
    check_repetition(model, session);
    clef_session_close(session);
    clef_model_close(model);
    clef_runtime_close(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_said_again_in_other_words),
        cmocka_unit_test(made_answers_need_a_tokenizer_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
