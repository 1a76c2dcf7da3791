/* Long states: nothing is cut unseen (D01), and a budget for states makes records wait or refuses
 * the one that can never fit, while the others go on unchanged (D05). */
#include "engine_support.h"

#include <stdio.h>
#include <string.h>

/* A record whose state is `first`, then `words` times "the cat is red. ", then `last`. */
static clef_record *long_record(clef_model *model, const char *first, size_t words,
                                const char *last) {
    clef_buffer body = {0};
    clef_buffer_append_format(&body, "{\"model\":\"m\",\"state\":\"%s ", first);
    for (size_t i = 0; i < words; i++) {
        clef_buffer_append_string(&body, "the cat is red. ");
    }
    clef_buffer_append_format(
        &body,
        "%s\",\"questions\":{\"outage\":{\"type\":\"noul\",\"instructions\":\"Is a service "
        "down?\"}}}",
        last);
    clef_record *record = encode_body(model, clef_buffer_text(&body));
    clef_buffer_release(&body);
    return record;
}

static float logit_of(clef_session *session, clef_record *record, uint32_t *input_tokens) {
    clef_answer *answer = decide(session, record);
    clef_answer_option option;
    assert_true(clef_answer_option_at(answer, 0, 0, &option));
    clef_answer_usage usage;
    clef_answer_describe(answer, &usage);
    *input_tokens = usage.input_tokens;
    clef_answer_close(answer);
    return option.logit;
}

static void both_ends_of_a_long_state_are_read(void **state) {
    (void)state;
    clef_model *model = open_model_with(trained_model(), 0, NULL);
    clef_session *session = open_session(model, 0);
    clef_record *records[3] = {long_record(model, "red.", 2300, "red."),
                               long_record(model, "down.", 2300, "red."),
                               long_record(model, "red.", 2300, "down.")};
    float logits[3];
    uint32_t tokens;
    for (size_t i = 0; i < 3; i++) {
        logits[i] = logit_of(session, records[i], &tokens);
        assert_int_equal(tokens, clef_record_token_count(records[i]));
        assert_true(tokens > 11000);
        clef_record_close(records[i]);
    }
    assert_true(logits[0] != logits[1]);
    assert_true(logits[0] != logits[2]);
    clef_session_close(session);
    clef_model_close(model);
}

typedef struct outcome {
    clef_status status;
    float logit;
    char message[256];
    size_t *order; /* counts answers */
    size_t place;
} outcome;

static void note_outcome(void *context, clef_status status, clef_answer *answer,
                         const clef_error *error) {
    outcome *o = context;
    o->status = status;
    o->place = ++*o->order;
    if (answer != NULL) {
        clef_answer_option option;
        assert_true(clef_answer_option_at(answer, 0, 0, &option));
        o->logit = option.logit;
        clef_answer_close(answer);
    } else {
        snprintf(o->message, sizeof o->message, "%.200s", error->message);
    }
}

static void a_budget_makes_records_wait(void **state) {
    (void)state;
    clef_model *model = open_model_with(trained_model(), 0, NULL);
    clef_error error = {0};
    clef_memory_estimate estimate;
    clef_model_estimate(model, 0, 2500, &estimate);
    clef_session_options options = {.state_bytes = estimate.sequence_bytes};
    clef_session *session;
    clef_session *free_session = open_session(model, 0);
    assert_ok(clef_session_create(model, &options, &session, &error), &error);
    /* Three that fit one at a time, one that never fits, one short. */
    size_t words[5] = {450, 450, 450, 900, 1};
    outcome outcomes[5] = {{0}};
    clef_record *records[5];
    size_t order = 0;
    for (size_t i = 0; i < 5; i++) {
        records[i] = long_record(model, "down.", words[i], "down.");
        outcomes[i].order = &order;
        assert_ok(clef_session_submit(session, records[i], note_outcome, &outcomes[i], &error),
                  &error);
    }
    size_t pending = 5;
    for (size_t steps = 0; pending > 0; steps++) {
        assert_true(steps < 1000);
        assert_ok(clef_session_step(session, &pending, &error), &error);
    }
    for (size_t i = 0; i < 5; i++) {
        uint32_t tokens;
        if (i == 3) {
            assert_int_equal(outcomes[i].status, CLEF_OUT_OF_MEMORY);
            assert_non_null(strstr(outcomes[i].message, "over the limit of"));
        } else {
            float alone = logit_of(free_session, records[i], &tokens);
            assert_int_equal(outcomes[i].status, CLEF_OK);
            assert_memory_equal(&outcomes[i].logit, &alone, sizeof alone);
        }
        clef_record_close(records[i]);
    }
    assert_true(outcomes[0].place < outcomes[1].place);
    clef_session_close(free_session);
    clef_session_close(session);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_of_a_long_state_are_read),
        cmocka_unit_test(a_budget_makes_records_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
