/* Quantised rows against the rules of repack.h, computed here a second way in double, and against
 * the plain rounding that the search of 4-bit scales must beat. */
#include "support.h"

#include "weights/repack.h"

#include <float.h>
#include <math.h>

#define COLUMNS_MOST 512

typedef struct packed_row {
    uint8_t values[COLUMNS_MOST];
    float scales[COLUMNS_MOST];
    clef_weight weight;
} packed_row;

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Roughly normal: the sum of twelve even numbers. */
static float draw(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += (double)next_random(state) / 2147483648.0;
    }
    return (float)sum;
}

static void draw_row(float *row, size_t count, uint64_t *state, float size) {
    for (size_t i = 0; i < count; i++) {
        row[i] = draw(state) * size;
    }
}

static bool pack(packed_row *packed, const float *row, clef_dtype dtype, size_t columns,
                 size_t group) {
    memset(packed, 0, sizeof *packed);
    packed->weight = (clef_weight){
        .dtype = dtype, .rows = 1, .columns = columns, .group = group, .scales = packed->scales};
    packed->weight.data = packed->values;
    return clef_repack_row(packed->weight, row, NULL, packed->values, packed->scales);
}

static bool check(const packed_row *packed, const float *row, size_t *column) {
    float scratch[COLUMNS_MOST];
    return clef_repack_check(packed->weight, CLEF_REPACK_NEAREST, 0, row, scratch, column);
}

static double largest_of(const float *row, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)row[i]));
    }
    return largest;
}

/* The value of a column by the layout's description, apart from the product's reader. */
static int four_bits(const uint8_t *values, size_t column) {
    uint8_t byte = values[column / 32 * 16 + column % 16];
    return (column % 32 < 16 ? byte & 15 : byte >> 4) - 8;
}

static void eight_bits_follow_the_rule(void **state) {
    (void)state;
    uint64_t random = 1;
    const size_t shapes[][2] = {{96, 32},   {96, 64}, {200, 64}, {200, 32},
                                {512, 512}, {33, 64}, {7, 32}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t columns = shapes[s][0], group = shapes[s][1];
        float row[COLUMNS_MOST];
        packed_row packed;
        draw_row(row, columns, &random, 0.02f);
        assert_true(pack(&packed, row, CLEF_DTYPE_I8, columns, group));
        for (size_t i = 0; i < columns; i++) {
            size_t begin = i / group * group;
            size_t count = columns - begin < group ? columns - begin : group;
            double scale = largest_of(row + begin, count) / 127;
            assert_true(fabs(packed.scales[i / group] - scale) <= scale * 1e-6);
            int value = (int8_t)packed.values[i];
            assert_in_range(value + 127, 0, 254);
            assert_true(fabs(row[i] - value * scale) <= scale * 0.50001);
        }
        size_t column;
        assert_true(check(&packed, row, &column));
    }
}

static double squares(const float *row, const packed_row *packed, size_t begin, size_t count) {
    double sum = 0;
    float scale = packed->scales[begin / packed->weight.group];
    for (size_t i = begin; i < begin + count; i++) {
        double difference = row[i] - (double)four_bits(packed->values, i) * scale;
        sum += difference * difference;
    }
    return sum;
}

/* What rounding with largest / 7 gives. */
static double plain_squares(const float *row, size_t count) {
    double scale = largest_of(row, count) / 7, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = row[i] - rint(row[i] / scale) * scale;
        sum += difference * difference;
    }
    return sum;
}

static void four_bits_beat_plain_rounding(void **state) {
    (void)state;
    uint64_t random = 2;
    double all = 0, plain = 0;
    for (int round = 0; round < 200; round++) {
        size_t group = round % 2 == 0 ? 32 : 64;
        /* Sizes far from 1: squares of some of them are no floats. */
        float size = ldexpf(0.02f, round % 5 == 0 ? -70 : round % 5 == 1 ? 80 : 0);
        size_t columns = group == 32 ? 96 : 160; /* the last group of 64 is half full */
        float row[COLUMNS_MOST];
        packed_row packed;
        size_t column;
        draw_row(row, columns, &random, size);
        row[round % columns] *= 2.5f; /* an outlier */
        assert_true(pack(&packed, row, CLEF_DTYPE_U8, columns, group));
        if (!check(&packed, row, &column)) {
            fail_msg("round %d: column %zu", round, column);
        }
        for (size_t begin = 0; begin < columns; begin += group) {
            size_t count = columns - begin < group ? columns - begin : group;
            double ours = squares(row, &packed, begin, count) / size / size;
            double theirs = plain_squares(row + begin, count) / size / size;
            assert_true(ours <= theirs * 1.0001);
            all += ours;
            plain += theirs;
            double limit = largest_of(row + begin, count) / 4;
            for (size_t i = begin; i < begin + count; i++) {
                double stored = (double)four_bits(packed.values, i) * packed.scales[begin / group];
                assert_true(fabs(row[i] - stored) <= limit);
            }
        }
    }
    assert_true(all < 0.8 * plain);
}

static double weighed_squares(const float *row, const float *importance, const packed_row *packed,
                              size_t columns) {
    double sum = 0;
    for (size_t i = 0; i < columns; i++) {
        double scale = packed->scales[i / packed->weight.group];
        double difference = row[i] - (double)four_bits(packed->values, i) * scale;
        sum += importance[i] * difference * difference;
    }
    return sum;
}

/* Ones are as good as nothing, to the bit; where columns differ, the sum that counts gets smaller.
 */
static void importance_weighs_the_choice_of_scales(void **state) {
    (void)state;
    uint64_t random = 5;
    double ours = 0, alike = 0;
    for (int round = 0; round < 100; round++) {
        float row[128], importance[128], ones[128];
        packed_row plain, same, weighed;
        draw_row(row, 128, &random, 0.02f);
        for (size_t i = 0; i < 128; i++) {
            ones[i] = 1;
            importance[i] = (next_random(&random) & 7) == 0 ? 10 : 0.3f;
        }
        assert_true(pack(&plain, row, CLEF_DTYPE_U8, 128, 64));
        same = weighed = plain;
        assert_true(clef_repack_row(plain.weight, row, ones, same.values, same.scales));
        assert_memory_equal(same.values, plain.values, sizeof plain.values);
        assert_memory_equal(same.scales, plain.scales, sizeof plain.scales);
        assert_true(clef_repack_row(plain.weight, row, importance, weighed.values, weighed.scales));
        alike += weighed_squares(row, importance, &plain, 128);
        ours += weighed_squares(row, importance, &weighed, 128);
    }
    assert_true(ours < 0.95 * alike);
}

/* Weights that are exact multiples stay exact. */
static void exact_values_stay(void **state) {
    (void)state;
    float row[64];
    packed_row packed;
    for (int i = 0; i < 64; i++) {
        row[i] = (float)(i % 16 - 8) * 0.25f;
    }
    assert_true(pack(&packed, row, CLEF_DTYPE_U8, 64, 32));
    for (size_t i = 0; i < 64; i++) {
        assert_true(row[i] == (float)four_bits(packed.values, i) * packed.scales[i / 32]);
    }
}

static void zeros_and_tiny_groups_become_zeros(void **state) {
    (void)state;
    const clef_dtype types[] = {CLEF_DTYPE_I8, CLEF_DTYPE_U8};
    for (size_t t = 0; t < 2; t++) {
        float row[64] = {0};
        float wide[64];
        packed_row packed;
        size_t column;
        row[3] = 1e-40f; /* a scale would be no normal number */
        assert_true(pack(&packed, row, types[t], 64, 32));
        assert_true(packed.scales[0] == 0 && packed.scales[1] == 0);
        clef_weight_widen(packed.weight, 0, 0, 64, wide);
        for (size_t i = 0; i < 64; i++) {
            assert_true(wide[i] == 0);
        }
        assert_true(check(&packed, row, &column));
    }
}

static void the_ends_of_the_range_work(void **state) {
    (void)state;
    const clef_dtype types[] = {CLEF_DTYPE_I8, CLEF_DTYPE_U8};
    const float sizes[] = {FLT_MAX / 2, 127.5f * FLT_MIN};
    for (size_t t = 0; t < 4; t++) {
        float row[32];
        packed_row packed;
        size_t column;
        for (int i = 0; i < 32; i++) {
            row[i] = sizes[t / 2] * (((float)(i % 7) - 3) / 3);
        }
        assert_true(pack(&packed, row, types[t % 2], 32, 32));
        assert_true(isfinite(packed.scales[0]) && packed.scales[0] != 0);
        assert_true(check(&packed, row, &column));
    }
}

static void values_that_are_not_finite_are_refused(void **state) {
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < 4; b++) {
        for (size_t at = 0; at < 40; at += 13) {
            float row[64];
            packed_row packed;
            for (size_t i = 0; i < 64; i++) {
                row[i] = 1;
            }
            row[at] = bad[b];
            assert_false(pack(&packed, row, CLEF_DTYPE_I8, 40, 32));
            assert_false(pack(&packed, row, CLEF_DTYPE_U8, 64, 32));
        }
    }
}

/* Every change of a value by one step, and of a scale, is found, and where. */
static void the_check_finds_what_is_off(void **state) {
    (void)state;
    uint64_t random = 3;
    float row[64];
    packed_row packed;
    size_t column;
    draw_row(row, 64, &random, 1);
    assert_true(pack(&packed, row, CLEF_DTYPE_I8, 64, 32));
    for (size_t i = 0; i < 64; i++) {
        int step = (int8_t)packed.values[i] > 0 ? -1 : 1;
        packed.values[i] = (uint8_t)(packed.values[i] + step);
        assert_false(check(&packed, row, &column));
        assert_int_equal(column, i);
        packed.values[i] = (uint8_t)(packed.values[i] - step);
    }
    packed.scales[1] *= 1.05f;
    assert_false(check(&packed, row, &column));
    assert_true(column >= 32);
    assert_true(pack(&packed, row, CLEF_DTYPE_U8, 64, 32));
    for (size_t i = 0; i < 64; i++) {
        unsigned shift = i % 32 < 16 ? 0 : 4;
        uint8_t *byte = &packed.values[i / 32 * 16 + i % 16];
        uint8_t kept = *byte;
        int value = kept >> shift & 15;
        *byte = (uint8_t)((kept & ~(15 << shift)) | (value > 8 ? value - 1 : value + 1) << shift);
        assert_false(check(&packed, row, &column));
        assert_int_equal(column, i);
        *byte = kept;
    }
    packed.scales[0] = NAN;
    assert_false(check(&packed, row, &column));
    packed.scales[0] = 0;
    assert_false(check(&packed, row, &column));
}

/* The neighbour on the other side may stand in where it was allowed, and nothing farther away. */
static void either_neighbour_passes_where_allowed(void **state) {
    (void)state;
    uint64_t random = 4;
    float row[64], scratch[64];
    packed_row packed;
    size_t column;
    draw_row(row, 64, &random, 1);
    assert_true(pack(&packed, row, CLEF_DTYPE_I8, 64, 64));
    packed.weight.scales = packed.scales;
    for (size_t i = 0; i < 64; i++) {
        uint8_t kept = packed.values[i];
        double place = row[i] / (double)packed.scales[0];
        int other = (int)(place > (int8_t)kept ? floor(place) + 1 : ceil(place) - 1);
        if (other > 127 || other < -127) {
            continue; /* the largest value lies on a step */
        }
        packed.values[i] = (uint8_t)other;
        assert_true(clef_repack_check(packed.weight, CLEF_REPACK_EITHER, 0, row, scratch, &column));
        assert_false(check(&packed, row, &column));
        packed.values[i] = (uint8_t)(other + (other > place ? 1 : -1));
        assert_false(
            clef_repack_check(packed.weight, CLEF_REPACK_EITHER, 0, row, scratch, &column));
        assert_int_equal(column, i);
        packed.values[i] = kept;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_bits_follow_the_rule),
        cmocka_unit_test(four_bits_beat_plain_rounding),
        cmocka_unit_test(importance_weighs_the_choice_of_scales),
        cmocka_unit_test(exact_values_stay),
        cmocka_unit_test(zeros_and_tiny_groups_become_zeros),
        cmocka_unit_test(the_ends_of_the_range_work),
        cmocka_unit_test(values_that_are_not_finite_are_refused),
        cmocka_unit_test(the_check_finds_what_is_off),
        cmocka_unit_test(either_neighbour_passes_where_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
