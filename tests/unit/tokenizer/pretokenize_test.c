/* The splits alone: the table of alternatives and traps, both patterns, and runs that would make a
 * backtracking matcher quadratic. */
#include "support.h"

#include "tokenizer/pretokenize.h"
#include "tokenizer/unicode_tables.h"

#include "base/memory.h"

#define MOST_PARTS 6

typedef struct split_case {
    const char *text;
    const char *parts[MOST_PARTS];
} split_case;

static void check_split(clef_split_pattern pattern, const split_case *given) {
    clef_text text = clef_text_of(given->text);
    size_t begin = 0;
    for (size_t i = 0; i < MOST_PARTS && given->parts[i] != NULL; i++) {
        if (begin >= text.length) {
            fail_msg("\"%s\": no part %zu", given->text, i);
        }
        size_t end = clef_pretokenize_find_end(pattern, text, begin);
        if (!clef_text_equals((clef_text){text.bytes + begin, end - begin},
                              clef_text_of(given->parts[i]))) {
            fail_msg("\"%s\": part %zu is \"%.*s\", not \"%s\"", given->text, i, (int)(end - begin),
                     text.bytes + begin, given->parts[i]);
        }
        begin = end;
    }
    if (begin != text.length) {
        fail_msg("\"%s\": more parts than expected", given->text);
    }
}

/* U+180E, U+0085, U+200B, U+FEFF, U+2028, U+3000, U+017F, U+0301, U+0663. */
#define MONGOLIAN  "\xE1\xA0\x8E"
#define NEXT_LINE  "\xC2\x85"
#define ZERO_WIDTH "\xE2\x80\x8B"
#define MARK_ORDER "\xEF\xBB\xBF"
#define SEPARATOR  "\xE2\x80\xA8"
#define WIDE_SPACE "\xE3\x80\x80"
#define LONG_S     "\xC5\xBF"
#define ACUTE      "\xCC\x81"
#define ARABIC_3   "\xD9\xA3"

/* The same under both patterns. */
static const split_case common_cases[] = {
    {"a" MONGOLIAN MONGOLIAN "b", {"a", MONGOLIAN MONGOLIAN, "b"}},
    {"a\x1C\x1C"
     "b",
     {"a", "\x1C\x1C", "b"}},
    {"a" ZERO_WIDTH ZERO_WIDTH "b", {"a", ZERO_WIDTH ZERO_WIDTH, "b"}},
    {"a" MARK_ORDER MARK_ORDER "b", {"a", MARK_ORDER MARK_ORDER, "b"}},
    {"a" NEXT_LINE NEXT_LINE "b", {"a", NEXT_LINE, NEXT_LINE "b"}},
    {"a\xC2\xA0\xC2\xA0"
     "b",
     {"a", "\xC2\xA0",
      "\xC2\xA0"
      "b"}},
    {"a" SEPARATOR SEPARATOR "b", {"a", SEPARATOR, SEPARATOR "b"}},
    {"a" WIDE_SPACE WIDE_SPACE "b", {"a", WIDE_SPACE, WIDE_SPACE "b"}},
    {"a\v\f"
     "b",
     {"a", "\v",
      "\f"
      "b"}},
    {"it'sx", {"it", "'s", "x"}},
    {"it'Sx", {"it", "'S", "x"}},
    {"it'" LONG_S "x", {"it", "'" LONG_S, "x"}},
    {"it'Kx", {"it", "'Kx"}},
    {"IT'VEx", {"IT", "'VE", "x"}},
    {"we'LL he'd", {"we", "'LL", " he", "'d"}},
    {"I'm don't", {"I", "'m", " don", "'t"}},
    {"they're've", {"they", "'re", "'ve"}},
    {"'Re'vE", {"'Re", "'vE"}},
    {"'r", {"'r"}},
    {"'l", {"'l"}},
    {"'", {"'"}},
    {"''s", {"''", "s"}},
    {"'s", {"'s"}},
    {"a \n b", {"a", " \n", " b"}},
    {"a\n\n\n b", {"a", "\n\n\n", " b"}},
    {"  a", {" ", " a"}},
    {"a   ", {"a", "   "}},
    {"a \t b", {"a", " \t", " b"}},
    {"a_b", {"a", "_b"}},
    {"x\r\ny", {"x", "\r\n", "y"}},
    {"x \r\n", {"x", " \r\n"}},
    {"!!\n\nx", {"!!\n\n", "x"}},
    {" !\r\n ", {" !\r\n", " "}},
    {"(x):\n", {"(x", "):\n"}},
    {"->", {"->"}},
    {"a != b", {"a", " !=", " b"}},
    {"12345", {"1", "2", "3", "4", "5"}},
    {" 1", {" ", "1"}},
    {"1\xC2\xB2\xE2\x91\xA2", {"1", "\xC2\xB2", "\xE2\x91\xA2"}},
    {ARABIC_3 "a", {ARABIC_3, "a"}},
    {"\t\tx", {"\t", "\tx"}},
    {"\n x", {"\n", " x"}},
    {"\nx", {"\n", "x"}},
};

static const split_case qwen2_cases[] = {
    {"\xC3\xA9" ACUTE "x", {"\xC3\xA9", ACUTE "x"}},
    {" " ACUTE "x", {" " ACUTE, "x"}},
    {ACUTE ACUTE "x", {ACUTE ACUTE, "x"}},
    {"\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8", {"\xE0\xA4\xB9", "\xE0\xA4\xBF\xE0\xA4\xA8"}},
};

static const split_case qwen35_cases[] = {
    {"\xC3\xA9" ACUTE "x", {"\xC3\xA9" ACUTE "x"}},
    {" " ACUTE "x", {" " ACUTE "x"}},
    {"!" ACUTE, {"!" ACUTE}},
    {"1" ACUTE, {"1", ACUTE}},
    {"\n" ACUTE, {"\n", ACUTE}},
    {"\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8", {"\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8"}},
};

static void test_common(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof common_cases / sizeof *common_cases; i++) {
        check_split(CLEF_SPLIT_PATTERN_QWEN2, &common_cases[i]);
        check_split(CLEF_SPLIT_PATTERN_QWEN35, &common_cases[i]);
    }
}

static void test_qwen2(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof qwen2_cases / sizeof *qwen2_cases; i++) {
        check_split(CLEF_SPLIT_PATTERN_QWEN2, &qwen2_cases[i]);
    }
}

static void test_qwen35(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof qwen35_cases / sizeof *qwen35_cases; i++) {
        check_split(CLEF_SPLIT_PATTERN_QWEN35, &qwen35_cases[i]);
    }
}

/* Every part ends behind its begin and at a character; the work for a run of n is not n². The
 * alarm is the time limit of the suite: quadratic work on a million would take an hour. */
static void test_long_runs(void **state) {
    (void)state;
    const char *units[] = {" ", "\n", " \n", "a",   "1",   "!",
                           "'", "\t", "\r",  ACUTE, "'s ", WIDE_SPACE};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        clef_buffer text = {0};
        for (size_t n = 0; n < 1000000; n++) {
            clef_buffer_append_string(&text, units[i]);
        }
        /* Something behind the run, so that a white-space run has to be given up. */
        clef_buffer_append_string(&text, "x");
        assert_false(text.has_failed);
        for (int pattern = 0; pattern < CLEF_SPLIT_PATTERN_COUNT; pattern++) {
            for (size_t at = 0; at < text.length;) {
                size_t end = clef_pretokenize_find_end((clef_split_pattern)pattern,
                                                       clef_buffer_text(&text), at);
                assert_true(end > at && end <= text.length);
                assert_true(end == text.length || ((unsigned char)text.bytes[end] & 0xC0) != 0x80);
                at = end;
            }
        }
        clef_buffer_release(&text);
    }
}

/* The classes the reference asks for, at the borders of the tables and of Unicode 16.0. */
static void test_classes(void **state) {
    (void)state;
    const struct {
        uint32_t character;
        clef_character_class wanted;
    } cases[] = {
        {0, CLEF_CHARACTER_OTHER},        {'\n', CLEF_CHARACTER_NEWLINE},
        {'\r', CLEF_CHARACTER_NEWLINE},   {' ', CLEF_CHARACTER_SPACE},
        {0x0B, CLEF_CHARACTER_SPACE},     {0x1C, CLEF_CHARACTER_OTHER},
        {0x85, CLEF_CHARACTER_SPACE},     {0x180E, CLEF_CHARACTER_OTHER},
        {0x200B, CLEF_CHARACTER_OTHER},   {0x2029, CLEF_CHARACTER_SPACE},
        {0xBD, CLEF_CHARACTER_NUMBER},    {0x2168, CLEF_CHARACTER_NUMBER},
        {0x0EBA, CLEF_CHARACTER_MARK},    {0x1C89, CLEF_CHARACTER_LETTER},
        {0x10D40, CLEF_CHARACTER_NUMBER}, {0x323AF, CLEF_CHARACTER_LETTER},
        {0x323B0, CLEF_CHARACTER_OTHER},  {0xE0100, CLEF_CHARACTER_MARK},
        {0x10FFFF, CLEF_CHARACTER_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (clef_unicode_class(cases[i].character) != cases[i].wanted) {
            fail_msg("U+%04X is of class %d", cases[i].character,
                     (int)clef_unicode_class(cases[i].character));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common),  cmocka_unit_test(test_qwen2),
        cmocka_unit_test(test_qwen35),  cmocka_unit_test(test_long_runs),
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
