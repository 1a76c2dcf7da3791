/* Kept states never change a bit: cold or warm, alone or packed, whatever is dropped and when. And
 * they are found when they should be: what was asked before is not computed again. */
#include "cache_support.h"

#include <math.h>
#include <stdio.h>

enum { STATES = 5, QUESTIONS = 2, RECORDS = STATES * QUESTIONS, PLENTY = 1 << 30 };

/* Words of the states: within a page, around its edges, several pages; the last two begin alike. */
static const size_t word_counts[STATES] = {0, 9, 70, 150, 210};
static const uint64_t state_seeds[STATES] = {1, 2, 3, 4, 4};

/* Records, and their logits without any cache. */
typedef struct bench {
    clef_model *model;
    clef_record *records[RECORDS];
    float *cold[RECORDS];
} bench;

static bench open_bench(clef_model *model) {
    bench b = {.model = model};
    clef_session *session = open_session(model, 0);
    for (size_t i = 0; i < RECORDS; i++) {
        size_t state = i / QUESTIONS;
        b.records[i] =
            encode_pair(model, state_seeds[state], word_counts[state], i % QUESTIONS, NULL);
        clef_answer *answer = decide(session, b.records[i]);
        b.cold[i] = copy_logits(answer);
        assert_int_equal(cached_of(answer), 0);
        clef_answer_close(answer);
    }
    clef_session_close(session);
    return b;
}

static void close_bench(bench *b) {
    for (size_t i = 0; i < RECORDS; i++) {
        clef_release(b->cold[i]);
        clef_record_close(b->records[i]);
    }
    clef_model_close(b->model);
}

static size_t state_end(const clef_record *record) {
    return record->prompt.state_tokens_used / CLEF_GRID * CLEF_GRID;
}

/* Where the head begins to pool. */
static size_t head_end(const clef_record *record) {
    return record->task.question_spans[0].begin / CLEF_GRID * CLEF_GRID;
}

static void check_answer(const bench *b, size_t record, clef_answer *answer, const char *what) {
    char name[96];
    snprintf(name, sizeof name, "%s, record %zu", what, record);
    assert_equal_logits(answer, b->cold[record], name);
    assert_true(cached_of(answer) % CLEF_GRID == 0);
    assert_true(cached_of(answer) <= head_end(b->records[record]));
    clef_answer_close(answer);
}

/* ---- warm answers ---- */

/* Fault E03: the head reads what is restored, for two questions about each state. */
static void check_one_by_one(const bench *b, clef_session *session) {
    for (size_t i = 0; i < RECORDS; i++) {
        clef_answer *answer = decide(session, b->records[i]);
        /* The other question about the same state came before. */
        assert_true(i % QUESTIONS == 0 || cached_of(answer) >= state_end(b->records[i]));
        check_answer(b, i, answer, "one by one");
    }
    for (size_t i = 0; i < RECORDS; i++) {
        clef_answer *answer = decide(session, b->records[i]);
        assert_int_equal(cached_of(answer), head_end(b->records[i]));
        check_answer(b, i, answer, "the second time");
    }
}

static void check_together(const bench *b, clef_session *session, uint64_t seed) {
    size_t order[RECORDS];
    clef_answer *answers[RECORDS];
    shuffle(order, RECORDS, &seed);
    decide_together(session, (clef_record **)(uintptr_t)b->records, order, RECORDS, answers);
    for (size_t i = 0; i < RECORDS; i++) {
        check_answer(b, i, answers[i], "together");
    }
}

static void check_model(clef_model *model) {
    static const uint32_t rows[] = {64, 512};
    bench b = open_bench(model);
    for (size_t r = 0; r < 2; r++) {
        clef_session *session = open_keeping(model, rows[r], PLENTY, 0);
        check_one_by_one(&b, session);
        check_together(&b, session, 5);
        clef_session_close(session);
        session = open_keeping(model, rows[r], PLENTY, 0);
        check_together(&b, session, 6);
        check_together(&b, session, 7);
        clef_session_close(session);
    }
    close_bench(&b);
}

static void warm_is_cold_in_fp32(void **state) {
    (void)state;
    check_model(open_model_with(random_model(), 1, NULL));
    if (!IS_WATCHED) { /* plain C is slow, and shows the same */
        check_model(open_model_with(random_model(), 3, "reference"));
    }
}

static void warm_is_cold_in_bf16(void **state) {
    (void)state;
    check_model(open_model_precise(random_model(), CLEF_PRECISION_BF16, 1, NULL));
}

static void warm_is_cold_in_int8(void **state) {
    (void)state;
    char *directory = quantise_model(random_model(), "int8");
    check_model(open_model_with(directory, 2, NULL));
    drop_copy(directory);
}

/* ---- drops at every moment ---- */

/* Fault E02: under every small budget, and with one entry more dropped after every step. */
static void drops_do_not_matter(void **state) {
    (void)state;
    bench b = open_bench(open_model_with(random_model(), 1, NULL));
    clef_error error = {0};
    uint64_t unit = bytes_of_entry(b.model, 0);
    uint64_t seed = 3;
    for (size_t round = 0; round < (IS_WATCHED ? 7 : 24); round++) {
        uint64_t bytes = round % 3 == 0 ? PLENTY : unit * (1 + round);
        clef_session *session =
            open_keeping(b.model, round % 2 == 0 ? 64 : 256, bytes, (uint32_t)(round % 5));
        clef_answer *answers[RECORDS];
        size_t order[RECORDS];
        shuffle(order, RECORDS, &seed);
        for (size_t i = 0; i < RECORDS; i++) {
            submit(session, b.records[order[i]], &answers[order[i]]);
        }
        for (size_t pending = 1; pending > 0;) {
            assert_ok(clef_session_step(session, &pending, &error), &error);
            clef_session_statistics numbers = numbers_of(session);
            assert_true(numbers.prefix_cache_bytes <= bytes);
            assert_true(round % 5 == 0 || numbers.prefix_cache_entries <= round % 5);
            /* Free pages stay within the budget too. */
            uint64_t pages = session->pool.page_count * session->pool.page_floats * sizeof(float);
            assert_true(pages <= bytes + numbers.state_bytes);
            if (next_number(&seed) % 3 == 0) {
                (void)clef_prefix_cache_evict(&session->cache);
            }
        }
        for (size_t i = 0; i < RECORDS; i++) {
            check_answer(&b, i, answers[i], "with drops");
        }
        clef_session_close(session);
    }
    close_bench(&b);
}

/* ---- edges ---- */

/* Fault E01: a state that ends anywhere around a grid point, then the same with much more behind
 * it. */
static void grown_states_at_every_edge(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *cold = open_session(model, 0);
    for (size_t words = 20; words < 46; words += IS_WATCHED ? 9 : 1) {
        clef_session *warm = open_keeping(model, 128, PLENTY, 0);
        for (size_t more = 0; more <= 100; more += 100) {
            clef_record *record = encode_pair(model, 8, words + more, 1, NULL);
            clef_answer *wanted = decide(cold, record);
            clef_answer *answer = decide(warm, record);
            assert_equal_logits(answer, wanted->logits, "a grown state");
            assert_true(more == 0 ||
                        cached_of(answer) + 2 * CLEF_GRID > state_end(record) - more * 2);
            assert_true(more == 0 || cached_of(answer) > 0);
            clef_answer_close(wanted);
            clef_answer_close(answer);
            clef_record_close(record);
        }
        clef_session_close(warm);
    }
    clef_session_close(cold);
    clef_model_close(model);
}

/* Fault E05: the same request again and again; another first word gives nothing but the fixed text.
 */
static void full_hits_and_none(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_keeping(model, 0, PLENTY, 0);
    clef_record *record = encode_pair(model, 1, 120, 4, NULL);
    float *logits = NULL;
    for (size_t i = 0; i < 5; i++) {
        clef_answer *answer = decide(session, record);
        assert_int_equal(cached_of(answer), i == 0 ? 0 : head_end(record));
        if (logits == NULL) {
            logits = copy_logits(answer);
        }
        assert_equal_logits(answer, logits, "again");
        clef_answer_close(answer);
    }
    clef_session_statistics numbers = numbers_of(session);
    assert_int_equal(numbers.prefix_cache_hits, 4);
    assert_int_equal(numbers.prefix_cache_misses, 1);
    assert_int_equal(numbers.cached_tokens, 4 * head_end(record));
    clef_record *other = encode_pair(model, 2, 120, 4, NULL);
    clef_answer *answer = decide(session, other);
    assert_true(cached_of(answer) <= other->prompt.prefix_tokens);
    clef_answer_close(answer);
    clef_release(logits);
    clef_record_close(record);
    clef_record_close(other);
    clef_session_close(session);
    clef_model_close(model);
}

static void scopes_do_not_share(void **state) {
    (void)state;
    static const char *const scopes[] = {NULL, "one", "two", ""};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_keeping(model, 0, PLENTY, 0);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < 4; i++) {
            clef_record *record = encode_pair(model, 1, 120, 4, scopes[i]);
            clef_answer *answer = decide(session, record);
            assert_int_equal(cached_of(answer), round == 0 ? 0 : head_end(record));
            clef_answer_close(answer);
            clef_record_close(record);
        }
    }
    clef_session_close(session);
    clef_model_close(model);
}

/* ---- what is not computed ---- */

/* Records about one state that come together: the state is computed once. */
static void records_wait_for_a_coming_state(void **state) {
    (void)state;
    enum { TOGETHER = 5 };
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_keeping(model, 128, PLENTY, 0);
    clef_record *records[TOGETHER];
    clef_answer *answers[TOGETHER];
    size_t order[TOGETHER];
    size_t tokens = 0;
    for (size_t i = 0; i < TOGETHER; i++) {
        records[i] = encode_pair(model, 6, 200, i, NULL);
        order[i] = i;
        tokens += records[i]->task.token_count - (i == 0 ? 0 : state_end(records[i]));
    }
    decide_together(session, records, order, TOGETHER, answers);
    assert_true(numbers_of(session).computed_tokens <= tokens);
    for (size_t i = 0; i < TOGETHER; i++) {
        assert_true(i == 0 || cached_of(answers[i]) >= state_end(records[i]));
        clef_answer_close(answers[i]);
    }
    /* The first one goes away before it gets there: the others go on without it. */
    clef_error error = {0};
    clef_session_close(session);
    session = open_keeping(model, 64, PLENTY, 0);
    for (size_t i = 0; i < TOGETHER; i++) {
        if (i == 0) {
            continue;
        }
        submit(session, records[i], &answers[i]);
        if (i == 1) {
            assert_ok(clef_session_step(session, NULL, &error), &error);
        }
    }
    assert_ok(clef_session_step(session, NULL, &error), &error);
    assert_int_equal(numbers_of(session).running_records, 1);
    clef_session_close(session);
    for (size_t i = 0; i < TOGETHER; i++) {
        clef_record_close(records[i]);
    }
    clef_model_close(model);
}

/* Fault E07: twenty turns of a conversation: what is computed grows with what is new. */
static void conversations_cost_what_is_new(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_keeping(model, 512, PLENTY, 0);
    size_t before = 0;
    size_t fresh = 0;
    for (size_t turn = 0; turn < 20; turn++) {
        clef_record *record = encode_pair(model, 9, 100 + turn * 70, turn, NULL);
        clef_answer_close(decide(session, record));
        fresh += record->task.token_count - (turn == 0 ? 0 : before);
        before = record->prompt.state_tokens_used;
        clef_record_close(record);
    }
    uint64_t computed = numbers_of(session).computed_tokens;
    print_message("%zu new tokens, %llu computed\n", fresh, (unsigned long long)computed);
    assert_true((double)computed <= 1.3 * (double)fresh);
    clef_session_close(session);
    clef_model_close(model);
}

/* Long texts that begin alike: the third record resumes where the first two part. */
static void branches_are_kept_where_they_part(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_session *session = open_keeping(model, 512, PLENTY, 0);
    uint32_t cached[3];
    for (size_t i = 0; i < 3; i++) {
        clef_buffer body = {0};
        clef_buffer_append_string(&body, "{\"model\":\"clef\",\"state\":\"");
        append_text(&body, 5, 150);
        append_text(&body, 100 + i, 40);
        clef_buffer_append_string(&body, "\",\"questions\":{\"q\":{\"type\":\"noul\"}}}");
        clef_record *record = encode_body(model, clef_buffer_text(&body));
        clef_answer *answer = decide(session, record);
        cached[i] = cached_of(answer);
        clef_answer_close(answer);
        clef_record_close(record);
        clef_buffer_release(&body);
    }
    assert_true(cached[1] < 150);
    assert_true(cached[2] >= 192);
    clef_session_close(session);
    clef_model_close(model);
}

/* The fixed text, before anybody asks. */
static void warming_keeps_the_fixed_text(void **state) {
    (void)state;
    clef_error error = {0};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *record = encode_pair(model, 1, 30, 0, NULL);
    clef_session *cold = open_session(model, 0);
    clef_answer *wanted = decide(cold, record);
    assert_ok(clef_session_warm(cold, &error), &error);
    clef_session *session = open_keeping(model, 0, PLENTY, 0);
    assert_ok(clef_session_warm(session, &error), &error);
    clef_session_statistics numbers = numbers_of(session);
    size_t kept = record->prompt.prefix_tokens / CLEF_GRID * CLEF_GRID;
    assert_int_equal(numbers.computed_tokens, record->prompt.prefix_tokens);
    assert_int_equal(numbers.prefix_cache_entries, kept > 0 ? 1 : 0);
    clef_answer *answer = decide(session, record);
    assert_int_equal(cached_of(answer), kept);
    assert_equal_logits(answer, wanted->logits, "warmed");
    clef_answer *pending = NULL;
    submit(session, record, &pending);
    assert_int_equal(clef_session_warm(session, &error), CLEF_USAGE);
    finish(session);
    clef_answer_close(pending);
    clef_answer_close(answer);
    clef_answer_close(wanted);
    clef_session_close(cold);
    clef_session_close(session);
    clef_record_close(record);
    clef_model_close(model);
}

/* A state with a number that is none is not kept. */
static void broken_numbers_are_not_kept(void **state) {
    (void)state;
    clef_error error = {0};
    clef_model *model = open_model_with(random_model(), 1, NULL);
    const clef_state_layout *layout = &model->network.layout;
    clef_page_pool pool;
    clef_prefix_cache cache;
    uint32_t tokens[CLEF_GRID] = {0};
    clef_prefix_key key = {tokens, CLEF_GRID, {{0}}, SIZE_MAX};
    clef_page_pool_init(&pool, layout->page_floats);
    assert_ok(clef_prefix_cache_create(layout, &pool, PLENTY, 0, 1, &cache, &error), &error);
    for (size_t round = 0; round < 3; round++) {
        float *page = clef_page_take(&pool);
        assert_non_null(page);
        memset(page, 0, layout->page_floats * sizeof *page);
        float *fixed = clef_prefix_cache_take_fixed(&cache);
        assert_non_null(fixed);
        if (round == 0) {
            fixed[layout->fixed_floats / 2] = INFINITY;
        } else if (round == 1) {
            page[layout->memory_offset + CLEF_GRID * layout->memory_width - 1] = NAN;
        }
        const clef_prefix_entry *entry = clef_prefix_cache_put(
            &cache, &key, (clef_prefix_point){CLEF_GRID, false}, fixed, &page);
        assert_int_equal(entry != NULL, round == 2);
        clef_page_drop(&pool, page);
    }
    clef_prefix_cache_release(&cache);
    assert_int_equal(pool.used_count, 0);
    clef_page_pool_release(&pool);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_is_cold_in_fp32),
        cmocka_unit_test(warm_is_cold_in_bf16),
        cmocka_unit_test(warm_is_cold_in_int8),
        cmocka_unit_test(drops_do_not_matter),
        cmocka_unit_test(grown_states_at_every_edge),
        cmocka_unit_test(full_hits_and_none),
        cmocka_unit_test(scopes_do_not_share),
        cmocka_unit_test(records_wait_for_a_coming_state),
        cmocka_unit_test(conversations_cost_what_is_new),
        cmocka_unit_test(branches_are_kept_where_they_part),
        cmocka_unit_test(warming_keeps_the_fixed_text),
        cmocka_unit_test(broken_numbers_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
