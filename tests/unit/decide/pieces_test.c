/* The text of prompts, against recorded digests. */
#include "requests.h"

#include <stdio.h>

/* ---- SHA-256 (FIPS 180-4), for the recorded digests ------------------------------------------ */

typedef struct sha256 {
    uint32_t words[8];
    unsigned char block[64];
    uint64_t length;
} sha256;

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t value, unsigned bits) {
    return value >> bits | value << (32 - bits);
}

static void sha256_mix(sha256 *hash) {
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++) {
        const unsigned char *b = hash->block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, hash->words, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t a = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t b = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t one = v[7] + a + ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha256_constants[i] + w[i];
        uint32_t two = b + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (size_t i = 0; i < 8; i++) {
        hash->words[i] += v[i];
    }
}

static void sha256_begin(sha256 *hash) {
    *hash = (sha256){{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                      0x1f83d9ab, 0x5be0cd19},
                     {0},
                     0};
}

static void sha256_add(sha256 *hash, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        hash->block[hash->length++ % 64] = (unsigned char)bytes[i];
        if (hash->length % 64 == 0) {
            sha256_mix(hash);
        }
    }
}

static void sha256_end(sha256 *hash, char hex[65]) {
    uint64_t bits = hash->length * 8;
    char length[8];
    for (int i = 0; i < 8; i++) {
        length[i] = (char)(bits >> (56 - 8 * i));
    }
    sha256_add(hash, "\x80", 1);
    while (hash->length % 64 != 56) {
        sha256_add(hash, "", 1);
    }
    sha256_add(hash, length, 8);
    for (size_t i = 0; i < 8; i++) {
        snprintf(hex + 8 * i, 9, "%08x", hash->words[i]);
    }
}

/* ---- recorded texts -------------------------------------------------------------------------- */

static size_t count_characters(clef_text text) {
    size_t count = 0;
    for (size_t at = 0; at < text.length; count++) {
        clef_utf8_next(text.bytes, text.length, &at);
    }
    return count;
}

static void check_text_line(void *context, size_t line_number, clef_text line) {
    (void)line_number;
    clef_arena arena = {0};
    const clef_json *entry = parse_json(line, &arena);
    clef_text name = member(entry, "name")->text;
    piece_list *list = list_pieces(accept(&arena, member(entry, "body")->text));
    sha256 whole, joined;
    size_t characters = 0;
    sha256_begin(&whole);
    sha256_begin(&joined);
    for (size_t i = 0; i < list->count; i++) {
        sha256_add(&whole, list->pieces[i].bytes, list->pieces[i].length);
        sha256_add(&joined, "\x1f", i > 0);
        sha256_add(&joined, list->pieces[i].bytes, list->pieces[i].length);
        characters += count_characters(list->pieces[i]);
    }
    char whole_hex[65], joined_hex[65];
    sha256_end(&whole, whole_hex);
    sha256_end(&joined, joined_hex);
    if (!equals(member(entry, "sha256")->text, whole_hex) ||
        !equals(member(entry, "sha256_pieces")->text, joined_hex)) {
        fail_msg("%.*s: the text differs", (int)name.length, name.bytes);
    }
    assert_int_equal(list->count, number(member(entry, "pieces")));
    assert_int_equal(characters, number(member(entry, "chars")));
    release_pieces(list);
    clef_arena_release(&arena);
    ++*(int *)context;
}

static void test_recorded_texts(void **state) {
    (void)state;
    int count = 0;
    for_each_line(fixture("tokenizer/real/records.jsonl"), check_text_line, &count);
    assert_int_equal(count, 58);
}

static void assert_digest(clef_text body, size_t piece_count, const char *digest) {
    clef_arena arena = {0};
    piece_list *list = list_pieces(accept(&arena, body));
    sha256 hash;
    char hex[65];
    sha256_begin(&hash);
    for (size_t i = 0; i < list->count; i++) {
        sha256_add(&hash, list->pieces[i].bytes, list->pieces[i].length);
    }
    sha256_end(&hash, hex);
    assert_string_equal(hex, digest);
    assert_int_equal(list->count, piece_count);
    release_pieces(list);
    clef_arena_release(&arena);
}

static void test_digests_of_the_worked_examples(void **state) {
    (void)state;
    assert_digest(
        CLEF_TEXT(
            "{\"model\":\"clef\",\"state\":\"Our checkout started returning errors and orders "
            "are blocked.\",\"questions\":{\"department\":{\"type\":\"choice\","
            "\"instructions\":\"Which team should handle the message?\",\"criteria\":{"
            "\"billing\":\"Payments or invoices\",\"technical\":\"Bugs or outages\"}},"
            "\"urgency\":{\"type\":\"score\",\"criteria\":[\"Can wait\",\"This week\","
            "\"Today\"]},\"outage\":{\"type\":\"noul\",\"instructions\":\"Is a service "
            "down?\"}}}"),
        37, "0bc38200dd94e422d74f4770ada1647f2282eed407e18c14c6cdaa80397c7313");
    assert_digest(
        CLEF_TEXT("{\"model\":\"clef\",\"state\":{\"invoice\":{\"vendor\":\"Acme\",\"total\":"
                  "1250.0,\"currency\":\"USD\",\"status\":\"overdue\"}},\"questions\":{"
                  "\"status\":{\"type\":\"choice\",\"instructions\":\"What is the invoice "
                  "status?\",\"criteria\":{\"paid\":\"Invoice is paid.\",\"overdue\":\"Invoice "
                  "is past due.\",\"draft\":\"Not sent.\"}},\"large\":{\"type\":\"noul\","
                  "\"instructions\":\"Is the total above 1000 USD?\"}}}"),
        27, "2f8d1bd407b8bf3ff8a025e4e57e74bcf9ef45d686f800f92e7c6f84e59b9933");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_texts),
        cmocka_unit_test(test_digests_of_the_worked_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
