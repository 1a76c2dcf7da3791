/* Every allocation on the way from a body to a reply fails once: the failure is reported, nothing
 * leaks. This program brings its own base/memory.h, which counts and fails. */
#include "decide/answer.h"
#include "support.h"

#include "base/memory.h"

#include <stdlib.h>

static size_t live_count; /* blocks not yet released */
static size_t made_count; /* allocations since the last reset */
static size_t failing;    /* the allocation, counted from 1, that fails; 0: none */

static bool is_failing(void) {
    return ++made_count == failing;
}

void *clef_allocate(size_t count, size_t size) {
    if (is_failing()) {
        return NULL;
    }
    live_count++;
    return calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
}

void *clef_allocate_aligned(size_t count, size_t size) {
    if (is_failing()) {
        return NULL;
    }
    live_count++;
    return aligned_alloc(64, (count * size / 64 + 1) * 64);
}

void *clef_reallocate(void *block, size_t count, size_t size) {
    if (is_failing()) {
        return NULL;
    }
    live_count += block == NULL;
    return realloc(block, count * size == 0 ? 1 : count * size);
}

void clef_release(void *block) {
    live_count -= block != NULL;
    free(block);
}

bool clef_multiply_size(size_t a, size_t b, size_t *result) {
    return !__builtin_mul_overflow(a, b, result);
}

bool clef_add_size(size_t a, size_t b, size_t *result) {
    return !__builtin_add_overflow(a, b, result);
}

static const char body[] =
    "{\"model\":\"clef\\u00e9\",\"state\":{\"b\":\"Checkout has returned errors.\",\"a\":[1.50,"
    "{\"z\":1,\"y\":2}]},\"questions\":{\"outage\":{\"type\":\"noul\",\"instructions\":{\"q\":"
    "\"Is a service down?\",\"a\":1}},\"team\":{\"type\":\"choice\",\"criteria\":{\"technical\":"
    "\"Faults\",\"billing\":{\"d\":1,\"c\":[]},\"sales\":null}},\"urgency\":{\"type\":\"score\","
    "\"criteria\":[\"can wait\",{\"k\":[2]},null]}}}";

static clef_tokenizer *tokenizer;

/* Body to reply. The first status that is not CLEF_OK, or whether a text could not be written. */
static clef_status answer_once(clef_buffer *out, clef_error *error) {
    static const float logits[] = {1, 2, 3, 4, 5, 6, 7, 8};
    float probabilities[8];
    clef_arena arena = {0};
    clef_request *request;
    clef_prompt prompt = {0};
    clef_status status = clef_request_parse(CLEF_TEXT(body), NULL, &arena, &request, error);
    if (status == CLEF_OK) {
        status = clef_prompt_encode(tokenizer, request, NULL, &arena, &prompt, error);
    }
    if (status == CLEF_OK) {
        status = clef_answer_probabilities(request, logits, probabilities, error);
    }
    if (status == CLEF_OK) {
        clef_answer_write_body(request, probabilities, prompt.tokens.count, NULL, &arena, out);
        clef_answer_write_raw(request, &prompt, logits, probabilities, out);
        clef_answer_write_encoding(request, &prompt, out);
        status = clef_buffer_check(out, "the reply", error);
    }
    clef_prompt_release(&prompt);
    clef_arena_release(&arena);
    return status;
}

static void test_every_allocation_fails_once(void **state) {
    (void)state;
    clef_error error = {0};
    clef_buffer whole = {0};
    assert_ok(
        clef_tokenizer_load(fixture("tiny-random/release/tokenizer.json"), &tokenizer, &error),
        &error);
    assert_ok(answer_once(&whole, &error), &error);
    size_t base = live_count;
    for (failing = 1;; failing++) {
        clef_buffer out = {0};
        made_count = 0;
        error = (clef_error){0};
        clef_status status = answer_once(&out, &error);
        bool is_done = made_count < failing;
        if (is_done) {
            assert_ok(status, &error);
            assert_true(clef_text_equals(clef_buffer_text(&out), clef_buffer_text(&whole)));
        } else if (status != CLEF_OK) {
            assert_string_equal(clef_status_name(status), "out_of_memory");
            assert_int_equal(error.status, CLEF_OUT_OF_MEMORY);
            assert_true(error.message[0] != '\0');
        } else {
            /* A cache may do without its memory, if the reply is the same. */
            assert_true(clef_text_equals(clef_buffer_text(&out), clef_buffer_text(&whole)));
        }
        clef_buffer_release(&out);
        assert_int_equal(live_count, base);
        if (is_done) {
            break;
        }
    }
    print_message("%zu allocations failed in turn\n", failing - 1);
    assert_true(failing > 10);
    failing = 0;
    clef_buffer_release(&whole);
    clef_tokenizer_close(tokenizer);
    assert_int_equal(live_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
