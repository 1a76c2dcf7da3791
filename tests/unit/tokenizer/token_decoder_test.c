/* Decoding of byte sequences, one byte an id: what comes out at each step, and at the end. */
#include "tokenizer_cases.h"

typedef struct decode_case {
    const char *bytes;
    const char *chunks[6]; /* after each byte */
    const char *rest;
} decode_case;

#define X  "\xEF\xBF\xBD" /* U+FFFD */
#define XX X X

/* One U+FFFD for each longest beginning of a valid sequence, each when the next byte settles it. */
static const decode_case cases[] = {
    {"ab", {"a", "b"}, ""},
    {"\xC3\xA9", {"", "\xC3\xA9"}, ""},
    {"\xE2\x82\xAC", {"", "", "\xE2\x82\xAC"}, ""},
    {"\xF0\x9F\x98\x80", {"", "", "", "\xF0\x9F\x98\x80"}, ""},
    {"\xF0\x9F\x98", {"", "", ""}, X},
    {"\xE2", {""}, X},
    {"\x80", {X}, ""},
    {"\xC0\x80", {X, X}, ""},
    {"\xC1\xFF", {X, X}, ""},
    {"\xF5\x80", {X, X}, ""},
    {"\xC3"
     "a",
     {"", X "a"},
     ""},
    {"\xC3\xC3\xA9", {"", X, "\xC3\xA9"}, ""},
    {"\xE2\x82"
     "a",
     {"", "", X "a"},
     ""},
    {"\xE2\x82\xE2\x82\xAC", {"", "", X, "", "\xE2\x82\xAC"}, ""},
    {"\xE0\x80\x80", {"", XX, X}, ""},
    {"\xE0\xA0\x80", {"", "", "\xE0\xA0\x80"}, ""},
    {"\xED\x9F\xBF", {"", "", "\xED\x9F\xBF"}, ""},
    {"\xED\xA0\x80", {"", "", XX X}, ""},
    {"\xED\xA0"
     "a",
     {"", "", XX "a"},
     ""},
    {"\xED\xBF", {"", ""}, XX},
    {"\xF0\x80\x80", {"", XX, X}, ""},
    {"\xF0\x90\x80\x80", {"", "", "", "\xF0\x90\x80\x80"}, ""},
    {"\xF4\x8F\xBF\xBF", {"", "", "", "\xF4\x8F\xBF\xBF"}, ""},
    {"\xF4\x90\x80", {"", XX, X}, ""},
    {"\xF0\x9F\x98"
     "a",
     {"", "", "", X "a"},
     ""},
    {"\xF0\x9F\xF0\x9F\x98\x80", {"", "", X, "", "", "\xF0\x9F\x98\x80"}, ""},
};

/* Id of the entry of one byte. */
static uint32_t find_byte_id(const clef_tokenizer *tokenizer, char byte) {
    for (uint32_t id = 0; id < clef_tokenizer_count(tokenizer); id++) {
        if (clef_text_equals(clef_tokenizer_bytes(tokenizer, id), (clef_text){&byte, 1})) {
            return id;
        }
    }
    fail_msg("no entry for byte 0x%02X", (unsigned char)byte);
    return 0;
}

static void test_sequences(void **state) {
    const clef_tokenizer *tokenizer = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        snprintf(name, sizeof name, "case %zu", i);
        clef_token_decoder decoder = {0};
        clef_buffer out = {0};
        for (size_t n = 0; cases[i].bytes[n] != '\0'; n++) {
            clef_token_decoder_push(&decoder, tokenizer, find_byte_id(tokenizer, cases[i].bytes[n]),
                                    &out);
            assert_text(name, clef_buffer_text(&out), clef_text_of(cases[i].chunks[n]));
            clef_buffer_clear(&out);
        }
        clef_token_decoder_finish(&decoder, &out);
        assert_text(name, clef_buffer_text(&out), clef_text_of(cases[i].rest));
        clef_buffer_clear(&out);
        clef_token_decoder_finish(&decoder, &out);
        assert_int_equal(out.length, 0);
        clef_buffer_release(&out);
    }
}

/* What is held when a special token is skipped goes on behind it; unknown ids are nothing. */
static void test_skipped(void **state) {
    const clef_tokenizer *tokenizer = *state;
    uint32_t special;
    uint32_t kept;
    assert_true(clef_tokenizer_find_added(tokenizer, CLEF_TEXT("<|im_end|>"), &special));
    assert_true(clef_tokenizer_find_added(tokenizer, CLEF_TEXT("</think>"), &kept));
    uint32_t ids[] = {find_byte_id(tokenizer, '\xC3'), special, UINT32_MAX,
                      find_byte_id(tokenizer, '\xA9'), kept,    clef_tokenizer_count(tokenizer)};
    clef_token_list list = {.ids = ids, .count = 6};
    clef_buffer out = decode_ids(tokenizer, &list, true);
    assert_text("skipping", clef_buffer_text(&out), CLEF_TEXT("\xC3\xA9</think>"));
    clef_buffer_release(&out);
    out = decode_ids(tokenizer, &list, false);
    assert_text("keeping", clef_buffer_text(&out), CLEF_TEXT(X "<|im_end|>" X "</think>"));
    clef_buffer_release(&out);
}

static int open_small(void **state) {
    *state = open_tokenizer(fixture("tokenizer/small/tokenizer.json"));
    return 0;
}

static int close_small(void **state) {
    clef_tokenizer_close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_skipped),
    };
    return cmocka_run_group_tests(tests, open_small, close_small);
}
