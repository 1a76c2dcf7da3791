/* Resizing against sums written out plainly, against rows of the description, and the rule of
 * Pillow against what Pillow made. The rule of torch is also held by the pictures of the parity
 * suite. */
#include "drawn_pictures.h"

#include "base/digest.h"
#include "base/memory.h"
#include "media/resize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A picture whose three colours hold the same row. */
static clef_picture row_picture(const uint8_t *row, uint32_t width) {
    clef_error error = {0};
    clef_picture picture;
    assert_ok(clef_picture_create(width, 1, &picture, &error), &error);
    for (uint32_t i = 0; i < width * 3; i++) {
        picture.rgb[i] = row[i / 3];
    }
    return picture;
}

static void the_row_of_the_description(void **state) {
    (void)state;
    static const uint8_t row[8] = {0, 255, 10, 200, 30, 90, 250, 5};
    static const uint8_t to_3[] = {114, 102, 122};
    static const uint8_t to_5[] = {105, 116, 102, 124, 108};
    static const uint8_t to_16[] = {0,  54, 215, 219, 52,  35,  168, 177,
                                    65, 26, 63,  132, 236, 207, 55,  0};
    const struct {
        const uint8_t *expected;
        uint32_t width;
    } cases[] = {{to_3, 3}, {to_5, 5}, {to_16, 16}, {row, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int rule = 0; rule < 2; rule++) {
            clef_error error = {0};
            clef_picture picture = row_picture(row, 8);
            assert_ok(
                clef_picture_resize(&picture, cases[i].width, 1, (clef_resize_rule)rule, &error),
                &error);
            for (uint32_t x = 0; x < cases[i].width * 3; x++) {
                assert_int_equal(picture.rgb[x], cases[i].expected[x / 3]);
            }
            clef_picture_release(&picture);
        }
    }
}

/* ---- the sums written out ------------------------------------------------------------------- */

static double keys(double x) {
    x = fabs(x);
    return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* One output of one line of bytes that stand `stride` apart. */
static uint8_t resize_one(const uint8_t *line, size_t stride, int in, int out, int i,
                          int precision) {
    double scale = (double)in / out, stretch = scale > 1 ? scale : 1, center = scale * (i + 0.5);
    double weights[512], total = 0;
    int first = (int)(center - 2 * stretch + 0.5), end = (int)(center + 2 * stretch + 0.5);
    first = first < 0 ? 0 : first;
    end = end > in ? in : end;
    for (int j = first; j < end; j++) {
        weights[j - first] = keys((j - center + 0.5) * (1 / stretch));
        total += weights[j - first];
    }
    int64_t sum = INT64_C(1) << (precision - 1);
    for (int j = first; j < end; j++) {
        double weight = weights[j - first] / total * (double)(1 << precision);
        sum += (int)(weight + (weight < 0 ? -0.5 : 0.5)) * (int64_t)line[j * stride];
    }
    sum = sum < 0 ? 0 : sum >> precision;
    return (uint8_t)(sum > 255 ? 255 : sum);
}

/* The largest weight of an axis decides how many bits a weight gets. */
static int find_precision(int in, int out, clef_resize_rule rule) {
    double largest = 0;
    for (int i = 0; i < out; i++) {
        double scale = (double)in / out, stretch = scale > 1 ? scale : 1;
        double center = scale * (i + 0.5), total = 0, most = 0;
        int first = (int)fmax(center - 2 * stretch + 0.5, 0);
        int end = (int)fmin(center + 2 * stretch + 0.5, in);
        for (int j = first; j < end; j++) {
            double weight = keys((j - center + 0.5) * (1 / stretch));
            total += weight;
            most = fmax(most, weight);
        }
        largest = fmax(largest, most / total);
    }
    int precision = 22;
    while (rule == CLEF_RESIZE_TORCH && (int)(0.5 + largest * (1 << precision)) >= 1 << 15) {
        precision--;
    }
    return precision;
}

static void check_against_sums(uint32_t width, uint32_t height, uint32_t new_width,
                               uint32_t new_height, clef_resize_rule rule, uint64_t *seed) {
    clef_error error = {0};
    clef_picture picture;
    assert_ok(clef_picture_create(width, height, &picture, &error), &error);
    for (size_t i = 0; i < (size_t)width * height * 3; i++) {
        /* Many extremes, so that sums pass both ends. */
        uint32_t random = next_random(seed);
        picture.rgb[i] = (uint8_t)((random & 3) == 0 ? 0 : (random & 3) == 1 ? 255 : random >> 8);
    }
    uint8_t *wide = malloc((size_t)new_width * height * 3 + 1);
    int across = find_precision((int)width, (int)new_width, rule);
    int down = find_precision((int)height, (int)new_height, rule);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < new_width * 3; x++) {
            const uint8_t *line = picture.rgb + (size_t)y * width * 3 + x % 3;
            wide[(size_t)y * new_width * 3 + x] =
                width == new_width
                    ? line[x / 3 * 3]
                    : resize_one(line, 3, (int)width, (int)new_width, (int)x / 3, across);
        }
    }
    assert_ok(clef_picture_resize(&picture, new_width, new_height, rule, &error), &error);
    assert_int_equal(picture.width, new_width);
    assert_int_equal(picture.height, new_height);
    for (uint32_t y = 0; y < new_height; y++) {
        for (uint32_t x = 0; x < new_width * 3; x++) {
            size_t stride = (size_t)new_width * 3;
            uint8_t expected = height == new_height ? wide[y * stride + x]
                                                    : resize_one(wide + x, stride, (int)height,
                                                                 (int)new_height, (int)y, down);
            if (picture.rgb[y * stride + x] != expected) {
                fail_msg("%ux%u to %ux%u, rule %d, row %u, byte %u: %u, expected %u", width, height,
                         new_width, new_height, (int)rule, y, x, picture.rgb[y * stride + x],
                         expected);
            }
        }
    }
    free(wide);
    clef_picture_release(&picture);
}

static void c05_any_size_equals_the_sums(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 120; round++) {
        clef_resize_rule rule = round % 2 == 0 ? CLEF_RESIZE_TORCH : CLEF_RESIZE_PILLOW;
        uint32_t sides[4];
        for (size_t i = 0; i < 4; i++) {
            sides[i] = 1 + next_random(&seed) % (round % 3 == 0 ? 9 : 130);
        }
        check_against_sums(sides[0], sides[1], sides[2], sides[3], rule, &seed);
    }
    /* A row longer than what is summed at once, and a column shrunk until weights are tiny. */
    check_against_sums(700, 5, 700, 8, CLEF_RESIZE_TORCH, &seed);
    check_against_sums(3, 240, 3, 1, CLEF_RESIZE_TORCH, &seed);
    check_against_sums(240, 2, 2, 32, CLEF_RESIZE_TORCH, &seed);
}

/* ---- Pillow --------------------------------------------------------------------------------- */

static void check_pillow(void *context, size_t number, clef_text line) {
    (void)number;
    clef_arena arena = {0};
    clef_error error = {0};
    const clef_json *row = parse_json(line, &arena);
    uint64_t old_height = 0, old_width = 0, height = 0, width = 0;
    const clef_json *old = member(row, "old"), *new = member(row, "new");
    assert_true(clef_json_unsigned(old->first, &old_height) &&
                clef_json_unsigned(old->first->next, &old_width) &&
                clef_json_unsigned(new->first, &height) &&
                clef_json_unsigned(new->first->next, &width));
    clef_picture picture;
    assert_ok(clef_picture_create((uint32_t)old_width, (uint32_t)old_height, &picture, &error),
              &error);
    uint8_t *to = picture.rgb;
    for (uint64_t y = 0; y < old_height; y++) {
        for (uint64_t x = 0; x < old_width; x++) {
            for (uint64_t c = 0; c < 3; c++) {
                *to++ = (uint8_t)((x * 37 + y * 101 + c * 59 + x * y * (c + 3) / 2 +
                                   (x * x / 7) * (y * y / 11)) %
                                  256);
            }
        }
    }
    assert_ok(clef_picture_resize(&picture, (uint32_t)width, (uint32_t)height, CLEF_RESIZE_PILLOW,
                                  &error),
              &error);
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_SHA256);
    clef_digest_add(&state, picture.rgb, (size_t)(width * height * 3));
    clef_digest digest = clef_digest_finish(&state);
    for (size_t i = 0; i < CLEF_DIGEST_BYTES; i++) {
        char text[3];
        snprintf(text, sizeof text, "%02x", digest.bytes[i]);
        assert_memory_equal(text, member(row, "sha256")->text.bytes + 2 * i, 2);
    }
    clef_picture_release(&picture);
    clef_arena_release(&arena);
    *(size_t *)context += 1;
}

static void the_other_rule_equals_pillow(void **state) {
    (void)state;
    size_t count = 0;
    for_each_line(fixture("media/pillow-resize.jsonl"), check_pillow, &count);
    assert_int_equal(count, 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_row_of_the_description),
        cmocka_unit_test(c05_any_size_equals_the_sums),
        cmocka_unit_test(the_other_rule_equals_pillow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
