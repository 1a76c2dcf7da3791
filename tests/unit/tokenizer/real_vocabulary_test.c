/* Every recorded case against the published vocabulary, which is too large to keep here:
 * tests/real_tokenizer.sh builds it and sets CLEF_REAL_TOKENIZER to the folder that holds
 * qwen2/tokenizer.json and qwen35/tokenizer.json. Without it this test counts as skipped. */
#include "tokenizer_cases.h"

#include <stdlib.h>
#include <time.h>

#define SKIPPED 77

/* Processor time for one long run; sanitizers make everything several times slower. */
#if defined(__SANITIZE_ADDRESS__)
#define LONGEST_SECONDS 10.0
#else
#define LONGEST_SECONDS 1.0
#endif

typedef struct real_run {
    clef_tokenizer *qwen2;
    clef_tokenizer *qwen35;
    size_t cases;
} real_run;

static int open_both(void **state) {
    static real_run run;
    const char *folder = getenv("CLEF_REAL_TOKENIZER");
    char path[1024];
    snprintf(path, sizeof path, "%s/qwen2/tokenizer.json", folder);
    run.qwen2 = open_tokenizer(path);
    snprintf(path, sizeof path, "%s/qwen35/tokenizer.json", folder);
    run.qwen35 = open_tokenizer(path);
    *state = &run;
    return 0;
}

static int close_both(void **state) {
    real_run *run = *state;
    clef_tokenizer_close(run->qwen2);
    clef_tokenizer_close(run->qwen35);
    return 0;
}

/* [[item, count], ...]: each item is appended count times. */
static clef_buffer join_parts(const clef_json *parts) {
    clef_buffer text = {0};
    for (const clef_json *part = parts->first; part != NULL; part = part->next) {
        uint64_t count;
        assert_true(clef_json_unsigned(part->first->next, &count));
        for (uint64_t i = 0; i < count; i++) {
            clef_buffer_append_text(&text, part->first->text);
        }
    }
    assert_false(text.has_failed);
    return text;
}

static void join_runs(clef_token_list *list, const clef_json *runs) {
    for (const clef_json *run = runs->first; run != NULL; run = run->next) {
        uint64_t count;
        assert_true(clef_json_unsigned(run->first->next, &count));
        for (uint64_t i = 0; i < count; i++) {
            append_ids(list, run->first);
        }
    }
}

/* Compares with the member `ids`<suffix> or `runs`<suffix>; false when the case has neither. */
static bool check_member(const clef_tokenizer *tokenizer, const clef_json *given, const char *name,
                         const char *suffix, clef_text text, clef_control_tokens mode) {
    char key[32];
    snprintf(key, sizeof key, "ids%s", suffix);
    const clef_json *ids = clef_json_member(given, key);
    snprintf(key, sizeof key, "runs%s", suffix);
    const clef_json *runs = clef_json_member(given, key);
    if (ids == NULL && runs == NULL) {
        return false;
    }
    clef_token_list wanted = {0};
    if (ids != NULL) {
        append_ids(&wanted, ids);
    } else {
        join_runs(&wanted, runs);
    }
    assert_encodes(tokenizer, name, text, mode, &wanted);
    clef_token_list_release(&wanted);
    return true;
}

static void check_case(void *context, size_t number, clef_text line) {
    (void)number;
    real_run *run = context;
    clef_arena arena = {0};
    const clef_json *given = parse_json(line, &arena);
    clef_text title = member(given, "name")->text;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)title.length, title.bytes);
    const clef_json *parts = clef_json_member(given, "parts");
    clef_buffer joined = {0};
    if (parts != NULL) {
        joined = join_parts(parts);
    } else {
        clef_buffer_append_text(&joined, member(given, "text")->text);
    }
    clef_text text = clef_buffer_text(&joined);

    assert_true(check_member(run->qwen2, given, name, "", text, CLEF_CONTROL_PARSE));
    if (!check_member(run->qwen2, given, name, "_plain", text, CLEF_CONTROL_PLAIN)) {
        /* No added token in it: both modes agree. */
        check_member(run->qwen2, given, name, "", text, CLEF_CONTROL_PLAIN);
    }
    if (!check_member(run->qwen35, given, name, "_qwen3.5", text, CLEF_CONTROL_PARSE)) {
        check_member(run->qwen35, given, name, "", text, CLEF_CONTROL_PARSE);
    }
    clef_buffer_release(&joined);
    clef_arena_release(&arena);
    run->cases++;
}

static void test_cases(void **state) {
    real_run *run = *state;
    run->cases = 0;
    for_each_line(fixture("tokenizer/real/cases.jsonl"), check_case, run);
    assert_int_equal(run->cases, 4027);
}

static void check_decoding(void *context, size_t number, clef_text line) {
    (void)number;
    real_run *run = context;
    clef_arena arena = {0};
    const clef_json *given = parse_json(line, &arena);
    clef_text title = member(given, "name")->text;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)title.length, title.bytes);
    clef_token_list ids = {0};
    append_ids(&ids, member(given, "ids"));

    clef_text whole = member(given, "text")->text;
    clef_buffer out = decode_ids(run->qwen2, &ids, false);
    assert_text(name, clef_buffer_text(&out), whole);
    clef_buffer_release(&out);
    const clef_json *skipped = clef_json_member(given, "skipped");
    out = decode_ids(run->qwen2, &ids, true);
    assert_text(name, clef_buffer_text(&out), skipped == NULL ? whole : skipped->text);
    clef_buffer_release(&out);

    clef_token_decoder decoder = {0};
    const clef_json *chunk = member(given, "chunks")->first;
    for (size_t i = 0; i < ids.count; i++, chunk = chunk->next) {
        clef_token_decoder_push(&decoder, run->qwen2, ids.ids[i], &out);
        assert_non_null(chunk);
        assert_text(name, clef_buffer_text(&out), chunk->text);
        clef_buffer_clear(&out);
    }
    clef_token_decoder_finish(&decoder, &out);
    const clef_json *rest = clef_json_member(given, "rest");
    assert_text(name, clef_buffer_text(&out), rest == NULL ? CLEF_TEXT("") : rest->text);
    clef_buffer_release(&out);
    clef_token_list_release(&ids);
    clef_arena_release(&arena);
    run->cases++;
}

static void test_decoding(void **state) {
    real_run *run = *state;
    run->cases = 0;
    for_each_line(fixture("tokenizer/real/decode.jsonl"), check_decoding, run);
    assert_int_equal(run->cases, 383);
}

static void test_entries(void **state) {
    real_run *run = *state;
    assert_int_equal(clef_tokenizer_count(run->qwen2), 248077);
    assert_int_equal(clef_tokenizer_longest(run->qwen2), 128);
    uint32_t id = 0;
    assert_true(clef_tokenizer_find_added(run->qwen2, CLEF_TEXT("<|audio_pad|>"), &id));
    assert_int_equal(id, 248076);
    assert_true(clef_tokenizer_find_added(run->qwen2, CLEF_TEXT("</think>"), &id));
    assert_int_equal(id, 248069);
    assert_false(clef_tokenizer_is_special(run->qwen2, id));
}

static double seconds_since(clock_t begin) {
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* Texts that make recursive or quadratic programs stop: each must take well under a second. */
static void test_long_runs(void **state) {
    real_run *run = *state;
    const char *units[] = {"Z",
                           "\xC3\xA9",
                           " ",
                           "\n",
                           "1",
                           "a",
                           "\xCC\x81",
                           "\t ",
                           "'s",
                           "\xCC\x81\xCC\xA3",
                           "\xE1\x85\xA1",
                           "\r\n ",
                           "<|im_",
                           "- "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        clef_buffer text = {0};
        for (size_t n = 0; n < 131072; n++) {
            clef_buffer_append_string(&text, units[i]);
        }
        clock_t begin = clock();
        clef_token_list list = encode_text(run->qwen2, clef_buffer_text(&text), CLEF_CONTROL_PARSE);
        double seconds = seconds_since(begin);
        assert_true(list.count > 0);
        print_message("131072 x %s: %zu ids, %.1f ms\n", units[i][0] > ' ' ? units[i] : "space",
                      list.count, seconds * 1e3);
        assert_true(seconds < LONGEST_SECONDS);
        clef_token_list_release(&list);
        clef_buffer_release(&text);
    }
}

static void test_base64_line(void **state) {
    real_run *run = *state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = (size_t)1 << 20;
    char *line = clef_allocate(length, 1);
    assert_non_null(line);
    uint64_t random = 1;
    for (size_t i = 0; i < length; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        line[i] = digits[random >> 58];
    }
    clock_t begin = clock();
    clef_token_list list = encode_text(run->qwen2, (clef_text){line, length}, CLEF_CONTROL_PLAIN);
    double seconds = seconds_since(begin);
    print_message("1 MiB of base64: %zu ids, %.1f ms\n", list.count, seconds * 1e3);
    assert_true(seconds < LONGEST_SECONDS);
    clef_token_list_release(&list);
    clef_release(line);
}

int main(void) {
    if (getenv("CLEF_REAL_TOKENIZER") == NULL) {
        print_message("SKIP: CLEF_REAL_TOKENIZER is not set; see tests/real_tokenizer.sh\n");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),       cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_entries),     cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_base64_line),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
