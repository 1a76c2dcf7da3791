/* Plain loops over eight lanes at a time, which any compiler turns into vectors: sums and maxima
 * are kept a lane and joined at the end, so the result does not hang on the compiler. Nearest whole
 * numbers come from adding a constant beyond which floats have no fraction. */
#include "weights/repack.h"

#include <float.h>
#include <math.h>

#define LANES 8
#define BLOCK 32 /* columns of a block of the layout */
/* 1.5 · 2^23: added and subtracted again, rounds to nearest, ties to even. */
#define ROUNDER 12582912.0f
/* Scales tried, as the number that the largest value of the group becomes, in either sign: seven
 * cuts nothing off, nine does for the sake of the others. Finer steps or a wider range gain less
 * than one part in a hundred of the squared error. */
#define TRIAL_FIRST 7.0f
#define TRIAL_STEP  0.5f
#define TRIAL_COUNT 5
/* No value of a 4-bit group may be off by more than this part of the largest. */
#define CLIP_LIMIT 0.25f

/* Bits of the largest absolute value; not finite ones are above 0x7F7FFFFF. */
static int32_t largest_bits(const float *x, size_t count) {
    int32_t lanes[LANES] = {0};
    int32_t largest = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        int32_t bits[LANES];
        memcpy(bits, x + i, sizeof bits);
        for (size_t j = 0; j < LANES; j++) {
            int32_t magnitude = bits[j] & 0x7FFFFFFF;
            lanes[j] = magnitude > lanes[j] ? magnitude : lanes[j];
        }
    }
    for (; i < count; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7FFFFFFF;
        largest = bits > largest ? bits : largest;
    }
    for (size_t j = 0; j < LANES; j++) {
        largest = lanes[j] > largest ? lanes[j] : largest;
    }
    return largest;
}

static bool find_largest(const float *x, size_t count, float *largest) {
    int32_t bits = largest_bits(x, count);
    memcpy(largest, &bits, sizeof *largest);
    return bits < 0x7F800000;
}

static float clamp(float value, float low, float high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

/* ---- eight bits ---- */

static void pack_int8(const float *x, size_t count, float largest, int8_t *values, float *scale) {
    *scale = largest / 127.0f;
    if (*scale < FLT_MIN) {
        *scale = 0;
        memset(values, 0, count);
        return;
    }
    float divisor = *scale;
    for (size_t i = 0; i < count; i++) {
        float nearest = x[i] / divisor + ROUNDER - ROUNDER;
        values[i] = (int8_t)(int)clamp(nearest, -127.0f, 127.0f);
    }
}

/* ---- four bits ---- */

static float nearest_of_four_bits(float x, float inverse) {
    return clamp(x * inverse + ROUNDER - ROUNDER, -8.0f, 7.0f);
}

/* Joins lanes pairwise: the same order of additions for every compiler. */
static float add_lanes(const float *lanes) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/* A group on the way to 4 bits. Squared errors count as much as their column is important; an
 * importance of 1 changes no digit. */
typedef struct group {
    const float *x;          /* [count], the largest near 1 */
    const float *importance; /* [count] */
    size_t count;
    float largest;
} group;

/* Adds the weighed squared errors of a block of 32 values to eight sums. */
static void add_squares(const float *restrict x, const float *restrict importance, float scale,
                        float *restrict sums) {
    float squares[BLOCK];
    float inverse = 1.0f / scale;
    for (size_t i = 0; i < BLOCK; i++) {
        float difference = x[i] - nearest_of_four_bits(x[i], inverse) * scale;
        squares[i] = difference * difference * importance[i];
    }
    for (size_t i = 0; i < BLOCK; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            sums[j] += squares[i + j];
        }
    }
}

static float sum_squares(const group *of, float scale) {
    float sums[LANES] = {0};
    for (size_t i = 0; i < of->count; i += BLOCK) {
        add_squares(of->x + i, of->importance + i, scale, sums);
    }
    return add_lanes(sums);
}

/* No value is off by more than a group allows. */
static bool is_within(const group *of, float scale) {
    float limit = CLIP_LIMIT * of->largest;
    bool is_off = false;
    for (size_t i = 0; i < of->count; i++) {
        float x = of->x[i];
        is_off |= fabsf(x - nearest_of_four_bits(x, 1.0f / scale) * scale) > limit;
    }
    return !is_off;
}

/* The scale that fits the values of another one best: Σ x·q / Σ q², each by its
 * importance. */
static float fit_scale(const group *of, float scale) {
    float products[LANES] = {0};
    float squares[LANES] = {0};
    float inverse = 1.0f / scale;
    for (size_t i = 0; i < of->count; i += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            float x = of->x[i + j];
            float q = nearest_of_four_bits(x, inverse);
            float weighed = q * of->importance[i + j];
            products[j] += x * weighed;
            squares[j] += q * weighed;
        }
    }
    return add_lanes(products) / add_lanes(squares);
}

/* A trial cuts off two ninths of the largest value at most; the fit may cut off more, and is then
 * left alone. */
static float choose_scale(const group *of) {
    float best = of->largest / 8.0f;
    float best_error = INFINITY;
    for (int i = 0; i < 2 * TRIAL_COUNT; i++) {
        float steps = TRIAL_FIRST + TRIAL_STEP * (float)(i / 2);
        float scale = of->largest / (i % 2 == 0 ? -steps : steps);
        float error = sum_squares(of, scale);
        best = error < best_error ? scale : best;
        best_error = error < best_error ? error : best_error;
    }
    float fitted = fit_scale(of, best);
    bool is_better = sum_squares(of, fitted) < best_error;
    return is_better && is_within(of, fitted) ? fitted : best;
}

/* Two halves of 32 columns share bytes; see tensor/matrix.h. */
static void pack_block(const float *x, float inverse, uint8_t bytes[16]) {
    for (size_t i = 0; i < 16; i++) {
        unsigned low = (unsigned)(int)(nearest_of_four_bits(x[i], inverse) + 8.0f);
        unsigned high = (unsigned)(int)(nearest_of_four_bits(x[i + 16], inverse) + 8.0f);
        bytes[i] = (uint8_t)(low | high << 4);
    }
}

/* Groups are multiples of 32 columns, and so is the row. */
static void pack_int4(const float *x, const float *importance, size_t count, float largest,
                      uint8_t *bytes, float *scale) {
    if (largest / 127.0f < FLT_MIN) {
        *scale = 0;
        memset(bytes, 0x88, count / 2);
        return;
    }
    /* Squares of values near the ends of the range of floats would vanish or overflow, so the group
     * is brought near 1 by a power of two, which changes no digit. */
    float near[CLEF_REPACK_INT4_GROUP_LIMIT];
    float counts[CLEF_REPACK_INT4_GROUP_LIMIT];
    int exponent;
    largest = frexpf(largest, &exponent);
    float factor = ldexpf(1.0f, -exponent);
    for (size_t i = 0; i < count; i++) {
        near[i] = x[i] * factor;
        counts[i] = importance == NULL ? 1.0f : importance[i];
    }
    float chosen = choose_scale(&(group){near, counts, count, largest});
    for (size_t i = 0; i < count; i += 32) {
        pack_block(near + i, 1.0f / chosen, bytes + i / 2);
    }
    *scale = ldexpf(chosen, exponent);
}

/* ---- rows ---- */

/* Columns of group g. */
static size_t group_columns(clef_weight weight, size_t g) {
    size_t left = weight.columns - g * weight.group;
    return left < weight.group ? left : weight.group;
}

bool clef_repack_row(clef_weight weight, const float *row, const float *importance, void *values,
                     float *scales) {
    size_t groups = clef_weight_groups(weight);
    bool is_finite = true;
    for (size_t g = 0; g < groups; g++) {
        size_t begin = g * weight.group;
        size_t count = group_columns(weight, g);
        float largest;
        if (!find_largest(row + begin, count, &largest)) {
            is_finite = false;
        } else if (weight.dtype == CLEF_DTYPE_I8) {
            pack_int8(row + begin, count, largest, (int8_t *)values + begin, &scales[g]);
        } else {
            const float *counts = importance == NULL ? NULL : importance + begin;
            pack_int4(row + begin, counts, count, largest, (uint8_t *)values + begin / 2,
                      &scales[g]);
        }
    }
    return is_finite;
}

static bool is_near(clef_weight weight, clef_repack_rounding rounding, float source, float stored,
                    float scale, float largest) {
    double difference = fabs((double)source - stored);
    double step = fabs((double)scale);
    if (step == 0) {
        return difference <= 0x1p-119 && stored == 0;
    }
    double slack = step * 0x1p-14;
    if (difference <= (rounding == CLEF_REPACK_NEAREST ? step / 2 : step) + slack) {
        return true;
    }
    if (weight.dtype == CLEF_DTYPE_I8) {
        return false;
    }
    /* Cut off at an end of the range, which lies between the value and zero. */
    double q = stored / (double)scale;
    bool is_end = source / (double)scale < 0 ? q < -7.5 : q > 6.5;
    return is_end && fabs((double)source) > fabs((double)stored) &&
           difference <= (double)CLIP_LIMIT * largest + slack;
}

bool clef_repack_check(clef_weight weight, clef_repack_rounding rounding, size_t row,
                       const float *source, float *scratch, size_t *column) {
    const float *scales = weight.scales + row * clef_weight_groups(weight);
    clef_weight_widen(weight, row, 0, weight.columns, scratch);
    for (size_t g = 0; g < clef_weight_groups(weight); g++) {
        size_t begin = g * weight.group;
        size_t count = group_columns(weight, g);
        float largest;
        bool is_finite = find_largest(source + begin, count, &largest);
        for (size_t i = begin; i < begin + count; i++) {
            if (!is_finite ||
                !is_near(weight, rounding, source[i], scratch[i], scales[g], largest)) {
                *column = i;
                return false;
            }
        }
    }
    return true;
}
