/* Giving up records: before they start, half-way, the only one. Whoever stays gets the bits of a
 * session where nobody left, and memory goes back. */
#include "cache_support.h"
#include "counted_memory.h"

#include <stdio.h>

enum { RECORDS = 4 };

/* What became of a submitted record. */
typedef struct outcome {
    size_t calls;
    clef_status status;
    clef_answer *answer;
    char message[128];
} outcome;

static void keep_outcome(void *context, clef_status status, clef_answer *answer,
                         const clef_error *error) {
    outcome *place = context;
    place->calls++;
    place->status = status;
    place->answer = answer;
    if (status != CLEF_OK) {
        snprintf(place->message, sizeof place->message, "%.100s", error->message);
    }
}

typedef struct bench {
    clef_model *model;
    clef_record *records[RECORDS];
    float *alone[RECORDS];
    outcome outcomes[RECORDS];
} bench;

static bench open_bench(void) {
    bench b = {.model = open_model_with(random_model(), 1, NULL)};
    clef_session *session = open_session(b.model, 0);
    for (size_t i = 0; i < RECORDS; i++) {
        b.records[i] = encode_made(b.model, 50 + i, 20 + 30 * i);
        clef_answer *answer = decide(session, b.records[i]);
        b.alone[i] = copy_logits(answer);
        clef_answer_close(answer);
    }
    clef_session_close(session);
    return b;
}

static void close_bench(bench *b) {
    for (size_t i = 0; i < RECORDS; i++) {
        clef_release(b->alone[i]);
        clef_record_close(b->records[i]);
    }
    clef_model_close(b->model);
}

static void submit_all(bench *b, clef_session *session) {
    clef_error error = {0};
    for (size_t i = 0; i < RECORDS; i++) {
        b->outcomes[i] = (outcome){0};
        assert_ok(
            clef_session_submit(session, b->records[i], keep_outcome, &b->outcomes[i], &error),
            &error);
    }
}

static void assert_cancelled(const outcome *of) {
    assert_int_equal(of->calls, 1);
    assert_int_equal(of->status, CLEF_CANCELLED);
    assert_null(of->answer);
    assert_true(of->message[0] != '\0');
}

static void assert_answered(bench *b, size_t record) {
    assert_int_equal(b->outcomes[record].calls, 1);
    assert_int_equal(b->outcomes[record].status, CLEF_OK);
    assert_equal_logits(b->outcomes[record].answer, b->alone[record], "beside one that left");
    clef_answer_close(b->outcomes[record].answer);
}

/* One leaves after so many steps; the others are answered as if it had never been there. */
static void check_leaving(bench *b, clef_session *session, size_t who, size_t steps) {
    clef_error error = {0};
    submit_all(b, session);
    for (size_t i = 0; i < steps; i++) {
        assert_ok(clef_session_step(session, NULL, &error), &error);
    }
    bool was_answered = b->outcomes[who].calls > 0;
    assert_int_equal(clef_session_cancel(session, &b->outcomes[who]), !was_answered);
    assert_false(clef_session_cancel(session, &b->outcomes[who]));
    finish(session);
    for (size_t i = 0; i < RECORDS; i++) {
        if (i == who && !was_answered) {
            assert_cancelled(&b->outcomes[i]);
        } else {
            assert_answered(b, i);
        }
    }
    clef_session_statistics numbers = numbers_of(session);
    assert_int_equal(numbers.pending_records, 0);
    assert_int_equal(numbers.running_records, 0);
    assert_int_equal(numbers.state_bytes, 0);
}

static void others_are_not_touched(void **state) {
    (void)state;
    bench b = open_bench();
    for (size_t cache = 0; cache < 2; cache++) {
        clef_session *session = open_keeping(b.model, 64, cache * 100000000, 0);
        for (size_t who = 0; who < RECORDS; who += IS_WATCHED ? 3 : 1) {
            for (size_t steps = 0; steps < 10; steps += IS_WATCHED ? 4 : 1) {
                check_leaving(&b, session, who, steps);
            }
        }
        clef_session_close(session);
    }
    close_bench(&b);
}

/* The only one, at every step; the session is as good as new. */
static void the_only_one_may_leave(void **state) {
    (void)state;
    bench b = open_bench();
    clef_error error = {0};
    clef_session *session = open_session(b.model, 64);
    for (size_t steps = 0; steps < 3; steps++) {
        outcome left = {0};
        size_t pending = 1;
        assert_ok(clef_session_submit(session, b.records[3], keep_outcome, &left, &error), &error);
        for (size_t i = 0; i < steps; i++) {
            assert_ok(clef_session_step(session, NULL, &error), &error);
        }
        assert_int_equal(numbers_of(session).running_records, steps > 0);
        assert_true(clef_session_cancel(session, &left));
        assert_cancelled(&left);
        assert_int_equal(numbers_of(session).state_bytes, 0);
        assert_ok(clef_session_step(session, &pending, &error), &error);
        assert_int_equal(pending, 0);
        clef_answer *answer = decide(session, b.records[3]);
        assert_equal_logits(answer, b.alone[3], "behind one that left");
        clef_answer_close(answer);
    }
    clef_session_close(session);
    close_bench(&b);
}

/* Of records with one context the oldest leaves; nobody leaves for an unknown one. */
static void the_oldest_of_a_context_leaves(void **state) {
    (void)state;
    bench b = open_bench();
    clef_error error = {0};
    clef_session *session = open_session(b.model, 0);
    outcome shared = {0};
    int unknown = 0;
    assert_false(clef_session_cancel(session, &shared));
    assert_ok(clef_session_submit(session, b.records[0], keep_outcome, &shared, &error), &error);
    assert_ok(clef_session_submit(session, b.records[1], keep_outcome, &shared, &error), &error);
    assert_false(clef_session_cancel(session, &unknown));
    assert_true(clef_session_cancel(session, &shared));
    assert_cancelled(&shared);
    finish(session);
    assert_int_equal(shared.calls, 2);
    assert_equal_logits(shared.answer, b.alone[1], "the younger one");
    clef_answer_close(shared.answer);
    clef_session_close(session);
    close_bench(&b);
}

/* A record that waits for another's coming state goes on by itself when that one leaves. */
static void followers_go_on_alone(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *first = encode_pair(model, 3, 200, 1, NULL);
    clef_record *second = encode_pair(model, 3, 200, 2, NULL);
    clef_session *cold = open_session(model, 0);
    clef_answer *wanted = decide(cold, second);
    for (size_t steps = 0; steps < 8; steps++) {
        clef_error error = {0};
        outcome outcomes[2] = {{0}};
        clef_session *session = open_keeping(model, 64, 100000000, 0);
        assert_ok(clef_session_submit(session, first, keep_outcome, &outcomes[0], &error), &error);
        assert_ok(clef_session_submit(session, second, keep_outcome, &outcomes[1], &error), &error);
        for (size_t i = 0; i < steps; i++) {
            assert_ok(clef_session_step(session, NULL, &error), &error);
        }
        bool has_left = clef_session_cancel(session, &outcomes[0]);
        finish(session);
        assert_int_equal(outcomes[0].status, has_left ? CLEF_CANCELLED : CLEF_OK);
        assert_int_equal(outcomes[1].status, CLEF_OK);
        assert_equal_logits(outcomes[1].answer, wanted->logits, "whose leader left");
        clef_answer_close(outcomes[0].answer);
        clef_answer_close(outcomes[1].answer);
        clef_session_close(session);
    }
    clef_answer_close(wanted);
    clef_session_close(cold);
    clef_record_close(first);
    clef_record_close(second);
    clef_model_close(model);
}

/* Hundreds that come and leave at any moment: memory stays where it was. */
static void leaving_leaves_nothing(void **state) {
    (void)state;
    bench b = open_bench();
    size_t before = memory_live_blocks();
    for (size_t cache = 0; cache < 2; cache++) {
        clef_session *session = open_keeping(b.model, 64, cache * 2000000, 0);
        size_t highest[2] = {0};
        uint64_t seed = 4;
        for (size_t round = 0; round < (IS_WATCHED ? 26 : 120); round++) {
            check_leaving(&b, session, next_number(&seed) % RECORDS, next_number(&seed) % 8);
            size_t live = memory_live_bytes();
            size_t half = round >= 20;
            highest[half] = live > highest[half] ? live : highest[half];
        }
        assert_true(highest[1] <= highest[0] + 200000);
        clef_session_close(session);
    }
    assert_int_equal(memory_live_blocks(), before);
    close_bench(&b);
}

/* ---- numbers ---- */

static void a_session_tells_its_numbers(void **state) {
    (void)state;
    bench b = open_bench();
    clef_error error = {0};
    clef_session *session = open_session(b.model, 64);
    clef_session_statistics numbers = numbers_of(session);
    clef_memory_estimate estimate;
    clef_model_estimate(b.model, 64, 1, &estimate);
    assert_int_equal(numbers.pending_records, 0);
    assert_int_equal(numbers.steps, 0);
    assert_int_equal(numbers.computed_tokens, 0);
    /* The estimate also counts what threads and the deciding head take for a while. */
    assert_true(numbers.scratch_bytes > 0);
    assert_true(numbers.scratch_bytes <= estimate.scratch_bytes);
    submit_all(&b, session);
    assert_int_equal(numbers_of(session).pending_records, RECORDS);
    assert_int_equal(numbers_of(session).running_records, 0);
    assert_int_equal(numbers_of(session).state_bytes, 0);
    assert_ok(clef_session_step(session, NULL, &error), &error);
    numbers = numbers_of(session);
    assert_int_equal(numbers.steps, 1);
    assert_in_range(numbers.computed_tokens, 1, 64);
    assert_in_range(numbers.running_records, 1, 4);
    clef_model_estimate(b.model, 64, clef_record_token_count(b.records[0]), &estimate);
    assert_true(numbers.state_bytes > 0);
    finish(session);
    size_t tokens = 0;
    for (size_t i = 0; i < RECORDS; i++) {
        tokens += clef_record_token_count(b.records[i]);
        assert_answered(&b, i);
    }
    numbers = numbers_of(session);
    assert_int_equal(numbers.computed_tokens, tokens);
    assert_true(numbers.steps >= tokens / 64);
    assert_int_equal(numbers.pending_records, 0);
    assert_int_equal(numbers.state_bytes, 0);
    assert_int_equal(numbers.prefix_cache_entries + numbers.prefix_cache_bytes +
                         numbers.prefix_cache_hits + numbers.prefix_cache_misses,
                     0);
    clef_session_close(session);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_not_touched),
        cmocka_unit_test(the_only_one_may_leave),
        cmocka_unit_test(the_oldest_of_a_context_leaves),
        cmocka_unit_test(followers_go_on_alone),
        cmocka_unit_test(leaving_leaves_nothing),
        cmocka_unit_test(a_session_tells_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
