/* Numbers between decimal text and binary. The C library converts correctly rounded digits, but its
 * decimal point belongs to the locale of the process; so numbers are handed to it as a whole number
 * with an exponent, and of what it prints only the digits are used. The point is placed here. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The middle between two neighbouring doubles has at most 768 significant digits; of the digits
 * behind these it only matters whether all are zero. */
#define DIGITS_KEPT 800
/* Beyond this any exponent means zero or infinity, even for a spelling of as many digits. */
#define EXPONENT_BOUND INT64_C(1000000000000)
/* Every decimal of 15 significant digits survives the way through a normal double. */
#define DIGITS_ALWAYS_KEPT   15
#define DIGITS_ALWAYS_ENOUGH 17

/* d.ddd × 10^exponent. */
typedef struct decimal {
    char digits[DIGITS_ALWAYS_ENOUGH + 1];
    int count;
    int exponent;
} decimal;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* ---- reading ---- */

bool clef_json_unsigned(const clef_json *value, uint64_t *result) {
    if (value == NULL || value->type != CLEF_JSON_NUMBER || value->text.length == 0) {
        return false;
    }
    uint64_t number = 0;
    for (size_t i = 0; i < value->text.length; i++) {
        char c = value->text.bytes[i];
        if (!is_digit(c) || number > (INT64_MAX - (uint64_t)(c - '0')) / 10) {
            return false;
        }
        number = number * 10 + (uint64_t)(c - '0');
    }
    *result = number;
    return true;
}

/* The exponent behind the 'e' at `at`. */
static int64_t read_exponent(clef_text spelling, size_t at) {
    bool is_negative = at + 1 < spelling.length && spelling.bytes[at + 1] == '-';
    int64_t exponent = 0;
    for (size_t i = at + 1; i < spelling.length; i++) {
        if (is_digit(spelling.bytes[i]) && exponent < EXPONENT_BOUND) {
            exponent = exponent * 10 + (spelling.bytes[i] - '0');
        }
    }
    return is_negative ? -exponent : exponent;
}

double clef_json_double(clef_text spelling) {
    char number[DIGITS_KEPT + 1 + 32];
    size_t count = 0;
    int64_t exponent = 0; /* of the last digit kept */
    bool has_point = false;
    bool drops_nonzero = false;
    for (size_t i = 0; i < spelling.length; i++) {
        char c = spelling.bytes[i];
        if (c == 'e' || c == 'E') {
            exponent += read_exponent(spelling, i);
            break;
        }
        if (c == '.') {
            has_point = true;
        } else if (is_digit(c) && count < DIGITS_KEPT) {
            exponent -= has_point;
            if (c != '0' || count > 0) {
                number[count++] = c;
            }
        } else if (is_digit(c)) {
            exponent += !has_point;
            drops_nonzero |= c != '0';
        }
    }
    if (drops_nonzero) {
        number[count++] = '1';
        exponent--;
    }
    double result = 0.0;
    if (count > 0) {
        snprintf(number + count, sizeof number - count, "e%lld", (long long)exponent);
        result = strtod(number, NULL);
    }
    return spelling.length > 0 && spelling.bytes[0] == '-' ? -result : result;
}

/* ---- writing ---- */

/* The nearest decimal of `count` significant digits. */
static decimal round_decimal(double magnitude, int count) {
    char printed[48];
    snprintf(printed, sizeof printed, "%.*e", count - 1, magnitude);
    decimal result = {.count = 0};
    const char *c = printed;
    for (; *c != 'e' && *c != '\0'; c++) {
        if (is_digit(*c) && result.count < count) {
            result.digits[result.count++] = *c;
        }
    }
    result.exponent = *c == 'e' ? (int)strtol(c + 1, NULL, 10) : 0;
    return result;
}

static bool reads_back(const decimal *number, double magnitude) {
    char text[48];
    snprintf(text, sizeof text, "%.*se%d", number->count, number->digits,
             number->exponent - number->count + 1);
    return strtod(text, NULL) == magnitude;
}

/* Adds one unit of the last digit. */
static void step_up(decimal *number) {
    int at = number->count - 1;
    while (at >= 0 && number->digits[at] == '9') {
        number->digits[at--] = '0';
    }
    if (at >= 0) {
        number->digits[at]++;
        return;
    }
    number->digits[0] = '1';
    number->exponent++;
}

static void strip_zeros(decimal *number) {
    while (number->count > 1 && number->digits[number->count - 1] == '0') {
        number->count--;
    }
}

/* The shortest decimal that reads back as magnitude, and of those the nearest. */
static decimal shorten_decimal(double magnitude) {
    int unused;
    /* The doubles below a power of two lie closer than those above it, so that the nearest decimal
     * of some length may be too far below while the next one up still reads back. */
    bool is_lopsided = frexp(magnitude, &unused) == 0.5;
    int count = isnormal(magnitude) && !is_lopsided ? DIGITS_ALWAYS_KEPT : 1;
    decimal number;
    do {
        number = round_decimal(magnitude, count);
        if (is_lopsided && !reads_back(&number, magnitude)) {
            decimal above = number;
            step_up(&above);
            number = reads_back(&above, magnitude) ? above : number;
        }
    } while (count++ < DIGITS_ALWAYS_ENOUGH && !reads_back(&number, magnitude));
    strip_zeros(&number);
    return number;
}

/* Positional for exponents -4 to limit-1, else with an exponent. */
static void write_decimal(clef_buffer *out, const decimal *number, int limit, bool with_fraction) {
    const char *digits = number->digits;
    int count = number->count;
    int exponent = number->exponent;
    if (exponent < -4 || exponent >= limit) {
        clef_buffer_append_format(out, "%c%s%.*se%c%02d", digits[0], count > 1 ? "." : "",
                                  count - 1, digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        clef_buffer_append_format(out, "0.%.*s%.*s", -exponent - 1, "0000", count, digits);
    } else if (count <= exponent + 1) {
        clef_buffer_append_format(out, "%.*s%.*s%s", count, digits, exponent + 1 - count,
                                  "0000000000000000", with_fraction ? ".0" : "");
    } else {
        clef_buffer_append_format(out, "%.*s.%.*s", exponent + 1, digits, count - exponent - 1,
                                  digits + exponent + 1);
    }
}

/* Writes the sign, and the whole of what is not finite; true when the digits are still to come. */
static bool begin_number(clef_buffer *out, double value) {
    if (isnan(value)) {
        clef_buffer_append_string(out, "NaN");
        return false;
    }
    if (signbit(value)) {
        clef_buffer_append_byte(out, '-');
    }
    if (isinf(value)) {
        clef_buffer_append_string(out, "Infinity");
        return false;
    }
    return true;
}

void clef_json_write_double(clef_buffer *out, double value) {
    if (begin_number(out, value)) {
        decimal number = shorten_decimal(fabs(value));
        write_decimal(out, &number, 16, true);
    }
}

void clef_json_write_float9(clef_buffer *out, float value) {
    if (begin_number(out, (double)value)) {
        decimal number = round_decimal(fabs((double)value), 9);
        strip_zeros(&number);
        write_decimal(out, &number, 9, false);
    }
}

void clef_json_write_number(clef_buffer *out, clef_text spelling) {
    bool is_integer = true;
    for (size_t i = 0; i < spelling.length; i++) {
        char c = spelling.bytes[i];
        is_integer = is_integer && c != '.' && c != 'e' && c != 'E';
    }
    if (!is_integer) {
        clef_json_write_double(out, clef_json_double(spelling));
    } else if (clef_text_equals(spelling, CLEF_TEXT("-0"))) {
        clef_buffer_append_byte(out, '0');
    } else {
        clef_buffer_append_text(out, spelling);
    }
}
