/* The public handles: any order of closing, calls from within callbacks, and what is refused with
 * which words. */
#include "counted_memory.h"
#include "engine_support.h"

#include "base/memory.h"

#include <stdio.h>
#include <unistd.h>

/* ---- closing ---- */

typedef struct handles {
    clef_runtime *runtime;
    clef_model *model;
    clef_record *record;
    clef_session *session;
    clef_answer *answer;
} handles;

enum { HANDLES = 5 };

static handles open_handles(clef_text body) {
    handles h = {.runtime = open_runtime(1, NULL)};
    h.model = open_model(h.runtime, random_model());
    h.record = encode_body(h.model, body);
    h.session = open_session(h.model, 64);
    h.answer = decide(h.session, h.record);
    return h;
}

static void close_handle(handles *h, size_t which) {
    switch (which) {
    case 0:
        clef_runtime_close(h->runtime);
        break;
    case 1:
        clef_model_close(h->model);
        break;
    case 2:
        clef_record_close(h->record);
        break;
    case 3:
        clef_session_close(h->session);
        break;
    default:
        clef_answer_close(h->answer);
        break;
    }
}

/* Permutation `number` of 0 … HANDLES - 1. */
static void order_of(size_t number, size_t *order) {
    size_t left[HANDLES] = {0, 1, 2, 3, 4};
    for (size_t count = HANDLES; count > 0; count--) {
        size_t at = number % count;
        number /= count;
        order[HANDLES - count] = left[at];
        memmove(left + at, left + at + 1, (count - at - 1) * sizeof *left);
    }
}

static void any_order_of_closing_releases_everything(void **state) {
    (void)state;
    clef_text body = make_body(1, 2);
    size_t live = memory_live_blocks();
    for (size_t number = 0; number < 120; number++) {
        handles h = open_handles(body);
        size_t order[HANDLES];
        order_of(number, order);
        for (size_t i = 0; i < HANDLES; i++) {
            close_handle(&h, order[i]);
        }
        assert_int_equal(memory_live_blocks(), live);
    }
    release_text(body);
}

static void children_work_without_their_parents(void **state) {
    (void)state;
    clef_text body = make_body(1, 2);
    clef_error error = {0};
    handles h = open_handles(body);
    clef_runtime_close(h.runtime);
    clef_record *second = encode_body(h.model, body);
    clef_model_close(h.model);
    clef_answer *again = decide(h.session, second);
    assert_equal_logits(again, h.answer->logits, "without model and runtime");
    clef_session_close(h.session);
    clef_record_close(h.record);
    clef_record_close(second);
    char *json = NULL;
    size_t bytes = 0;
    assert_ok(clef_answer_json(again, NULL, &json, &bytes, &error), &error);
    assert_int_equal(strlen(json), bytes);
    clef_text_free(json);
    clef_answer_close(again);
    clef_answer_close(h.answer);
    release_text(body);
}

static void every_close_accepts_null(void **state) {
    (void)state;
    clef_runtime_close(NULL);
    clef_model_close(NULL);
    clef_record_close(NULL);
    clef_session_close(NULL);
    clef_answer_close(NULL);
    clef_text_free(NULL);
}

/* ---- callbacks ---- */

typedef struct chain {
    clef_session *session;
    clef_record *record;
    size_t left; /* records still to submit */
    size_t answered;
} chain;

static void submit_next(void *context, clef_status status, clef_answer *answer,
                        const clef_error *error) {
    chain *c = context;
    clef_error own = {0};
    assert_ok(status, error);
    clef_answer_close(answer);
    c->answered++;
    for (size_t i = 0; i < 2 && c->left > 0; i++) {
        c->left--;
        assert_ok(clef_session_submit(c->session, c->record, submit_next, c, &own), &own);
    }
}

static void callbacks_may_submit(void **state) {
    (void)state;
    clef_error error = {0};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_session(model, 256);
    chain c = {session, encode_made(model, 3, 10), 19, 0};
    assert_ok(clef_session_submit(session, c.record, submit_next, &c, &error), &error);
    finish(session);
    assert_int_equal(c.answered, 20);
    size_t pending = 9;
    assert_ok(clef_session_step(session, &pending, &error), &error);
    assert_int_equal(pending, 0);
    clef_record_close(c.record);
    clef_session_close(session);
    clef_model_close(model);
}

/* A session closed with records in it forgets them without a call. */
static void fail_on_call(void *context, clef_status status, clef_answer *answer,
                         const clef_error *error) {
    (void)context;
    (void)status;
    (void)answer;
    (void)error;
    fail_msg("a closed session called back");
}

static void sessions_may_be_closed_at_work(void **state) {
    (void)state;
    clef_error error = {0};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_made(model, 3, 100);
    size_t live = memory_live_blocks();
    for (size_t steps = 0; steps < 3; steps++) {
        clef_session *session = open_session(model, 64);
        for (size_t i = 0; i < 3; i++) {
            assert_ok(clef_session_submit(session, record, fail_on_call, NULL, &error), &error);
        }
        for (size_t i = 0; i < steps; i++) {
            assert_ok(clef_session_step(session, NULL, &error), &error);
        }
        clef_session_close(session);
        assert_int_equal(memory_live_blocks(), live);
    }
    clef_record_close(record);
    clef_model_close(model);
}

/* decide takes those with it that were submitted before. */
static void decide_finishes_only_its_own(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *small = encode_made(model, 3, 1);
    clef_record *large = encode_made(model, 4, 1000);
    clef_session *session = open_session(model, 256);
    clef_answer *first = NULL;
    clef_answer *second = NULL;
    submit(session, large, &first);
    submit(session, small, &second);
    clef_answer *own = decide(session, small);
    assert_non_null(second);
    assert_null(first);
    assert_memory_equal(own->logits, second->logits, sizeof(float));
    finish(session);
    assert_non_null(first);
    clef_answer_close(first);
    clef_answer_close(second);
    clef_answer_close(own);
    clef_record_close(small);
    clef_record_close(large);
    clef_session_close(session);
    clef_model_close(model);
}

/* ---- refusals ---- */

/* The status is as wanted, and the message names what was found and what would do. */
static void assert_refused(clef_status status, const clef_error *error, clef_status wanted,
                           const char *found, const char *allowed) {
    assert_int_equal(status, wanted);
    assert_int_equal(error->status, wanted);
    if (strstr(error->message, found) == NULL || strstr(error->message, allowed) == NULL) {
        fail_msg("\"%s\" does not name \"%s\" and \"%s\"", error->message, found, allowed);
    }
}

static void runtime_refuses_what_it_cannot_honour(void **state) {
    (void)state;
    clef_error error = {0};
    clef_runtime *runtime = NULL;
    clef_runtime_options options = {.thread_count = 5000};
    clef_status status = clef_runtime_create(&options, &runtime, &error);
    assert_refused(status, &error, CLEF_USAGE, "5000", "1024");
    assert_null(runtime);
    assert_int_equal(clef_runtime_create(&options, &runtime, NULL), CLEF_USAGE);
    options = (clef_runtime_options){.cpu_level = "sse9"};
    status = clef_runtime_create(&options, &runtime, &error);
    assert_refused(status, &error, CLEF_USAGE, "sse9", "reference");
    assert_null(runtime);

    runtime = open_runtime(3, "reference");
    assert_int_equal(clef_runtime_threads(runtime), 3);
    assert_string_equal(clef_runtime_level(runtime), "reference");
    assert_non_null(strstr(clef_runtime_levels(runtime), "reference"));
    clef_runtime_close(runtime);
    runtime = open_runtime(0, "");
    assert_in_range(clef_runtime_threads(runtime), 1, 1024);
    assert_non_null(strstr(clef_runtime_levels(runtime), clef_runtime_level(runtime)));
    clef_runtime_close(runtime);
}

static void session_refuses_what_it_cannot_honour(void **state) {
    (void)state;
    clef_error error = {0};
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *model = open_model(runtime, random_model());
    clef_model *other = open_model(runtime, random_model());
    clef_session *session = NULL;
    clef_session_options options = {.rows_per_step = 70000};
    clef_status status = clef_session_create(model, &options, &session, &error);
    assert_refused(status, &error, CLEF_USAGE, "70000", "65536");
    assert_null(session);
    options.rows_per_step = UINT32_MAX;
    assert_int_equal(clef_session_create(model, &options, &session, NULL), CLEF_USAGE);

    session = open_session(model, 0);
    clef_record *foreign = encode_made(other, 1, 1);
    clef_answer *answer = NULL;
    status = clef_session_submit(session, foreign, fail_on_call, NULL, &error);
    assert_refused(status, &error, CLEF_USAGE, "another model", "");
    status = clef_session_decide(session, foreign, &answer, &error);
    assert_refused(status, &error, CLEF_USAGE, "another model", "");
    assert_null(answer);
    size_t pending = 9;
    assert_ok(clef_session_step(session, &pending, &error), &error);
    assert_int_equal(pending, 0);
    clef_record_close(foreign);
    clef_session_close(session);
    clef_model_close(other);
    clef_model_close(model);
    clef_runtime_close(runtime);
}

static void model_refuses_what_it_cannot_honour(void **state) {
    (void)state;
    clef_error error = {0};
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *model = NULL;
    clef_model_options options = {.precision = (clef_precision)77};
    clef_status status = clef_model_open(runtime, random_model(), &options, &model, &error);
    assert_refused(status, &error, CLEF_USAGE, "77", "precision");
    assert_null(model);
    assert_int_equal(clef_model_open(runtime, "no/such/folder", NULL, &model, NULL), CLEF_BAD_FILE);
    status = clef_model_open(runtime, "no/such/folder", NULL, &model, &error);
    assert_int_equal(status, CLEF_BAD_FILE);
    assert_null(model);
    assert_true(error.message[0] != '\0');
    assert_non_null(strstr(error.place, "no/such/folder"));
    clef_runtime_close(runtime);
}

static void record_refuses_what_it_cannot_honour(void **state) {
    (void)state;
    clef_error error = {0};
    clef_record *record = NULL;
    clef_model *model = open_model_with(trained_model(), 1, NULL);
    clef_text body = make_body(1, 30);
    clef_record_options options = {.token_limit = 20000};
    clef_status status =
        clef_record_encode(model, body.bytes, body.length, &options, &record, &error);
    assert_refused(status, &error, CLEF_USAGE, "20000", "16384");
    assert_null(record);
    options.token_limit = 40;
    status = clef_record_encode(model, body.bytes, body.length, &options, &record, &error);
    assert_refused(status, &error, CLEF_OVER_LIMIT, "40", "");
    assert_null(record);
    status = clef_record_encode(model, "{\"model\":", 9, NULL, &record, &error);
    assert_int_equal(status, CLEF_BAD_REQUEST);
    assert_string_equal(error.kind, "json_invalid");
    assert_true(error.message[0] != '\0');
    status = clef_record_encode(model, "\xff", 1, NULL, &record, &error);
    assert_int_equal(status, CLEF_BAD_TEXT);
    assert_int_equal(clef_record_encode(model, "", 0, NULL, &record, NULL), CLEF_BAD_REQUEST);
    assert_null(record);
    release_text(body);
    clef_model_close(model);
}

/* ---- models that can not decide ---- */

static void tokenizer_alone_encodes_but_does_not_decide(void **state) {
    (void)state;
    clef_error error = {0};
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *whole = open_model(runtime, random_model());
    clef_model *model = NULL;
    clef_model_options options = {.tokenizer_only = true};
    assert_ok(clef_model_open(runtime, random_model(), &options, &model, &error), &error);
    clef_record *record = encode_made(model, 1, 20);
    clef_record *wanted = encode_made(whole, 1, 20);
    assert_int_equal(clef_record_token_count(record), clef_record_token_count(wanted));
    assert_memory_equal(clef_record_tokens(record), clef_record_tokens(wanted),
                        clef_record_token_count(wanted) * sizeof(uint32_t));
    clef_session *session = NULL;
    clef_status status = clef_session_create(model, NULL, &session, &error);
    assert_refused(status, &error, CLEF_USAGE, "tokenizer", "");
    assert_null(session);
    clef_model_facts facts;
    clef_memory_estimate estimate;
    clef_model_describe(model, &facts);
    clef_model_estimate(model, 0, 100, &estimate);
    assert_int_equal(facts.hidden_size, 0);
    assert_true(facts.token_count > 1000);
    assert_true(estimate.sequence_bytes == 0 && estimate.scratch_bytes == 0);
    clef_record_close(record);
    clef_record_close(wanted);
    clef_model_close(model);
    clef_model_close(whole);
    clef_runtime_close(runtime);
}

static void base_model_opens_but_does_not_decide(void **state) {
    (void)state;
    clef_error error = {0};
    char *directory = copy_model(random_model());
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *model = NULL;
    clef_session *session = NULL;
    /* Half a head is a broken model. */
    assert_int_equal(unlink(path_in(directory, "joint_head.safetensors")), 0);
    clef_status status = clef_model_open(runtime, directory, NULL, &model, &error);
    assert_int_equal(status, CLEF_BAD_FILE);
    assert_true(error.message[0] != '\0' && error.place[0] != '\0');
    assert_null(model);

    assert_int_equal(unlink(path_in(directory, "joint_head_config.json")), 0);
    model = open_model(runtime, directory);
    clef_model_facts facts;
    clef_model_describe(model, &facts);
    assert_false(facts.has_head);
    assert_int_equal(facts.head_parameter_count, 0);
    clef_record_close(encode_made(model, 1, 20));
    status = clef_session_create(model, NULL, &session, &error);
    assert_refused(status, &error, CLEF_USAGE, "joint_head", directory);
    assert_null(session);
    clef_model_close(model);
    clef_runtime_close(runtime);
    drop_copy(directory);
}

/* ---- answers ---- */

static void answers_have_only_the_questions_asked(void **state) {
    (void)state;
    clef_text body = make_body(3, 10);
    handles h = open_handles(body);
    clef_answer_question question;
    clef_answer_option option;
    uint32_t questions = clef_answer_question_count(h.answer);
    assert_true(questions >= 1);
    for (uint32_t i = 0; i < questions; i++) {
        double sum = 0;
        float best = 0;
        assert_true(clef_answer_question_at(h.answer, i, &question));
        for (uint32_t j = 0; j < question.option_count; j++) {
            assert_true(clef_answer_option_at(h.answer, i, j, &option));
            assert_int_equal(strlen(option.id), option.id_bytes);
            assert_int_equal(strlen(option.label), option.label_bytes);
            sum += option.probability;
            best = option.probability > best ? option.probability : best;
        }
        assert_true(sum > 0.99999 && sum < 1.00001);
        assert_true(question.best < question.option_count);
        assert_true(clef_answer_option_at(h.answer, i, question.best, &option));
        assert_true(option.probability == best && question.confidence == (double)best);
        assert_false(clef_answer_option_at(h.answer, i, question.option_count, &option));
    }
    assert_false(clef_answer_question_at(h.answer, questions, &question));
    assert_false(clef_answer_option_at(h.answer, questions, 0, &option));
    clef_answer_usage usage;
    clef_answer_describe(h.answer, &usage);
    assert_int_equal(usage.input_tokens, clef_record_token_count(h.record));
    assert_true(usage.latency_ms > 0 && !usage.is_truncated);
    for (size_t i = 0; i < HANDLES; i++) {
        close_handle(&h, i);
    }
    release_text(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_closing_releases_everything),
        cmocka_unit_test(children_work_without_their_parents),
        cmocka_unit_test(every_close_accepts_null),
        cmocka_unit_test(callbacks_may_submit),
        cmocka_unit_test(sessions_may_be_closed_at_work),
        cmocka_unit_test(decide_finishes_only_its_own),
        cmocka_unit_test(runtime_refuses_what_it_cannot_honour),
        cmocka_unit_test(session_refuses_what_it_cannot_honour),
        cmocka_unit_test(model_refuses_what_it_cannot_honour),
        cmocka_unit_test(record_refuses_what_it_cannot_honour),
        cmocka_unit_test(tokenizer_alone_encodes_but_does_not_decide),
        cmocka_unit_test(base_model_opens_but_does_not_decide),
        cmocka_unit_test(answers_have_only_the_questions_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
