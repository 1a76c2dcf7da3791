/* Numbers: the spellings of Python's repr, exact rounding of long spellings, any locale. */
#include "support.h"

#include "base/memory.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void expect_number(const char *spelling, const char *written) {
    clef_buffer out = {0};
    clef_json_write_number(&out, clef_text_of(spelling));
    if (strcmp(out.bytes, written) != 0) {
        fail_msg("%.40s is written %s instead of %s", spelling, out.bytes, written);
    }
    clef_buffer_release(&out);
}

static void expect_double(double value, const char *written) {
    clef_buffer out = {0};
    clef_json_write_double(&out, value);
    assert_string_equal(out.bytes, written);
    clef_buffer_release(&out);
}

static double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static const struct {
    const char *spelling;
    const char *written;
} table[] = {
    {"1", "1"},
    {"1.0", "1.0"},
    {"1250.0", "1250.0"},
    {"-0", "0"},
    {"-0.0", "-0.0"},
    {"1e2", "100.0"},
    {"1E2", "100.0"},
    {"2.50", "2.5"},
    {"1e0", "1.0"},
    {"0e0", "0.0"},
    {"1e15", "1000000000000000.0"},
    {"9999999999999998.0", "9999999999999998.0"},
    {"99999999999999990.0", "9.999999999999998e+16"},
    {"1e16", "1e+16"},
    {"1e22", "1e+22"},
    {"1e23", "1e+23"},
    {"0.0001", "0.0001"},
    {"0.00001", "1e-05"},
    {"1.5e-7", "1.5e-07"},
    {"-12", "-12"},
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    {"1e400", "Infinity"},
    {"-1e400", "-Infinity"},
    {"1e-400", "0.0"},
    {"-1e-400", "-0.0"},
    {"-0e99999999999999999999", "-0.0"},
    {"1e99999999999999999999", "Infinity"},
    {"1e-99999999999999999999", "0.0"},
    {"0.1e1", "1.0"},
    {"123.456e-2", "1.23456"},
    {"5e-324", "5e-324"},
    {"2.4703282292062328e-324", "5e-324"},
    {"2.4703282292062327e-324", "0.0"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"1.7976931348623158e308", "1.7976931348623157e+308"},
    {"1.7976931348623159e308", "Infinity"},
    {"-123456.75", "-123456.75"},
};

static void table_is_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        expect_number(table[i].spelling, table[i].written);
    }
}

/* Recorded from Python's repr. The nearest 16 digits of 2^-44 lie too far below it. */
static void powers_of_two_are_shortest(void **state) {
    (void)state;
    expect_double(ldexp(1, -44), "5.684341886080802e-14");
    expect_double(ldexp(1, -1022), "2.2250738585072014e-308");
    expect_double(ldexp(1, 1023), "8.98846567431158e+307");
    expect_double(ldexp(1, -24), "5.960464477539063e-08");
    expect_double(ldexp(1, 89), "6.189700196426902e+26");
    expect_double(ldexp(1, 53), "9007199254740992.0");
    expect_double(ldexp(1, -3), "0.125");
}

/* Long spellings beside the middle of two doubles: a digit at the far end decides. */
static void long_spellings_round_correctly(void **state) {
    (void)state;
    /* 1 + 2^-53 in full; a tie goes to the even 1.0, the least more goes up. */
    static const char middle[] = "1.00000000000000011102230246251565404236316680908203125";
    expect_number(middle, "1.0");
    char spelling[4400];
    for (size_t zeros = 0; zeros <= 4200; zeros += 525) {
        size_t length = sizeof middle - 1;
        memcpy(spelling, middle, length);
        memset(spelling + length, '0', zeros);
        memcpy(spelling + length + zeros, "1", 2);
        expect_number(spelling, "1.0000000000000002");
    }
    memcpy(spelling, middle, sizeof middle);
    spelling[sizeof middle - 2] = '4'; /* ...03124 and any digits after it stay below */
    memset(spelling + sizeof middle - 1, '9', 4000);
    spelling[sizeof middle - 1 + 4000] = '\0';
    expect_number(spelling, "1.0");
    /* The integer 2^53 + 1 with an exponent is a tie as well. */
    expect_number("9007199254740993e0", "9007199254740992.0");
    expect_number("9007199254740993.00000000000000000000000000000000000001", "9007199254740994.0");
    memset(spelling, '0', sizeof spelling);
    memcpy(spelling, "0.", 2);
    strcpy(spelling + 4200, "1e4199");
    expect_number(spelling, "1.0");
    spelling[0] = '1';
    memset(spelling + 1, '0', 4200);
    strcpy(spelling + 4200, "e-4199");
    expect_number(spelling, "1.0");
}

/* The middle between 0 and the least double, and one between large subnormals, have over 750
 * digits; they are made by exact decimal doubling and halving, not by the code under test. */
static void halve_decimal(char *digits, size_t *count) {
    int carry = 0;
    for (size_t i = 0; i < *count; i++) {
        int value = carry * 10 + (digits[i] - '0');
        digits[i] = (char)('0' + value / 2);
        carry = value % 2;
    }
    if (carry != 0) {
        digits[(*count)++] = '5';
    }
}

static void exact_middles_of_subnormals_go_to_even(void **state) {
    (void)state;
    /* 16 digits before the point hold 2^53 - 1 = 2·(2^52 - 1) + 1, an odd count of half units. */
    char digits[1200] = "9007199254740991";
    size_t count = 16;
    for (int i = 0; i < 1075; i++) {
        halve_decimal(digits, &count);
    }
    char spelling[1300];
    snprintf(spelling, sizeof spelling, "%.16s.%.*s", digits, (int)count - 16, digits + 16);
    const char *first = spelling;
    while (first[1] != '.') {
        first++; /* a number may not begin with zeros */
    }
    /* Between (2^52-1)·2^-1074 and 2^-1022: the even one is the latter. */
    expect_number(first, "2.2250738585072014e-308");
    spelling[strlen(spelling) - 1] = '4';
    expect_number(first, "2.225073858507201e-308");
}

static void check_round(void *context, size_t number, clef_text line) {
    (void)number;
    clef_arena arena = {0};
    const clef_json *record = parse_json(line, &arena);
    uint32_t bits = (uint32_t)strtoul(member(record, "bits")->text.bytes, NULL, 16);
    double value = (double)float_of_bits(bits);
    char rounded[64];
    snprintf(rounded, sizeof rounded, "%.4f", value);
    clef_buffer out = {0};
    clef_json_write_double(&out, strtod(rounded, NULL));
    assert_true(clef_text_equals(clef_buffer_text(&out), member(record, "rounded")->text));
    clef_buffer_release(&out);
    clef_arena_release(&arena);
    ++*(size_t *)context;
}

static void recorded_roundings_are_written_alike(void **state) {
    (void)state;
    size_t count = 0;
    for_each_line(fixture("numbers/round.jsonl"), check_round, &count);
    assert_int_equal(count, 1000);
}

/* Significant digits of a written number. */
static int count_digits(const char *text) {
    int count = 0;
    int zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text == '0') {
            zeros += count > 0;
        } else if (*text >= '1' && *text <= '9') {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

static void random_doubles_are_shortest_and_read_back(void **state) {
    (void)state;
    uint64_t seed = 0x9E3779B97F4A7C15;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        double value = i % 4 == 0   ? (double)(bits % 10000000) / 1e4
                       : i % 4 == 1 ? double_of_bits(bits & 0x800FFFFFFFFFFFFF)
                                    : double_of_bits(bits);
        if (!isfinite(value)) {
            continue;
        }
        clef_buffer out = {0};
        clef_json_write_double(&out, value);
        double back = clef_json_double(clef_buffer_text(&out));
        assert_memory_equal(&back, &value, sizeof value);
        assert_true(strtod(out.bytes, NULL) == value);
        int digits = count_digits(out.bytes);
        assert_in_range(digits, value == 0 ? 0 : 1, 17);
        if (digits > 1) {
            char shorter[64];
            snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
            assert_true(strtod(shorter, NULL) != value);
        }
        clef_buffer_release(&out);
    }
}

static void nine_digit_floats_equal_printf(void **state) {
    (void)state;
    uint64_t seed = 0xD1B54A32D192ED03;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        float value = i % 3 == 0   ? (float)(bits % 100000) / 1000.0f
                      : i % 3 == 1 ? (float)(bits % 4096)
                                   : float_of_bits((uint32_t)bits);
        if (!isfinite(value)) {
            continue;
        }
        char expected[64];
        snprintf(expected, sizeof expected, "%.9g", (double)value);
        clef_buffer out = {0};
        clef_json_write_float9(&out, value);
        assert_string_equal(out.bytes, expected);
        clef_buffer_release(&out);
    }
    static const float edges[] = {0.0f,    -0.0f, 1e-5f,   9.99999997e-5f, 1e-4f,    999999999.0f,
                                  1e9f,    1e10f, FLT_MIN, FLT_MAX,        1.4e-45f, 16777216.0f,
                                  0.0001f, 0.1f};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%.9g", (double)edges[i]);
        clef_buffer out = {0};
        clef_json_write_float9(&out, edges[i]);
        assert_string_equal(out.bytes, expected);
        clef_buffer_release(&out);
    }
}

static void a_decimal_comma_changes_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",
                                        "fr_FR.UTF-8", "fr_FR",      "nl_NL.UTF-8"};
    bool has_comma = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !has_comma; i++) {
        has_comma =
            setlocale(LC_ALL, names[i]) != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
    }
    if (!has_comma) {
        setlocale(LC_ALL, "C");
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        expect_number(table[i].spelling, table[i].written);
    }
    clef_buffer out = {0};
    clef_json_write_float9(&out, 0.5f);
    assert_string_equal(out.bytes, "0.5");
    assert_true(clef_json_double(CLEF_TEXT("2.75")) == 2.75);
    clef_buffer_release(&out);
    setlocale(LC_ALL, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_kept),
        cmocka_unit_test(powers_of_two_are_shortest),
        cmocka_unit_test(long_spellings_round_correctly),
        cmocka_unit_test(exact_middles_of_subnormals_go_to_even),
        cmocka_unit_test(recorded_roundings_are_written_alike),
        cmocka_unit_test(random_doubles_are_shortest_and_read_back),
        cmocka_unit_test(nine_digit_floats_equal_printf),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
