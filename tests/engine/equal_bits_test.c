/* Answers are equal to the bit for any number of threads, any size of a step, alone or packed with
 * others in any order, at every level of kernels. Compared are logits, with those of the record
 * computed alone on one thread. */
#include "engine_support.h"

#include "base/memory.h"

#include <stdio.h>

enum { RECORDS = 9, SHORT_RECORDS = 6, FEW_RECORDS = 4 };

/* Words of the states: shorter than a page, around its edges, several pages. */
static const size_t word_counts[RECORDS] = {0, 3, 5, 12, 20, 30, 45, 90, 180};

/* How a model is computed. */
typedef struct setting {
    const char *directory;
    clef_precision precision;
    const char *level;
} setting;

typedef struct bench {
    clef_model *model;
    size_t count; /* of the records below */
    clef_record *records[RECORDS];
    float *alone[RECORDS];
} bench;

static clef_model *open_setting(const setting *of, uint32_t threads) {
    return open_model_precise(of->directory, of->precision, threads, of->level);
}

static setting random_at(const char *level) {
    return (setting){random_model(), CLEF_PRECISION_F32, level};
}

static setting trained_at_best(void) {
    return (setting){trained_model(), CLEF_PRECISION_F32, best_level()};
}

/* Plain C is slow, and what the longer records show it shows with the shorter ones. */
static bool is_slow(const char *level) {
    return IS_WATCHED || strcmp(level, "reference") == 0;
}

static bench open_bench(const setting *of, size_t count) {
    bench b = {.model = open_setting(of, 1), .count = count};
    clef_session *session = open_session(b.model, 0);
    for (size_t i = 0; i < b.count; i++) {
        b.records[i] = encode_made(b.model, 100 + i, word_counts[i]);
        clef_answer *answer = decide(session, b.records[i]);
        b.alone[i] = copy_logits(answer);
        clef_answer_close(answer);
    }
    clef_session_close(session);
    return b;
}

static void close_bench(bench *b) {
    for (size_t i = 0; i < b->count; i++) {
        clef_release(b->alone[i]);
        clef_record_close(b->records[i]);
    }
    clef_model_close(b->model);
}

/* Decides `count` records together and compares each with itself alone. */
static void check_together(const bench *b, clef_session *session, clef_record **records,
                           const size_t *order, size_t count, const char *what) {
    clef_answer *answers[RECORDS];
    decide_together(session, records, order, count, answers);
    for (size_t i = 0; i < count; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s, record %zu of %zu", what, i, count);
        assert_equal_logits(answers[i], b->alone[i], name);
        clef_answer_close(answers[i]);
    }
}

/* ---- threads ---- */

static void check_thread_count(const bench *b, const setting *of, uint32_t threads) {
    clef_model *model = open_setting(of, threads);
    clef_session *session = open_session(model, 0);
    clef_record *records[RECORDS];
    size_t order[RECORDS];
    char what[120];
    snprintf(what, sizeof what, "%s, %u threads", of->level, threads);
    for (size_t i = 0; i < b->count; i++) {
        records[i] = encode_made(model, 100 + i, word_counts[i]);
        order[i] = i;
    }
    clef_answer *answer = decide(session, records[b->count - 1]);
    assert_equal_logits(answer, b->alone[b->count - 1], what);
    clef_answer_close(answer);
    check_together(b, session, records, order, b->count, what);
    for (size_t i = 0; i < b->count; i++) {
        clef_record_close(records[i]);
    }
    clef_session_close(session);
    clef_model_close(model);
}

static void check_threads(const setting *of) {
    bench b = open_bench(of, is_slow(of->level) ? SHORT_RECORDS : RECORDS);
    static const uint32_t threads[] = {1, 2, 3, 5};
    for (size_t i = 0; i < 4; i++) {
        check_thread_count(&b, of, threads[i]);
    }
    close_bench(&b);
}

static void check_threads_at(const char *level) {
    setting random = random_at(level);
    check_threads(&random);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    for_each_level(check_threads_at);
    setting trained = trained_at_best();
    check_threads(&trained);
}

/* ---- packing ---- */

/* All records in shuffled orders, in steps of few and of many rows. */
static void check_packing(const setting *of) {
    bench b = open_bench(of, is_slow(of->level) ? SHORT_RECORDS : RECORDS);
    static const uint32_t rows[] = {64, 128, 512, 4096};
    uint64_t seed = 7;
    for (size_t r = 0; r < 4; r++) {
        clef_session *session = open_session(b.model, rows[r]);
        for (size_t round = 0; round < 2; round++) {
            char what[120];
            size_t order[RECORDS];
            snprintf(what, sizeof what, "%s, %u rows a step, order %zu", of->level, rows[r], round);
            shuffle(order, b.count, &seed);
            check_together(&b, session, b.records, order, b.count, what);
        }
        clef_session_close(session);
    }
    close_bench(&b);
}

static void check_packing_at(const char *level) {
    setting random = random_at(level);
    check_packing(&random);
}

static void packing_does_not_matter(void **state) {
    (void)state;
    for_each_level(check_packing_at);
    setting trained = trained_at_best();
    check_packing(&trained);
}

/* Each record beside each single other one, before and behind it. */
static void pairs_do_not_matter(void **state) {
    (void)state;
    setting random = random_at(best_level());
    bench b = open_bench(&random, is_slow(random.level) ? SHORT_RECORDS : RECORDS);
    clef_session *session = open_session(b.model, 0);
    for (size_t i = 0; i < b.count; i++) {
        for (size_t j = 0; j < b.count; j++) {
            clef_record *records[2] = {b.records[i], b.records[j]};
            clef_answer *answers[2];
            decide_together(session, records, (const size_t[]){0, 1}, 2, answers);
            assert_equal_logits(answers[0], b.alone[i], "the first of a pair");
            assert_equal_logits(answers[1], b.alone[j], "the second of a pair");
            clef_answer_close(answers[0]);
            clef_answer_close(answers[1]);
        }
    }
    clef_session_close(session);
    close_bench(&b);
}

/* Batches of one to nine distinct records, shuffled. */
static void batches_of_any_size_do_not_matter(void **state) {
    (void)state;
    setting random = random_at(best_level());
    bench b = open_bench(&random, is_slow(random.level) ? SHORT_RECORDS : RECORDS);
    clef_session *session = open_session(b.model, 0);
    uint64_t seed = 11;
    for (size_t count = 1; count <= b.count; count++) {
        for (size_t round = 0; round < 4; round++) {
            size_t order[RECORDS];
            shuffle(order, count, &seed);
            check_together(&b, session, b.records, order, count, "a batch");
        }
    }
    clef_session_close(session);
    close_bench(&b);
}

/* Records that come while a longer one is half done. */
static void late_records_do_not_matter(void **state) {
    (void)state;
    setting random = random_at(best_level());
    bench b = open_bench(&random, is_slow(random.level) ? SHORT_RECORDS : RECORDS);
    clef_session *session = open_session(b.model, 64);
    clef_error error = {0};
    size_t pages = clef_record_token_count(b.records[b.count - 1]) / CLEF_GRID;
    for (size_t steps = 1; steps < pages && steps <= 6; steps++) {
        clef_answer *answers[RECORDS];
        submit(session, b.records[b.count - 1], &answers[b.count - 1]);
        for (size_t i = 0; i < steps; i++) {
            assert_ok(clef_session_step(session, NULL, &error), &error);
        }
        assert_null(answers[b.count - 1]);
        for (size_t i = 0; i + 1 < b.count; i++) {
            submit(session, b.records[i], &answers[i]);
        }
        finish(session);
        for (size_t i = 0; i < b.count; i++) {
            assert_equal_logits(answers[i], b.alone[i], "with late records");
            clef_answer_close(answers[i]);
        }
    }
    clef_session_close(session);
    close_bench(&b);
}

/* ---- other arithmetic ---- */

/* In few and in many rows, with one and with three threads. */
static void check_setting(const char *directory, clef_precision precision, const char *level) {
    setting of = {directory, precision, level};
    static const uint32_t rows[] = {64, 1024};
    uint64_t seed = 13;
    bench b = open_bench(&of, is_slow(level) ? FEW_RECORDS : SHORT_RECORDS);
    check_thread_count(&b, &of, 3);
    for (size_t r = 0; r < 2; r++) {
        size_t order[RECORDS];
        clef_session *session = open_session(b.model, rows[r]);
        shuffle(order, b.count, &seed);
        check_together(&b, session, b.records, order, b.count, level);
        clef_session_close(session);
    }
    close_bench(&b);
}

/* Products of rounded numbers have two kernels, in plain C and at the levels that are for them. */
static void check_rounded(const char *directory) {
    if (!IS_WATCHED) {
        check_setting(directory, CLEF_PRECISION_BF16, "reference");
    }
    check_setting(directory, CLEF_PRECISION_BF16, best_level());
}

static void bf16_keeps_the_promise(void **state) {
    (void)state;
    check_rounded(random_model());
}

static void quantised_weights_keep_the_promise(void **state) {
    (void)state;
    static const char *const recipes[] = {"int8", "int4"};
    for (size_t i = 0; i < 2; i++) {
        char *directory = quantise_model(random_model(), recipes[i]);
        check_rounded(directory);
        drop_copy(directory);
    }
}

/* ---- neighbours ---- */

/* A neighbour of the same length but other words leaves every bit of a record. */
static void check_neighbours(const char *level) {
    clef_model *model = open_model_with(random_model(), 1, level);
    clef_session *session = open_session(model, 512);
    static const size_t words[] = {3, 25, 60};
    clef_record *kept = encode_made(model, 5, 40);
    float *kept_logits = NULL;
    for (size_t i = 0; i < 3; i++) {
        float *neighbour_logits = NULL;
        for (uint64_t seed = 1; seed <= 3; seed++) {
            clef_record *records[2] = {encode_made(model, seed, words[i]), kept};
            clef_answer *answers[2];
            decide_together(session, records, (const size_t[]){0, 1}, 2, answers);
            if (kept_logits == NULL) {
                kept_logits = copy_logits(answers[1]);
            }
            assert_equal_logits(answers[1], kept_logits, "beside another neighbour");
            if (neighbour_logits != NULL) {
                /* The neighbours do differ, or the comparison would say nothing. */
                assert_memory_not_equal(answers[0]->logits, neighbour_logits, sizeof(float));
            }
            clef_release(neighbour_logits);
            neighbour_logits = copy_logits(answers[0]);
            clef_answer_close(answers[0]);
            clef_answer_close(answers[1]);
            clef_record_close(records[0]);
        }
        clef_release(neighbour_logits);
    }
    clef_release(kept_logits);
    clef_record_close(kept);
    clef_session_close(session);
    clef_model_close(model);
}

static void neighbours_do_not_leak(void **state) {
    (void)state;
    for_each_level(check_neighbours);
}

/* ---- long states ---- */

static void check_long_state(const char *directory, const char *level, size_t words) {
    words /= is_slow(level) ? 4 : 1;
    clef_model *model = open_model_with(directory, 1, level);
    clef_record *records[4] = {encode_made(model, 1, words), encode_made(model, 2, 20),
                               encode_made(model, 3, words / 3), encode_made(model, 4, 0)};
    assert_in_range(clef_record_token_count(records[0]), is_slow(level) ? 700 : 3000, 6000);
    clef_session *session = open_session(model, 0);
    float *alone[4];
    for (size_t i = 0; i < 4; i++) {
        clef_answer *answer = decide(session, records[i]);
        alone[i] = copy_logits(answer);
        clef_answer_close(answer);
    }
    clef_session_close(session);
    static const uint32_t rows[] = {64, 320, 4096};
    uint64_t seed = 3;
    for (size_t r = 0; r < 3; r++) {
        session = open_session(model, rows[r]);
        size_t order[4];
        clef_answer *answers[4];
        shuffle(order, 4, &seed);
        decide_together(session, records, order, 4, answers);
        for (size_t i = 0; i < 4; i++) {
            assert_equal_logits(answers[i], alone[i], "beside a long state");
            clef_answer_close(answers[i]);
        }
        clef_session_close(session);
    }
    for (size_t i = 0; i < 4; i++) {
        clef_release(alone[i]);
        clef_record_close(records[i]);
    }
    clef_model_close(model);
}

/* The states have 3,000 tokens and more. */
static void check_long_state_at(const char *level) {
    check_long_state(random_model(), level, 1500);
}

static void long_states_do_not_matter(void **state) {
    (void)state;
    for_each_level(check_long_state_at);
    check_long_state(trained_model(), best_level(), 2600);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(packing_does_not_matter),
        cmocka_unit_test(pairs_do_not_matter),
        cmocka_unit_test(batches_of_any_size_do_not_matter),
        cmocka_unit_test(late_records_do_not_matter),
        cmocka_unit_test(bf16_keeps_the_promise),
        cmocka_unit_test(quantised_weights_keep_the_promise),
        cmocka_unit_test(neighbours_do_not_leak),
        cmocka_unit_test(long_states_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
