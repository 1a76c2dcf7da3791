/* Base64 against an encoder written here, and every way to get it wrong. */
#include "support.h"

#include "base/base64.h"
#include "base/memory.h"

#include <stdlib.h>

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Bit by bit. `line`: characters between line ends, 0 for none. */
static size_t encode(const uint8_t *bytes, size_t length, const char *alphabet, bool is_padded,
                     size_t line, char *out) {
    size_t at = 0, in_line = 0;
    for (size_t bit = 0; bit < length * 8; bit += 6) {
        unsigned value = 0;
        for (size_t i = bit; i < bit + 6; i++) {
            unsigned one = i < length * 8 ? (bytes[i / 8] >> (7 - i % 8)) & 1u : 0;
            value = value * 2 + one;
        }
        out[at++] = alphabet[value];
        if (line != 0 && ++in_line == line) {
            out[at++] = '\r';
            out[at++] = '\n';
            in_line = 0;
        }
    }
    for (size_t count = (length * 8 + 5) / 6; is_padded && count % 4 != 0; count++) {
        out[at++] = '=';
    }
    return at;
}

static void decode_gives(const char *text, size_t text_length, const uint8_t *bytes,
                         size_t length) {
    clef_error error = {0};
    uint8_t *found;
    size_t found_length;
    assert_ok(clef_base64_decode((clef_text){text, text_length}, &found, &found_length, &error),
              &error);
    assert_non_null(found);
    assert_int_equal(found_length, length);
    assert_memory_equal(found, bytes, length);
    clef_release(found);
}

static void every_length_in_every_spelling(void **state) {
    (void)state;
    uint8_t bytes[300];
    char text[900];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 149 + (i >> 3) * 31 + 0xFB);
    }
    for (size_t length = 0; length <= sizeof bytes; length++) {
        for (int spelling = 0; spelling < 12; spelling++) {
            static const size_t lines[] = {0, 76, 5};
            size_t text_length = encode(bytes, length, (spelling & 1) != 0 ? url_safe : standard,
                                        (spelling & 2) != 0, lines[spelling / 4], text);
            decode_gives(text, text_length, bytes, length);
        }
    }
    decode_gives(" Q Q\t=\n= ", 9, (const uint8_t *)"A", 1);
}

static void refuse(const char *text, const char *words) {
    clef_error error = {0};
    uint8_t *bytes;
    size_t length;
    assert_int_equal(clef_base64_decode(clef_text_of(text), &bytes, &length, &error),
                     CLEF_BAD_REQUEST);
    assert_null(bytes);
    if (strstr(error.message, words) == NULL) {
        fail_msg("%s: %s", text, error.message);
    }
}

static void faults_name_their_place(void **state) {
    (void)state;
    refuse("QUJD!UJD", "byte 4 is '!', which is not of the base64 alphabet");
    refuse("QUJD\x01", "byte 4 is 0x01");
    refuse("QUJ\xC3\xA4", "byte 3 is 0xC3");
    refuse("QUJDQ", "one character of four");
    refuse("QUJDQ===", "padding where none belongs");
    refuse("=", "padding where none belongs");
    refuse("QUJD=", "padding where none belongs");
    refuse("QUI==", "padding where none belongs");
    refuse("QQ=", "padding is cut off");
    refuse("QQ==QQ==", "byte 4 is 'Q', behind the padding");
    refuse("Q+Q_", "byte 3 is '_', so the standard and the URL-safe alphabet");
    refuse("QQQ-QQQQQQQ/", "byte 11 is '/'");
    refuse("data:x", "byte 4 is ':'");
}

/* Any bytes at all: a result or an error, and every accepted text round-trips to itself. */
static void noise(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < 20000; round++) {
        char text[32];
        size_t length = 0;
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        for (uint64_t rest = seed >> 8; length < (seed >> 59); length++) {
            static const char letters[] = "AZaz09+/-_= \nQ!";
            rest = rest * 2862933555777941757 + 3037000493;
            text[length] = letters[(rest >> 40) % (sizeof letters - 1)];
        }
        uint8_t *bytes;
        size_t count;
        if (clef_base64_decode((clef_text){text, length}, &bytes, &count, NULL) == CLEF_OK) {
            char again[64];
            bool is_url_safe =
                memchr(text, '-', length) != NULL || memchr(text, '_', length) != NULL;
            size_t again_length =
                encode(bytes, count, is_url_safe ? url_safe : standard, false, 0, again);
            size_t at = 0;
            for (size_t i = 0; i < length; i++) {
                if (strchr(" \n=", text[i]) == NULL) {
                    /* The bits behind the last whole byte may be anything. */
                    assert_true(at + 1 == again_length || again[at] == text[i]);
                    at++;
                }
            }
            assert_int_equal(at, again_length);
            clef_release(bytes);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_in_every_spelling),
        cmocka_unit_test(faults_name_their_place),
        cmocka_unit_test(noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
