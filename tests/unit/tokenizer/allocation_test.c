/* Each allocation of loading and encoding fails in turn: the outcome is CLEF_OK or
 * CLEF_OUT_OF_MEMORY, the caller's list is as before, and nothing is left behind. */
#include "tokenizer_cases.h"

#include "../weights/failing_memory.h"

#define UNLIMITED SIZE_MAX

static void test_load(void **state) {
    (void)state;
    allocations_before_failure = UNLIMITED;
    size_t live_before = live_blocks;
    clef_text text = load_file(fixture("tokenizer/small-pairs/tokenizer.json"));
    size_t live = live_blocks;
    size_t failures = 0;
    for (size_t count = 0;; count++) {
        clef_tokenizer *tokenizer = NULL;
        clef_error error = {0};
        allocations_before_failure = count;
        clef_status status = clef_tokenizer_parse("file", text, &tokenizer, &error);
        if (status == CLEF_OK) {
            clef_tokenizer_close(tokenizer);
            break;
        }
        assert_int_equal(status, CLEF_OUT_OF_MEMORY);
        assert_null(tokenizer);
        assert_int_equal(live_blocks, live);
        failures++;
    }
    assert_true(failures >= 8);
    allocations_before_failure = UNLIMITED;
    release_text(text);
    assert_int_equal(live_blocks, live_before);
}

/* A text that needs every kind of memory: composing, a long run of marks, a long piece, the cache,
 * a list that grows. */
static clef_buffer make_text(void) {
    clef_buffer text = {0};
    for (size_t i = 0; i < 200; i++) {
        clef_buffer_append_string(&text, "some words e\xCC\x81 <think>");
    }
    clef_buffer_append_string(&text, "q");
    for (size_t i = 0; i < 40; i++) {
        clef_buffer_append_string(&text, "\xCC\x81\xCC\xA3");
    }
    for (size_t i = 0; i < 500; i++) {
        clef_buffer_append_string(&text, "Z");
    }
    assert_false(text.has_failed);
    return text;
}

static void test_encode(void **state) {
    (void)state;
    allocations_before_failure = UNLIMITED;
    size_t live_before = live_blocks;
    clef_tokenizer *tokenizer = open_tokenizer(fixture("tokenizer/small/tokenizer.json"));
    clef_buffer text = make_text();
    clef_token_list wanted = encode_text(tokenizer, clef_buffer_text(&text), CLEF_CONTROL_PARSE);
    size_t failures = 0;
    for (size_t count = 0;; count++) {
        clef_token_list list = {0};
        clef_error error = {0};
        allocations_before_failure = UNLIMITED;
        assert_ok(clef_token_list_reserve(&list, 1, &error), &error);
        list.ids[list.count++] = 7;
        size_t live = live_blocks;
        allocations_before_failure = count;
        clef_status status = clef_tokenizer_encode(tokenizer, clef_buffer_text(&text),
                                                   CLEF_CONTROL_PARSE, 0, &list, &error);
        assert_int_equal(live_blocks, live);
        assert_int_equal(list.ids[0], 7);
        if (status != CLEF_OK) {
            assert_int_equal(status, CLEF_OUT_OF_MEMORY);
            assert_int_equal(list.count, 1);
            failures++;
            clef_token_list_release(&list);
            continue;
        }
        assert_int_equal(list.count, 1 + wanted.count);
        assert_memory_equal(list.ids + 1, wanted.ids, wanted.count * sizeof *wanted.ids);
        clef_token_list_release(&list);
        break;
    }
    assert_true(failures >= 5);
    allocations_before_failure = UNLIMITED;
    clef_token_list_release(&wanted);
    clef_buffer_release(&text);
    clef_tokenizer_close(tokenizer);
    assert_int_equal(live_blocks, live_before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_encode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
