/* Number types: every 16-bit pattern widened by the definition of its type, rounding to bfloat16 at
 * every kind of tie, names and sizes. */
#include "support.h"

#include "tensor/dtype.h"

#include <math.h>

/* Value of a pattern of `exponent_bits` and `mantissa_bits`, by definition. */
static double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
    int mantissa = (int)(bits & ((1u << mantissa_bits) - 1));
    double size;
    if (exponent == (1 << exponent_bits) - 1) {
        size = mantissa == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
        size = ldexp(mantissa, 1 - bias - mantissa_bits);
    } else {
        size = ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    }
    return bits >> (exponent_bits + mantissa_bits) & 1 ? -size : size;
}

static void assert_same_number(float found, double wanted, uint32_t bits) {
    if (isnan(wanted) ? !isnan(found)
                      : !((double)found == wanted && !signbit(found) == !signbit(wanted))) {
        fail_msg("pattern %04x is %.9g, wanted %.9g", bits, (double)found, wanted);
    }
}

static void every_f16_widens_exactly(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        assert_same_number(clef_float_of_f16((uint16_t)bits), value_of(bits, 5, 10), bits);
    }
}

static void every_bf16_widens_exactly(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = clef_float_of_bf16((uint16_t)bits);
        assert_same_number(value, value_of(bits, 8, 7), bits);
        if (!isnan(value)) {
            assert_int_equal(clef_bf16_of_float(value), bits);
        } else {
            assert_true(isnan(clef_float_of_bf16(clef_bf16_of_float(value))));
        }
    }
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Between two neighbouring bfloat16 values a < b (in size): below the middle a, above it b, at the
 * middle the even one. */
static void bf16_rounds_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t upper = 0; upper < 0x7F80; upper++) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            uint32_t low = sign << 15 | upper;
            uint32_t high = low + 1; /* behind the largest number: infinity */
            static const uint32_t rest[] = {0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
            uint32_t even = low % 2 == 0 ? low : high;
            const uint32_t wanted[] = {low, low, even, high, high};
            for (size_t i = 0; i < 5; i++) {
                assert_int_equal(clef_bf16_of_float(float_of(low << 16 | rest[i])), wanted[i]);
            }
        }
    }
    /* NaNs stay NaNs, also those whose payload lies in the bits cut off. */
    assert_true(isnan(clef_float_of_bf16(clef_bf16_of_float(float_of(0x7F800001)))));
    assert_true(isnan(clef_float_of_bf16(clef_bf16_of_float(float_of(0xFFFFFFFF)))));
    assert_int_equal(clef_bf16_of_float(INFINITY), 0x7F80);
    assert_int_equal(clef_bf16_of_float(-INFINITY), 0xFF80);
}

static void rows_widen_like_single_numbers(void **state) {
    (void)state;
    enum { COUNT = 67 };
    uint16_t halves[COUNT];
    float floats[COUNT];
    float out[COUNT + 1];
    for (uint32_t i = 0; i < COUNT; i++) {
        halves[i] = (uint16_t)(i * 977 % 0x7C00);
        floats[i] = 1.0f / (float)(i + 1);
    }
    for (size_t count = 0; count <= COUNT; count++) {
        out[count] = 42;
        clef_widen(CLEF_DTYPE_F16, halves, count, out);
        for (size_t i = 0; i < count; i++) {
            assert_true(out[i] == clef_float_of_f16(halves[i]));
        }
        clef_widen(CLEF_DTYPE_BF16, halves, count, out);
        for (size_t i = 0; i < count; i++) {
            assert_true(out[i] == clef_float_of_bf16(halves[i]));
        }
        clef_widen(CLEF_DTYPE_F32, floats, count, out);
        assert_memory_equal(out, floats, count * sizeof *floats);
        assert_true(out[count] == 42);
    }
}

/* Spelling and size stand in the safetensors format. */
static void names_and_sizes_are_those_of_the_format(void **state) {
    (void)state;
    static const struct {
        clef_dtype dtype;
        const char *name;
        size_t bytes;
    } all[] = {
        {CLEF_DTYPE_F64, "F64", 8},   {CLEF_DTYPE_F32, "F32", 4},   {CLEF_DTYPE_F16, "F16", 2},
        {CLEF_DTYPE_I64, "I64", 8},   {CLEF_DTYPE_BF16, "BF16", 2}, {CLEF_DTYPE_I32, "I32", 4},
        {CLEF_DTYPE_I16, "I16", 2},   {CLEF_DTYPE_I8, "I8", 1},     {CLEF_DTYPE_U8, "U8", 1},
        {CLEF_DTYPE_BOOL, "BOOL", 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        clef_dtype parsed;
        assert_string_equal(clef_dtype_name(all[i].dtype), all[i].name);
        assert_int_equal(clef_dtype_bytes(all[i].dtype), all[i].bytes);
        assert_true(clef_dtype_parse(clef_text_of(all[i].name), &parsed));
        assert_int_equal(parsed, all[i].dtype);
    }
    static const char *const unknown[] = {"", "F8", "F8_E4M3", "bf16", "BF1", "BF166", "F32 "};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        clef_dtype parsed;
        assert_false(clef_dtype_parse(clef_text_of(unknown[i]), &parsed));
    }
    clef_dtype parsed;
    assert_false(clef_dtype_parse((clef_text){"F32\0", 4}, &parsed));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f16_widens_exactly),
        cmocka_unit_test(every_bf16_widens_exactly),
        cmocka_unit_test(bf16_rounds_to_nearest_even),
        cmocka_unit_test(rows_widen_like_single_numbers),
        cmocka_unit_test(names_and_sizes_are_those_of_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
