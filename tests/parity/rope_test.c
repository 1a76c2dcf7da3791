/* Rotary tables against the reference's bit patterns: frequencies and angles to the bit, cosine and
 * sine to one unit in the last place, and the axis that each pair of dimensions turns by. */
#include "support_formula.h"

#include "model/rotary_positions.h"

#include <stdio.h>
#include <stdlib.h>

#define HALF 32

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t parse_bits(const clef_json *value) {
    uint32_t bits = 0;
    assert_int_equal(value->text.length, 8);
    for (size_t i = 0; i < value->text.length; i++) {
        char digit = value->text.bytes[i];
        bits = bits << 4 | (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return bits;
}

/* Distance in units of the last place; also across zero. */
static int64_t units_between(uint32_t a, uint32_t b) {
    int64_t left = a >> 31 ? -(int64_t)(a & 0x7fffffff) : (int64_t)a;
    int64_t right = b >> 31 ? -(int64_t)(b & 0x7fffffff) : (int64_t)b;
    return llabs(left - right);
}

static void check_frequencies(const clef_json *rope, const char *key, double theta, size_t half) {
    float frequencies[HALF];
    clef_rotary_frequencies(theta, half, frequencies);
    const clef_json *list = member(rope, key);
    assert_int_equal(list->count, half);
    size_t i = 0;
    for (const clef_json *value = list->first; value != NULL; value = value->next, i++) {
        if (bits_of(frequencies[i]) != parse_bits(value)) {
            fail_msg("%s: frequency %zu is %08x, recorded %08x", key, i, bits_of(frequencies[i]),
                     parse_bits(value));
        }
    }
}

static void test_frequencies(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_json *rope = load_case("rope", &arena);
    check_frequencies(rope, "inv_freq_bits", number_member(rope, "theta"), HALF);
    double vision = number_member(rope, "vision_theta");
    check_frequencies(rope, "vision_inv_freq_bits_head_dim_72", vision, 18);
    check_frequencies(rope, "vision_inv_freq_bits_head_dim_64", vision, 16);
    clef_arena_release(&arena);
}

/* Cosine or sine of one position. Returns the worst distance. */
static int64_t check_table(const clef_json *list, const float *computed) {
    assert_int_equal(list->count, HALF);
    int64_t worst = 0;
    size_t i = 0;
    for (const clef_json *value = list->first; value != NULL; value = value->next, i++) {
        int64_t units = units_between(bits_of(computed[i]), parse_bits(value));
        worst = units > worst ? units : worst;
    }
    return worst;
}

/* The angle is not handed out by the product; but where an ulp of it is a hundredth of a radian, no
 * other angle gives the recorded cosine and sine. */
static void test_angles(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_json *rope = load_case("rope", &arena);
    const uint32_t section[3] = {11, 11, 10};
    float frequencies[HALF], cosine[HALF], sine[HALF];
    clef_rotary_frequencies(number_member(rope, "theta"), HALF, frequencies);
    int64_t worst = 0;
    const clef_json *positions = member(rope, "positions");
    assert_int_equal(positions->count, 5);
    for (const clef_json *entry = positions->first; entry != NULL; entry = entry->next) {
        int32_t position = (int32_t)clef_json_double(entry->key);
        const clef_json *angle = member(entry, "angle_bits")->first;
        for (size_t i = 0; i < HALF; i++, angle = angle->next) {
            assert_int_equal(bits_of((float)position * frequencies[i]), parse_bits(angle));
        }
        clef_rotary_angles((int32_t[]){position, position, position}, frequencies, section,
                           (clef_matrix){cosine, 1, HALF, HALF},
                           (clef_matrix){sine, 1, HALF, HALF});
        int64_t of_cosine = check_table(member(entry, "cos_bits"), cosine);
        int64_t of_sine = check_table(member(entry, "sin_bits"), sine);
        worst = of_cosine > worst ? of_cosine : worst;
        worst = of_sine > worst ? of_sine : worst;
    }
    print_message("cosine and sine: %d units in the last place at most\n", (int)worst);
    assert_in_range(worst, 0, 1);
    clef_arena_release(&arena);
}

/* Pair by pair the axis of interleaved sections: T, H and W take turns until a section is used up.
 * A row whose axes stand at other places must turn each pair as a text row at that axis' place. */
static void check_axes(const uint32_t section[3], const char *axes) {
    enum { ROWS = 2 };
    size_t half = strlen(axes);
    assert_int_equal(half, section[0] + section[1] + section[2]);
    const int32_t places[3][ROWS] = {{7, 4100}, {1000, 3}, {90, 262143}};
    float frequencies[HALF], cosine[ROWS * HALF], sine[ROWS * HALF];
    float text_cosine[HALF], text_sine[HALF];
    clef_rotary_frequencies(1e7, half, frequencies);
    clef_rotary_angles(&places[0][0], frequencies, section, (clef_matrix){cosine, ROWS, half, HALF},
                       (clef_matrix){sine, ROWS, half, HALF});
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t axis = 0; axis < 3; axis++) {
            int32_t place = places[axis][row];
            clef_rotary_angles((int32_t[]){place, place, place}, frequencies, section,
                               (clef_matrix){text_cosine, 1, half, HALF},
                               (clef_matrix){text_sine, 1, half, HALF});
            for (size_t i = 0; i < half; i++) {
                if (axes[i] == "THW"[axis]) {
                    assert_int_equal(bits_of(cosine[row * HALF + i]), bits_of(text_cosine[i]));
                    assert_int_equal(bits_of(sine[row * HALF + i]), bits_of(text_sine[i]));
                }
            }
        }
    }
}

static void test_sections(void **state) {
    (void)state;
    check_axes((const uint32_t[]){11, 11, 10}, "THWTHWTHWTHWTHWTHWTHWTHWTHWTHWTH");
    check_axes((const uint32_t[]){3, 3, 2}, "THWTHWTH");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_angles),
        cmocka_unit_test(test_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
