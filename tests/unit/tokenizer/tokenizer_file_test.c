/* Files that are not as they should be: each fixed value changed, entries and merges that
 * contradict each other, truncated and flipped bytes. A refusal names the field, the value and what
 * is supported; nothing crashes. */
#include "tokenizer_cases.h"

#define FILE_NAME "some/tokenizer.json"

/* The small file with its first `from` replaced by `to`. */
static clef_buffer change_file(const char *file, const char *from, const char *to) {
    clef_text text = load_file(fixture(file));
    const char *place = memmem(text.bytes, text.length, from, strlen(from));
    if (place == NULL) {
        fail_msg("the fixture does not hold %s", from);
    }
    size_t before = (size_t)(place - text.bytes);
    size_t after = before + strlen(from);
    clef_buffer out = {0};
    clef_buffer_append(&out, text.bytes, before);
    clef_buffer_append_string(&out, to);
    clef_buffer_append(&out, text.bytes + after, text.length - after);
    assert_false(out.has_failed);
    release_text(text);
    return out;
}

typedef struct refusal {
    const char *from;
    const char *to;
    const char *path; /* what the message must name */
    const char *rest; /* and further hold */
} refusal;

static const refusal refusals[] = {
    {"\"1.0\"", "\"2.0\"", "version is \"2.0\"", "\"1.0\""},
    {"\"truncation\": null", "\"truncation\": {\"max_length\": 8}", "truncation is an object",
     "null"},
    {"\"padding\": null", "\"padding\": true", "padding is true", "null"},
    {"\"padding\": null", "\"pading\": null", "pading", "not a known field"},
    {"\"padding\": null", "\"version\": \"1.0\"", "version", "twice"},
    {"\"NFC\"", "\"NFKC\"", "normalizer.type is \"NFKC\"", "\"NFC\""},
    {"\"normalizer\": {\n    \"type\": \"NFC\"\n  }", "\"normalizer\": null", "normalizer is null",
     "an object"},
    {"\"normalizer\": {\n    \"type\": \"NFC\"\n  },", "", "the file lacks", "\"normalizer\""},
    {"\"Sequence\"", "\"Whitespace\"", "pre_tokenizer.type is \"Whitespace\"", "\"Sequence\""},
    {"\"Split\"", "\"Digits\"", "pre_tokenizer.pretokenizers[0].type is \"Digits\"", "\"Split\""},
    {"\"Regex\"", "\"String\"", "pre_tokenizer.pretokenizers[0].pattern.String", "known field"},
    {"(?i:'s", "(?i:'z", "pretokenizers[0].pattern.Regex is \"(?i:'z|'t", "and \"(?i:'s|'t"},
    {"\"Isolated\"", "\"Removed\"", "pretokenizers[0].behavior is \"Removed\"", "\"Isolated\""},
    {"\"invert\": false", "\"invert\": true", "pretokenizers[0].invert is true", "false"},
    {"\"add_prefix_space\": false", "\"add_prefix_space\": true",
     "pretokenizers[1].add_prefix_space is true", "false"},
    {"\"use_regex\": false", "\"use_regex\": 0", "pretokenizers[1].use_regex is 0", "false"},
    {"    ]\n  },\n  \"post", "    , 1]\n  },\n  \"post", "pre_tokenizer.pretokenizers",
     "two steps"},
    {"\"post_processor\": {\n    \"type\": \"ByteLevel\"",
     "\"post_processor\": {\n    \"type\": \"TemplateProcessing\"",
     "post_processor.type is \"TemplateProcessing\"", "\"ByteLevel\""},
    {"\"decoder\": {\n    \"type\": \"ByteLevel\"", "\"decoder\": {\n    \"type\": \"WordPiece\"",
     "decoder.type is \"WordPiece\"", "\"ByteLevel\""},
    {"\"BPE\"", "\"Unigram\"", "model.type is \"Unigram\"", "\"BPE\""},
    {"\"dropout\": null", "\"dropout\": 0.1", "model.dropout is 0.1", "null"},
    {"\"unk_token\": null", "\"unk_token\": \"<unk>\"", "model.unk_token is \"<unk>\"", "null"},
    {"\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": \"##\"",
     "model.continuing_subword_prefix is \"##\"", "null, \"\""},
    {"\"end_of_word_suffix\": \"\"", "\"end_of_word_suffix\": \"</w>\"",
     "model.end_of_word_suffix is \"</w>\"", "null, \"\""},
    {"\"fuse_unk\": false", "\"fuse_unk\": true", "model.fuse_unk is true", "false"},
    {"\"byte_fallback\": false", "\"byte_fallback\": true", "model.byte_fallback is true", "false"},
    {"\"ignore_merges\": false", "\"ignore_merges\": true", "model.ignore_merges is true", "false"},
    {"\"vocab\": {", "\"vocab\": [], \"more\": {", "model.vocab is an array", "an object"},
    {"\"merges\": [", "\"merges\": {}, \"more\": [", "model.merges is an object", "an array"},
    {"\"$\": 3", "\"$\": 2", "model.vocab: id 2", "two entries"},
    {"\"$\": 3", "\"$\": 4194304", "model.vocab: id 4194304", "limit"},
    {"\"$\": 3", "\"$\": 99999999999999999999", "model.vocab gives the entry \"$\" no id", "below"},
    {"\"$\": 3", "\"$\": -3", "model.vocab gives the entry \"$\" no id", "below"},
    {"\"$\": 3", "\"$\": 3.0", "model.vocab gives the entry \"$\" no id", "below"},
    {"\"$\": 3", "\"$\": null", "model.vocab gives the entry \"$\" no id", "below"},
    {"\"$\": 3", "\"he\": 3", "model.vocab: ids 3 and 257", "same entry"},
    {"\"$\": 3", "\"xyz\": 3", "model.vocab lacks the entry \"$\"", "0x24"},
    {"\"$\": 3", "\"a b\": 3", "model.vocab has the entry \"a b\"", "byte 1"},
    {"\"$\": 3", "\"a\xE6\x97\xA5\": 3", "model.vocab has the entry", "alphabet"},
    {"\"$\": 3", "\"\": 3", "model.vocab: entry 3", "0 bytes"},
    {"\"h e\"", "\"h e e\"", "model.merges[1]", "alphabet"},
    {"\"h e\"", "\"he\"", "model.merges[1] is \"he\"", "two parts"},
    {"\"h e\"", "\" he\"", "model.merges[1]", "left part"},
    {"\"h e\"", "\"he \"", "model.merges[1]", "right part"},
    {"\"h e\"", "\"qqq e\"", "model.merges[1] is \"qqq\" and \"e\"", "left part"},
    {"\"h e\"", "\"h qqq\"", "model.merges[1] is \"h\" and \"qqq\"", "right part"},
    {"\"h e\"", "\"h q\"", "model.merges[1] is \"h\" and \"q\"", "concatenation"},
    {"\"h e\"", "[\"h\"]", "model.merges[1]", "two strings"},
    {"\"h e\"", "[\"h\", 1]", "model.merges[1]", "two strings"},
    {"\"h e\"", "[\"h\", \"e\", \"\"]", "model.merges[1]", "two strings"},
    {"\"h e\"", "7", "model.merges[1] is 7", "an array"},
    {"\"h e\"", "\"\xC4\xA0 \xC4\xA0\"", "model.merges: merges 1 and 2", "same pair"},
    {"\"id\": 468", "\"id\": 467", "added_tokens[1]: id 467", "two entries"},
    {"\"id\": 468", "\"id\": 3", "id 3", "two entries"},
    {"\"id\": 468", "\"id\": \"468\"", "added_tokens[1].id is \"468\"", "whole number"},
    {"\"<|im_start|>\"", "\"<|im_end|>\"", "added_tokens: ids 468 and 469", "same text"},
    {"\"<|im_start|>\"", "\"\"", "added_tokens[1]: entry 468", "0 bytes"},
    {"\"<|im_start|>\"", "\"he\"", "added_tokens has \"he\" with id 468", "entry 257"},
    {"\"<|im_start|>\"", "null", "added_tokens[1].content is null", "a string"},
    {"\"normalized\": false", "\"normalized\": true", "added_tokens[0].normalized is true",
     "false"},
    {"\"lstrip\": false", "\"lstrip\": true", "added_tokens[0].lstrip is true", "false"},
    {"\"rstrip\": false", "\"rstrip\": true", "added_tokens[0].rstrip is true", "false"},
    {"\"single_word\": false", "\"single_word\": true", "added_tokens[0].single_word is true",
     "false"},
    {"\"special\": true", "\"special\": 1", "added_tokens[0].special is 1", "false, true"},
    {"\"version\"", "version", "not valid JSON", "byte"},
    {"\"$\": 3", "\"\xFF\": 3", "not valid JSON", "UTF-8"},
};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *given = &refusals[i];
        clef_buffer file = change_file("tokenizer/small/tokenizer.json", given->from, given->to);
        clef_tokenizer *tokenizer = NULL;
        clef_error error = {0};
        clef_status status =
            clef_tokenizer_parse(FILE_NAME, clef_buffer_text(&file), &tokenizer, &error);
        if (status != CLEF_BAD_FILE || tokenizer != NULL) {
            fail_msg("%s: status %s", given->to, clef_status_name(status));
        }
        if (strstr(error.message, given->path) == NULL ||
            strstr(error.message, given->rest) == NULL) {
            fail_msg("%s: the message is: %s", given->to, error.message);
        }
        assert_string_equal(error.place, FILE_NAME);
        assert_int_equal(clef_tokenizer_parse(FILE_NAME, clef_buffer_text(&file), &tokenizer, NULL),
                         CLEF_BAD_FILE);
        clef_buffer_release(&file);
    }
}

/* What may be different is accepted. */
static void test_allowances(void **state) {
    (void)state;
    const refusal allowed[] = {
        {"\"post_processor\": {", "\"post_processor\": null, \"decoder\": {", "", ""},
        {"\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": null", "", ""},
        {"\"dropout\": null,", "", "", ""},
        {"\"trim_offsets\": true", "\"trim_offsets\": false", "", ""},
    };
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        clef_buffer file =
            change_file("tokenizer/small/tokenizer.json", allowed[i].from, allowed[i].to);
        if (i == 0) {
            /* The decoder took the place of the post-processor, so the old one has to go. */
            char *old = memmem(file.bytes, file.length, "},\n  \"decoder\": {\n    \"type\"", 26);
            assert_non_null(old);
            char *end =
                memmem(old, file.length - (size_t)(old - file.bytes), "},\n  \"model\"", 12);
            assert_non_null(end);
            memset(old, ' ', (size_t)(end - old));
        }
        clef_tokenizer *tokenizer = NULL;
        clef_error error = {0};
        assert_ok(clef_tokenizer_parse(FILE_NAME, clef_buffer_text(&file), &tokenizer, &error),
                  &error);
        clef_tokenizer_close(tokenizer);
        clef_buffer_release(&file);
    }
}

/* The order of the members of a JSON object means nothing: merges may stand before the vocabulary,
 * and the model before the added tokens. */
static void test_order_of_members(void **state) {
    (void)state;
    clef_text text = load_file(fixture("tokenizer/small/tokenizer.json"));
    const char *vocabulary = memmem(text.bytes, text.length, "\"vocab\": {", 10);
    const char *merges = memmem(text.bytes, text.length, "\"merges\": [", 11);
    const char *end = memmem(merges, text.length - (size_t)(merges - text.bytes), "\n  }\n}", 6);
    assert_true(vocabulary != NULL && merges != NULL && end != NULL);
    clef_buffer file = {0};
    clef_buffer_append(&file, text.bytes, (size_t)(vocabulary - text.bytes));
    clef_buffer_append(&file, merges, (size_t)(end - merges));
    clef_buffer_append_string(&file, ", ");
    clef_buffer_append(&file, vocabulary, (size_t)(merges - vocabulary));
    clef_buffer_append_string(&file, "\"fuse_unk\": false}}");
    char *again = memmem(file.bytes, file.length, "\"fuse_unk\": false,", 18);
    assert_non_null(again);
    memset(again, ' ', 18);

    clef_tokenizer *moved = NULL;
    clef_error error = {0};
    assert_ok(clef_tokenizer_parse(FILE_NAME, clef_buffer_text(&file), &moved, &error), &error);
    clef_tokenizer *usual = open_tokenizer(fixture("tokenizer/small/tokenizer.json"));
    clef_text sample = CLEF_TEXT("The kettle said: we'll see <think> the state of it.");
    clef_token_list wanted = encode_text(usual, sample, CLEF_CONTROL_PARSE);
    assert_encodes(moved, "moved", sample, CLEF_CONTROL_PARSE, &wanted);

    /* Refusals in held-back merges still name their place. */
    char *merge = memmem(file.bytes, file.length, "\"h e\"", 5);
    assert_non_null(merge);
    merge[1] = 'q';
    clef_tokenizer *refused = NULL;
    assert_int_equal(clef_tokenizer_parse(FILE_NAME, clef_buffer_text(&file), &refused, &error),
                     CLEF_BAD_FILE);
    assert_non_null(strstr(error.message, "model.merges[1]"));

    clef_token_list_release(&wanted);
    clef_tokenizer_close(usual);
    clef_tokenizer_close(moved);
    clef_buffer_release(&file);
    release_text(text);
}

/* Whatever the bytes: a tokenizer that works, or CLEF_BAD_FILE with a reason. */
static void check_bytes(clef_text bytes) {
    clef_tokenizer *tokenizer = NULL;
    clef_error error = {0};
    clef_status status = clef_tokenizer_parse(FILE_NAME, bytes, &tokenizer, &error);
    if (status == CLEF_OK) {
        clef_token_list list = encode_text(tokenizer, CLEF_TEXT("we'll the <think>\n caf\xC3\xA9"),
                                           CLEF_CONTROL_PARSE);
        clef_buffer out = decode_ids(tokenizer, &list, false);
        assert_text("changed file", clef_buffer_text(&out),
                    CLEF_TEXT("we'll the <think>\n caf\xC3\xA9"));
        clef_buffer_release(&out);
        clef_token_list_release(&list);
        clef_tokenizer_close(tokenizer);
        return;
    }
    assert_int_equal(status, CLEF_BAD_FILE);
    assert_null(tokenizer);
    assert_true(error.message[0] != '\0');
}

static void test_truncated(void **state) {
    (void)state;
    const char *files[] = {"tokenizer/small/tokenizer.json", "tokenizer/small-pairs/tokenizer.json",
                           "tokenizer/tokenizer-qwen2.json"};
    for (size_t i = 0; i < 3; i++) {
        clef_text text = load_file(fixture(files[i]));
        for (size_t length = 0; length + 2 < text.length; length += 97) {
            /* A copy of exactly this length, so that reading further is found. */
            char *bytes = clef_allocate(length, 1);
            assert_non_null(bytes);
            memcpy(bytes, text.bytes, length);
            clef_tokenizer *tokenizer = NULL;
            assert_int_equal(
                clef_tokenizer_parse(FILE_NAME, (clef_text){bytes, length}, &tokenizer, NULL),
                CLEF_BAD_FILE);
            clef_release(bytes);
        }
        release_text(text);
    }
}

static void test_flipped_bits(void **state) {
    (void)state;
    const char *files[] = {"tokenizer/small/tokenizer.json",
                           "tokenizer/small-pairs/tokenizer.json"};
    uint64_t random = 11;
    for (size_t i = 0; i < 2; i++) {
        clef_text text = load_file(fixture(files[i]));
        char *bytes = (char *)(uintptr_t)text.bytes;
        for (size_t round = 0; round < 3000; round++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            size_t place = (size_t)(random >> 33) % text.length;
            char flip = (char)(1 << (random >> 20 & 7));
            bytes[place] = (char)(bytes[place] ^ flip);
            check_bytes(text);
            bytes[place] = (char)(bytes[place] ^ flip);
        }
        clef_release(bytes);
    }
}

/* Small files that ask for much: deep nesting, far ids. */
static void test_greedy(void **state) {
    (void)state;
    check_bytes(CLEF_TEXT(""));
    check_bytes(CLEF_TEXT("[]"));
    check_bytes(CLEF_TEXT("{}"));
    check_bytes(CLEF_TEXT("{\"added_tokens\":[{\"id\":4294967295,\"content\":\"x\"}]}"));
    check_bytes(CLEF_TEXT("{\"added_tokens\":[{\"id\":4194303,\"content\":\"x\","
                          "\"normalized\":false,\"special\":true}]}"));
    clef_buffer deep = {0};
    clef_buffer_append_string(&deep, "{\"model\":{\"merges\":");
    for (size_t i = 0; i < 100000; i++) {
        clef_buffer_append_string(&deep, "[");
    }
    check_bytes(clef_buffer_text(&deep));
    clef_buffer_release(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_allowances),
        cmocka_unit_test(test_order_of_members), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped_bits),     cmocka_unit_test(test_greedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
