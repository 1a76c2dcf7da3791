/* Texts and UTF-8. The checker here decodes by arithmetic alone and asks of each value whether this
 * was its shortest form, so that it shares no table with the code under test. */
#include "support.h"

#include "base/text.h"

#include <stdlib.h>

/* Length of the character at s, or 0 when it is none. */
static size_t character_length(const unsigned char *s, size_t left) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = 0;
    while (size < 8 && (s[0] & (0x80 >> size)) != 0) {
        size++;
    }
    if (size == 0) {
        return 1;
    }
    if (size == 1 || size > 4 || size > left) {
        return 0;
    }
    uint32_t value = s[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (s[i] < 0x80 || s[i] > 0xBF) {
            return 0;
        }
        value = value * 64 + (s[i] - 0x80u);
    }
    bool is_valid = value >= least[size] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
    return is_valid ? size : 0;
}

static size_t valid_prefix(const unsigned char *s, size_t length) {
    size_t at = 0;
    while (at < length) {
        size_t size = character_length(s + at, length - at);
        if (size == 0) {
            break;
        }
        at += size;
    }
    return at;
}

static void check_prefix(const unsigned char *s, size_t length) {
    size_t found = clef_utf8_valid_prefix((const char *)s, length);
    size_t expected = valid_prefix(s, length);
    if (found != expected) {
        fail_msg("%02X %02X %02X %02X of %zu: %zu instead of %zu", s[0], s[1], s[2], s[3], length,
                 found, expected);
    }
}

static const unsigned char edges[] = {0x00, 0x20, 0x41, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F,
                                      0xA0, 0xA1, 0xBE, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0,
                                      0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4,
                                      0xF5, 0xF7, 0xF8, 0xFB, 0xFC, 0xFE, 0xFF};
#define EDGE_COUNT (sizeof edges)

static void all_two_byte_texts_agree(void **state) {
    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        unsigned char bytes[4] = {(unsigned char)(i >> 8), (unsigned char)i, 0, 0};
        check_prefix(bytes, 1);
        check_prefix(bytes, 2);
    }
}

/* Every lead with every second byte and the edges of the others, in each length and behind and
 * before plain text, so that the eight-byte steps are crossed. */
static void boundary_texts_agree(void **state) {
    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        if (i >> 8 < 0xC0) {
            continue;
        }
        for (size_t third = 0; third < EDGE_COUNT; third++) {
            for (size_t fourth = 0; fourth < EDGE_COUNT; fourth++) {
                unsigned char bytes[4] = {(unsigned char)(i >> 8), (unsigned char)i, edges[third],
                                          edges[fourth]};
                check_prefix(bytes, 4);
                if (fourth == 0) {
                    check_prefix(bytes, 3);
                }
            }
        }
    }
}

static void every_offset_of_a_word_agrees(void **state) {
    (void)state;
    static const char *const parts[] = {"\xC3\xA9",
                                        "\xE6\x97\xA5",
                                        "\xF0\x9F\x98\x80",
                                        "\xED\x9F\xBF",
                                        "\xED\xA0\x80",
                                        "\xF4\x8F\xBF\xBF",
                                        "\xF4\x90\x80\x80",
                                        "\xC0\x80",
                                        "\xE2\x82",
                                        "\xFF",
                                        "\x80"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i]);
        for (size_t before = 0; before < 20; before++) {
            for (size_t after = 0; after < 20; after++) {
                unsigned char *bytes = malloc(before + length + after);
                assert_non_null(bytes);
                memset(bytes, 'a', before + length + after);
                memcpy(bytes + before, parts[i], length);
                size_t total = before + length + after;
                assert_int_equal(clef_utf8_valid_prefix((const char *)bytes, total),
                                 valid_prefix(bytes, total));
                free(bytes);
            }
        }
    }
    assert_int_equal(clef_utf8_valid_prefix("", 0), 0);
}

static void every_code_point_goes_round(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF) {
            continue;
        }
        char bytes[4];
        size_t size = clef_utf8_write(c, bytes);
        assert_int_equal(character_length((const unsigned char *)bytes, size), size);
        assert_int_equal(clef_utf8_valid_prefix(bytes, size), size);
        size_t position = 0;
        assert_int_equal(clef_utf8_next(bytes, size, &position), c);
        assert_int_equal(position, size);
    }
}

static void texts_compare_by_bytes(void **state) {
    (void)state;
    static const clef_text ascending[] = {
        {"", 0},     {"\0", 1},       {"\0a", 2},          {"A", 1},
        {"a", 1},    {"a\0", 2},      {"aa", 2},           {"b", 1},
        {"\x7F", 1}, {"\xC3\xA9", 2}, {"\xEF\xBF\xBD", 3}, {"\xF0\x90\x80\x80", 4},
    };
    size_t count = sizeof ascending / sizeof *ascending;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = clef_text_compare(ascending[i], ascending[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
            assert_int_equal(clef_text_equals(ascending[i], ascending[j]), i == j);
        }
    }
    assert_true(clef_text_equals((clef_text){NULL, 0}, CLEF_TEXT("")));
    assert_int_equal(clef_text_compare((clef_text){NULL, 0}, CLEF_TEXT("")), 0);
    assert_int_equal(clef_text_of("abc").length, 3);
}

static void hashes_tell_texts_apart(void **state) {
    (void)state;
    /* All texts of up to two bytes, and zeros of different lengths, which padding must not mix. */
    enum { COUNT = 1 + 256 + 65536 };
    uint64_t *hashes = malloc(COUNT * sizeof *hashes);
    assert_non_null(hashes);
    size_t count = 0;
    hashes[count++] = clef_hash("", 0);
    for (unsigned i = 0; i < 256 + 65536; i++) {
        unsigned char bytes[2] = {(unsigned char)i, (unsigned char)((i - 256) >> 8)};
        hashes[count++] = clef_hash(bytes, i < 256 ? 1 : 2);
    }
    /* Random hashes of 65,793 texts hit 51,700 of 2^17 slots (1 - e^-½ of them). */
    static unsigned char slots[1 << 17];
    size_t hit = 0;
    for (size_t i = 0; i < count; i++) {
        hit += slots[hashes[i] & 0x1FFFF] == 0;
        slots[hashes[i] & 0x1FFFF] = 1;
    }
    assert_true(hit > 48000);
    char zeros[40] = {0};
    for (size_t i = 0; i < sizeof zeros; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(clef_hash(zeros, i) != clef_hash(zeros, j));
        }
    }
    assert_true(clef_hash("abcdefghi", 9) == clef_hash("abcdefghi", 9));
    free(hashes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_two_byte_texts_agree),
        cmocka_unit_test(boundary_texts_agree),
        cmocka_unit_test(every_offset_of_a_word_agrees),
        cmocka_unit_test(every_code_point_goes_round),
        cmocka_unit_test(texts_compare_by_bytes),
        cmocka_unit_test(hashes_tell_texts_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
