/* Token limits: refusals with their counts, and truncation. */
#include "requests.h"

#include "decide/render.h"

#include <stdio.h>
#include <time.h>

/* Of tiny-random: 1,000 entries and 33 added tokens. */
static clef_tokenizer *tiny;

static int open_tiny(void **state) {
    (void)state;
    tiny = load_tokenizer(fixture("tiny-random/release/tokenizer.json"));
    return 0;
}

static int close_tiny(void **state) {
    (void)state;
    clef_tokenizer_close(tiny);
    return 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* `count` bytes between two parts of a body. */
static const clef_request *with_filler(const char *before, size_t count, const char *after,
                                       clef_arena *arena) {
    clef_buffer body = {0};
    clef_buffer_append_string(&body, before);
    clef_buffer_reserve(&body, count);
    memset(body.bytes + body.length, '7', count);
    body.length += count;
    clef_buffer_append_string(&body, after);
    clef_text kept = clef_arena_copy(arena, clef_buffer_text(&body));
    clef_buffer_release(&body);
    return accept(arena, kept);
}

/* A request with a state of `count` bytes that this vocabulary takes one by one. */
static const clef_request *with_state(size_t count, clef_arena *arena) {
    return with_filler("{\"model\":\"m\",\"state\":\"", count,
                       "\",\"questions\":{\"q\":{\"type\":\"noul\"}}}", arena);
}

static void assert_over_limit(const clef_request *request, const clef_prompt_options *options,
                              const char *message, const char *place) {
    clef_arena arena = {0};
    clef_prompt prompt;
    clef_error error = {0};
    assert_int_equal(clef_prompt_encode(tiny, request, options, &arena, &prompt, &error),
                     CLEF_OVER_LIMIT);
    assert_string_equal(error.message, message);
    assert_string_equal(error.place, place);
    assert_string_equal(error.kind, "over_limit");
    assert_null(prompt.tokens.ids);
    clef_arena_release(&arena);
}

/* Tokens of a request with an empty state, and of its parts. */
typedef struct sizes {
    size_t prefix, schema;
} sizes;

static sizes measure(void) {
    clef_arena arena = {0};
    clef_prompt prompt = encode(tiny, with_state(0, &arena), NULL, &arena);
    sizes result = {prompt.state_tokens, prompt.tokens.count - prompt.state_tokens};
    clef_prompt_release(&prompt);
    clef_arena_release(&arena);
    return result;
}

#define ADVICE                                                                                     \
    "shorten the state, use fewer or shorter questions, or split it across requests; or use "      \
    "--truncate to read only the beginning of the state (responses then say truncated: true)"

static void test_D02_at_the_limit(void **state) {
    (void)state;
    sizes fixed = measure();
    size_t room = 16384 - fixed.prefix - fixed.schema;
    char message[512];
    for (size_t count = room - 1; count <= room + 1; count++) {
        clef_arena arena = {0};
        const clef_request *request = with_state(count, &arena);
        if (count <= room) {
            clef_prompt prompt = encode(tiny, request, NULL, &arena);
            assert_int_equal(prompt.tokens.count, 16384 - room + count);
            clef_prompt_release(&prompt);
        } else {
            snprintf(message, sizeof message,
                     "input is 16,385 tokens (%zu of them the prompt, media and questions), over "
                     "the 16,384-token limit: " ADVICE,
                     fixed.prefix + fixed.schema);
            assert_over_limit(request, NULL, message, "state");
        }
        clef_arena_release(&arena);
    }
}

static void test_D02_other_limits(void **state) {
    (void)state;
    sizes fixed = measure();
    clef_arena arena = {0};
    char message[512];
    const clef_request *request = with_state(1000, &arena);
    size_t in_all = fixed.prefix + fixed.schema + 1000;

    clef_prompt_options options = {.token_limit = in_all,
                                   .state_token_limit = fixed.prefix + 1000,
                                   .schema_token_limit = fixed.schema};
    clef_prompt prompt = encode(tiny, request, &options, &arena);
    assert_int_equal(prompt.tokens.count, in_all);
    clef_prompt_release(&prompt);

    options.schema_token_limit--;
    snprintf(message, sizeof message,
             "schema is %zu tokens, over the %zu-token limit: use fewer or shorter questions, or "
             "split them across requests",
             fixed.schema, fixed.schema - 1);
    assert_over_limit(request, &options, message, "questions");

    /* The state before the schema, the whole before the state. */
    options.state_token_limit--;
    char found[CLEF_COUNT_BYTES], limit[CLEF_COUNT_BYTES];
    clef_render_count(fixed.prefix + 1000, found);
    clef_render_count(fixed.prefix + 999, limit);
    snprintf(message, sizeof message,
             "state is %s tokens (%zu of them the prompt and media), over the %s-token limit: "
             "shorten the state or split it across requests; or use --truncate to read only the "
             "beginning of the state (responses then say truncated: true)",
             found, fixed.prefix, limit);
    assert_over_limit(request, &options, message, "state");
    options.token_limit--;
    clef_render_count(in_all, found);
    clef_render_count(in_all - 1, limit);
    snprintf(message, sizeof message,
             "input is %s tokens (%zu of them the prompt, media and questions), over the "
             "%s-token limit: " ADVICE,
             found, fixed.prefix + fixed.schema, limit);
    assert_over_limit(request, &options, message, "state");
    clef_arena_release(&arena);
}

static void test_D02_schema_alone_too_long(void **state) {
    (void)state;
    sizes fixed = measure();
    clef_arena arena = {0};
    char message[256];
    const clef_request *request = with_state(1, &arena);
    for (int truncate = 0; truncate < 2; truncate++) {
        clef_prompt_options options = {.token_limit = fixed.prefix + fixed.schema - 1,
                                       .truncate = truncate != 0};
        snprintf(message, sizeof message, "schema requires %zu tokens before state; maximum is %zu",
                 fixed.prefix + fixed.schema, options.token_limit);
        assert_over_limit(request, &options, message, "questions");
        /* Far over the limit the schema is not counted to its end. */
        options.token_limit = 10;
        assert_over_limit(request, &options,
                          "schema requires more than 20 tokens before state; maximum is 10",
                          "questions");
    }
    /* The reference's words in the recorded case. */
    clef_prompt_options options = {.token_limit = 80, .truncate = true};
    request = accept(&arena, CLEF_TEXT("{\"model\":\"clef\",\"state\":\"s\",\"questions\":{\"q\":"
                                       "{\"type\":\"noul\"}}}"));
    assert_over_limit(request, &options, "schema requires 125 tokens before state; maximum is 80",
                      "questions");
    clef_arena_release(&arena);
}

/* Milliseconds in a release build; counted to the end these would take many seconds. */
static void test_long_texts_are_not_counted_to_their_end(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
        size_t count;
        bool is_schema;
    } cases[] = {
        {"{\"model\":\"m\",\"state\":\"", "\",\"questions\":{\"q\":{\"type\":\"noul\"}}}",
         (size_t)64 << 20, false},
        {"{\"model\":\"m\",\"state\":\"", "\",\"questions\":{\"q\":{\"type\":\"noul\"}}}",
         (size_t)1 << 20, false},
        {"{\"model\":\"m\",\"state\":[{\"k\":\"", "\"}],\"questions\":{\"q\":{\"type\":\"noul\"}}}",
         (size_t)64 << 20, false},
        {"{\"model\":\"m\",\"state\":{\"", "\":1},\"questions\":{\"q\":{\"type\":\"noul\"}}}",
         (size_t)64 << 20, false},
        {"{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{\"type\":\"noul\",\"instructions\":["
         "\"",
         "\"]}}}", (size_t)64 << 20, true},
        {"{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{\"type\":\"choice\",\"criteria\":{\"",
         "\":1}}}}", (size_t)64 << 20, true},
        {"{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{\"type\":\"score\",\"criteria\":[\"",
         "\"]}}}", (size_t)1 << 20, true},
        {"{\"model\":\"m\",\"state\":1,\"questions\":{\"", "\":{\"type\":\"noul\"}}}",
         (size_t)64 << 20, true},
    };
    sizes fixed = measure();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[512];
        snprintf(message, sizeof message,
                 "input is more than 32,768 tokens (%zu of them the prompt, media and questions), "
                 "over the 16,384-token limit: " ADVICE,
                 fixed.prefix + fixed.schema);
        clef_arena arena = {0};
        const clef_request *request =
            with_filler(cases[i].before, cases[i].count, cases[i].after, &arena);
        clock_t begin = clock();
        assert_over_limit(request, NULL,
                          cases[i].is_schema ? "schema requires more than 32768 tokens before "
                                               "state; maximum is 16384"
                                             : message,
                          cases[i].is_schema ? "questions" : "state");
        assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 1.0);
        clef_arena_release(&arena);
    }
}

/* Many bytes are not too many as long as the tokens are not. */
static void test_long_tokens_fill_the_limit(void **state) {
    (void)state;
    static const char token[] = "<tts_text_bos_single>";
    uint32_t id;
    assert_true(clef_tokenizer_find_added(tiny, clef_text_of(token), &id));
    sizes fixed = measure();
    size_t room = 16384 - fixed.prefix - fixed.schema;
    clef_arena arena = {0};
    clef_buffer body = {0};
    clef_buffer_append_string(&body, "{\"model\":\"m\",\"state\":\"");
    for (size_t i = 0; i < room; i++) {
        clef_buffer_append_string(&body, token);
    }
    clef_buffer_append_string(&body, "\",\"questions\":{\"q\":{\"type\":\"noul\"}}}");
    clef_prompt_options options = {.control_tokens = CLEF_CONTROL_PARSE};
    clef_prompt prompt = encode(tiny, accept(&arena, clef_buffer_text(&body)), &options, &arena);
    assert_int_equal(prompt.tokens.count, 16384);
    assert_int_equal(prompt.tokens.ids[fixed.prefix], id);
    clef_prompt_release(&prompt);
    clef_buffer_release(&body);
    clef_arena_release(&arena);
}

/* The longest state that is counted is one that passes the ceiling by its last token. */
static void test_counts_up_to_twice_the_limit(void **state) {
    (void)state;
    sizes fixed = measure();
    clef_prompt_options options = {.token_limit = fixed.prefix + fixed.schema + 10};
    size_t most = 2 * options.token_limit - fixed.prefix;
    for (size_t count = most; count <= most + 1; count++) {
        clef_arena arena = {0};
        clef_prompt prompt;
        clef_error error = {0};
        char start[64];
        const clef_request *request = with_state(count, &arena);
        assert_int_equal(clef_prompt_encode(tiny, request, &options, &arena, &prompt, &error),
                         CLEF_OVER_LIMIT);
        if (count == most) {
            snprintf(start, sizeof start, "input is %zu tokens (",
                     fixed.prefix + fixed.schema + count);
        } else {
            snprintf(start, sizeof start, "input is more than %zu tokens (",
                     2 * options.token_limit);
        }
        assert_memory_equal(error.message, start, strlen(start));
        clef_arena_release(&arena);
    }
}

static void test_truncation(void **state) {
    (void)state;
    sizes fixed = measure();
    clef_arena arena = {0};
    const clef_request *request = with_state(500, &arena);
    clef_prompt whole = encode(tiny, request, NULL, &arena);
    for (size_t room = 0; room <= 501; room += room == 0 ? 1 : 100 - room % 100) {
        for (int by_state = 0; by_state < 2; by_state++) {
            clef_prompt_options options = {.truncate = true};
            if (by_state) {
                options.state_token_limit = fixed.prefix + room;
            } else {
                options.token_limit = fixed.prefix + room + fixed.schema;
            }
            clef_prompt prompt = encode(tiny, request, &options, &arena);
            size_t used = fixed.prefix + (room < 500 ? room : 500);
            assert_true(prompt.is_cut_allowed);
            assert_int_equal(prompt.is_truncated, room < 500);
            assert_int_equal(prompt.state_tokens, fixed.prefix + 500);
            assert_int_equal(prompt.state_tokens_used, used);
            assert_int_equal(prompt.tokens.count, used + fixed.schema);
            /* The beginning of the state and all of the schema. */
            assert_memory_equal(prompt.tokens.ids, whole.tokens.ids, used * sizeof(uint32_t));
            assert_memory_equal(prompt.tokens.ids + used,
                                whole.tokens.ids + whole.tokens.count - fixed.schema,
                                fixed.schema * sizeof(uint32_t));
            size_t shift = whole.tokens.count - prompt.tokens.count;
            assert_int_equal(prompt.question_spans[0].begin, whole.question_spans[0].begin - shift);
            assert_int_equal(prompt.option_spans[1].end, whole.option_spans[1].end - shift);
            clef_prompt_release(&prompt);
        }
    }
    clef_prompt_release(&whole);
    clef_arena_release(&arena);
}

/* So long that it would be refused without counting if it were not to be cut. */
static void test_truncation_of_a_very_long_state(void **state) {
    (void)state;
    sizes fixed = measure();
    clef_arena arena = {0};
    clef_prompt_options options = {.token_limit = fixed.prefix + fixed.schema + 10,
                                   .truncate = true};
    clef_prompt prompt = encode(tiny, with_state(200000, &arena), &options, &arena);
    assert_int_equal(prompt.state_tokens, fixed.prefix + 200000);
    assert_int_equal(prompt.state_tokens_used, fixed.prefix + 10);
    assert_int_equal(prompt.tokens.count, options.token_limit);
    clef_prompt_release(&prompt);
    clef_arena_release(&arena);
}

static void test_truncation_keeps_the_prompt(void **state) {
    (void)state;
    sizes fixed = measure();
    clef_arena arena = {0};
    const clef_request *request = with_state(1, &arena);
    clef_prompt_options options = {.truncate = true, .state_token_limit = fixed.prefix - 1};
    char message[256];
    snprintf(message, sizeof message,
             "state is %zu tokens (%zu of them the prompt and media), over the %zu-token limit: "
             "no state fits; raise the limit",
             fixed.prefix + 1, fixed.prefix, fixed.prefix - 1);
    assert_over_limit(request, &options, message, "state");
    options = (clef_prompt_options){.truncate = true, .schema_token_limit = fixed.schema - 1};
    snprintf(message, sizeof message,
             "schema is %zu tokens, over the %zu-token limit: use fewer or shorter questions, or "
             "split them across requests",
             fixed.schema, fixed.schema - 1);
    assert_over_limit(request, &options, message, "questions");
    clef_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_D02_at_the_limit),
        cmocka_unit_test(test_D02_other_limits),
        cmocka_unit_test(test_D02_schema_alone_too_long),
        cmocka_unit_test(test_long_texts_are_not_counted_to_their_end),
        cmocka_unit_test(test_long_tokens_fill_the_limit),
        cmocka_unit_test(test_counts_up_to_twice_the_limit),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_truncation_of_a_very_long_state),
        cmocka_unit_test(test_truncation_keeps_the_prompt),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
