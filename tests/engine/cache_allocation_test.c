/* Memory that runs out while states are kept: every allocation fails once, with and without a
 * directory. Answers stay equal to the bit, keeping just keeps less, and nothing leaks. */
#include "cache_support.h"
#include "counted_memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDS = 4, BYTES = 3000000 };

typedef struct outcome {
    clef_status status;
    clef_answer *answer;
} outcome;

static void keep_outcome(void *context, clef_status status, clef_answer *answer,
                         const clef_error *error) {
    outcome *place = context;
    assert_true((status == CLEF_OK) == (answer != NULL));
    assert_true(status == CLEF_OK || error->message[0] != '\0');
    *place = (outcome){status, answer};
}

static void empty(const char *directory) {
    char path[512];
    DIR *opened = opendir(directory);
    assert_non_null(opened);
    const struct dirent *entry;
    while ((entry = readdir(opened)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        (void)unlink(path);
    }
    closedir(opened);
}

/* All records, together and then the first again, in a new session. Returns how many failed. */
static size_t run(clef_model *model, clef_record **records, float **cold, const char *directory) {
    clef_error error = {0};
    clef_session *session = NULL;
    clef_session_options options = {
        .rows_per_step = 64, .prefix_cache_bytes = BYTES, .prefix_cache_directory = directory};
    clef_status status = clef_session_create(model, &options, &session, &error);
    if (status != CLEF_OK) {
        assert_int_equal(status, CLEF_OUT_OF_MEMORY);
        return 1;
    }
    size_t failed = 0;
    outcome outcomes[RECORDS + 1] = {{0}};
    for (size_t i = 0; i <= RECORDS; i++) {
        clef_record *record = records[i % RECORDS];
        outcomes[i].status = CLEF_BUSY;
        if (clef_session_submit(session, record, keep_outcome, &outcomes[i], &error) != CLEF_OK) {
            outcomes[i].status = CLEF_OUT_OF_MEMORY;
        }
        if (i + 1 >= RECORDS) {
            finish(session);
        }
    }
    for (size_t i = 0; i <= RECORDS; i++) {
        if (outcomes[i].status == CLEF_OK) {
            assert_equal_logits(outcomes[i].answer, cold[i % RECORDS], "with a failure");
            clef_answer_close(outcomes[i].answer);
        } else {
            assert_int_equal(outcomes[i].status, CLEF_OUT_OF_MEMORY);
            failed++;
        }
    }
    clef_session_close(session);
    return failed;
}

static void check(const char *directory) {
    clef_model *model = open_model_with(random_model(), 1, NULL);
    clef_record *records[RECORDS];
    float *cold[RECORDS];
    clef_session *session = open_session(model, 0);
    for (size_t i = 0; i < RECORDS; i++) {
        records[i] = encode_pair(model, i / 2, 70, i, NULL);
        clef_answer *answer = decide(session, records[i]);
        cold[i] = copy_logits(answer);
        clef_answer_close(answer);
    }
    clef_session_close(session);
    size_t live = memory_live_blocks();
    for (size_t number = 1;; number++) {
        if (directory != NULL && number % 2 == 0) {
            empty(directory);
        }
        memory_count(number);
        size_t failed = run(model, records, cold, directory);
        bool has_failed = memory_has_failed() != 0;
        memory_count(0);
        assert_true(failed <= 1);
        assert_int_equal(memory_live_blocks(), live);
        if (!has_failed) {
            print_message("%zu allocations\n", number - 1);
            assert_true(number > 60);
            break;
        }
    }
    for (size_t i = 0; i < RECORDS; i++) {
        clef_release(cold[i]);
        clef_record_close(records[i]);
    }
    clef_model_close(model);
}

static void every_failure_in_memory(void **state) {
    (void)state;
    check(NULL);
}

static void every_failure_with_a_directory(void **state) {
    (void)state;
    char directory[] = "/tmp/clef-cache-XXXXXX";
    assert_non_null(mkdtemp(directory));
    check(directory);
    empty(directory);
    assert_int_equal(rmdir(directory), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_in_memory),
        cmocka_unit_test(every_failure_with_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
