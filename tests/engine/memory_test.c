/* Memory over time: a state as long as the context fits in what its size foretells, hundreds of
 * requests leave no trace, and files may be replaced under an open model. */
#include "counted_memory.h"
#include "engine_support.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <sys/resource.h>

/* Under a sanitizer everything is slower, and shadow memory and quarantines are not ours to count.
 */
enum { TOKENS = IS_WATCHED ? 4096 : 16384, REQUESTS = IS_WATCHED ? 150 : 500 };

/* ---- the longest state ---- */

static void longest_state_fits(void **state) {
    (void)state;
    clef_error error = {0};
    clef_model *model = open_model_with(trained_model(), 0, NULL);
    clef_text body = make_body(1, 16000);
    clef_record_options options = {.token_limit = TOKENS, .truncate = true};
    clef_record *record = NULL;
    clef_answer *answer = NULL;
    clef_answer_usage usage;
    clef_memory_estimate estimate;
    assert_ok(clef_record_encode(model, body.bytes, body.length, &options, &record, &error),
              &error);
    assert_int_equal(clef_record_token_count(record), TOKENS);
    size_t live = memory_live_bytes();
    uint64_t begin = clef_clock_ns();
    clef_session *session = open_session(model, 0);
    assert_ok(clef_session_decide(session, record, &answer, &error), &error);
    double seconds = (double)(clef_clock_ns() - begin) / 1e9;
    clef_answer_describe(answer, &usage);
    assert_int_equal(usage.input_tokens, TOKENS);
    assert_true(usage.is_truncated);

    /* What is alive now is what the estimate said, but for the lists of the session and the scratch
     * of threads. */
    clef_model_estimate(model, 0, TOKENS, &estimate);
    uint64_t foretold = estimate.scratch_bytes + estimate.sequence_bytes;
    uint64_t used = memory_live_bytes() - live;
    assert_true(used > foretold / 2);
    uint64_t threads = clef_runtime_threads(model->runtime);
    assert_true(used < foretold + (threads + 1) * 4000000);

    struct rusage resources;
    getrusage(RUSAGE_SELF, &resources);
    print_message("%d tokens: %.2f s, %.0f MB alive, %ld MB at the peak\n", TOKENS, seconds,
                  (double)used / 1e6, resources.ru_maxrss / 1000);
    assert_true(IS_WATCHED || resources.ru_maxrss < 700000);
    clef_answer_close(answer);
    clef_session_close(session);
    clef_record_close(record);
    clef_model_close(model);
    release_text(body);
}

/* ---- many requests ---- */

/* Requests with distinct states; some are given up with their session while they wait. */
static size_t run_requests(clef_model *model, clef_session **session, uint64_t first,
                           size_t count) {
    size_t highest = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t number = seed;
        clef_record *record = encode_made(model, seed, next_number(&number) % 120);
        clef_answer_close(decide(*session, record));
        clef_record_close(record);
        if (seed % 50 == 49) {
            clef_answer *never[5] = {0};
            clef_error error = {0};
            for (uint64_t i = 0; i < 5; i++) {
                record = encode_made(model, seed + i, 100);
                submit(*session, record, &never[i]);
                clef_record_close(record);
            }
            assert_ok(clef_session_step(*session, NULL, &error), &error);
            clef_session_close(*session);
            *session = open_session(model, 64);
            for (size_t i = 0; i < 5; i++) {
                clef_answer_close(never[i]);
            }
        }
        size_t live = memory_live_bytes();
        highest = live > highest ? live : highest;
    }
    return highest;
}

static void requests_leave_nothing(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 1, NULL);
    size_t before = memory_live_blocks();
    clef_session *session = open_session(model, 64);
    size_t early = run_requests(model, &session, 0, 100);
    size_t late = run_requests(model, &session, 100, REQUESTS - 100);
    print_message("%d requests: %zu bytes at most in the first 100, %zu in the others\n", REQUESTS,
                  early, late);
    /* Two pages of state and a longer list may come with a record longer than any before. */
    assert_true(late <= early + 2 * model->network.layout.page_floats * sizeof(float) + 4096);
    clef_session_close(session);
    assert_int_equal(memory_live_blocks(), before);
    clef_model_close(model);
}

/* ---- files ---- */

/* Another file takes the name of an open one: the open model keeps the old one. */
static void replaced_files_do_not_matter(void **state) {
    (void)state;
    static const char *const names[] = {"model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors",
                                        "joint_head.safetensors", "tokenizer.json", "config.json"};
    char *directory = copy_model(random_model());
    clef_runtime *runtime = open_runtime(1, NULL);
    clef_model *model = open_model(runtime, directory);
    clef_session *session = open_session(model, 0);
    clef_record *record = encode_made(model, 2, 80);
    clef_answer *answer = decide(session, record);
    float *logits = copy_logits(answer);
    clef_answer_close(answer);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char to[512];
        snprintf(to, sizeof to, "%s", path_in(directory, names[i]));
        FILE *file = fopen(path_in(directory, "new"), "wb");
        assert_non_null(file);
        assert_true(fputs("not a model", file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(rename(path_in(directory, "new"), to), 0);
    }
    clef_record *again = encode_made(model, 2, 80);
    answer = decide(session, again);
    assert_equal_logits(answer, logits, "with replaced files");
    clef_answer_close(answer);
    /* Whoever opens it now is told. */
    clef_error error = {0};
    clef_model *other = NULL;
    assert_int_equal(clef_model_open(runtime, directory, NULL, &other, &error), CLEF_BAD_FILE);
    assert_null(other);
    assert_true(error.message[0] != '\0' && error.place[0] != '\0');
    clef_release(logits);
    clef_record_close(again);
    clef_record_close(record);
    clef_session_close(session);
    clef_model_close(model);
    clef_runtime_close(runtime);
    drop_copy(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_state_fits),
        cmocka_unit_test(requests_leave_nothing),
        cmocka_unit_test(replaced_files_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
