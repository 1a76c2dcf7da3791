/* Two passes over bytes. Both are written so that a compiler turns their inner loops into vectors:
 * the sums of a stretch of one row stand side by side, and each weight is applied to all of them.
 */
#include "media/resize.h"

#include "base/memory.h"
#include "media/resize_weights.h"
#include "media/wide.h"

#include <string.h>

/* Sums kept side by side: four bytes each, a small part of the first-level cache. */
#define STRETCH 512

static inline uint8_t clamp_to_byte(int32_t sum) {
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* sums[i] += weight · in[i]. Weights of 16 bits have a cheap instruction everywhere. */
CLEF_WIDE_BODY void add_weighted(int32_t *restrict sums, const uint8_t *restrict in, size_t length,
                                 int32_t weight) {
    if (weight == (int16_t)weight) {
        int16_t narrow = (int16_t)weight;
        for (size_t i = 0; i < length; i++) {
            sums[i] += narrow * (int16_t)in[i];
        }
    } else {
        for (size_t i = 0; i < length; i++) {
            sums[i] += weight * in[i];
        }
    }
}

CLEF_WIDE_BODY void store_bytes(const int32_t *restrict sums, uint8_t *restrict out, size_t length,
                                unsigned precision) {
    for (size_t i = 0; i < length; i++) {
        out[i] = clamp_to_byte(sums[i] >> precision);
    }
}

/* [in_height, row] to [out_height, row]. */
CLEF_WIDE_BODY void resize_columns(const uint8_t *in, size_t row,
                                   const clef_resize_weights *weights, uint32_t out_height,
                                   uint8_t *out) {
    int32_t sums[STRETCH];
    int32_t half = 1 << (weights->precision - 1);
    for (uint32_t y = 0; y < out_height; y++) {
        const int32_t *at = weights->weights + y * weights->row;
        for (size_t x = 0; x < row; x += STRETCH) {
            size_t length = row - x < STRETCH ? row - x : STRETCH;
            const uint8_t *from = in + weights->first[y] * row + x;
            for (size_t i = 0; i < length; i++) {
                sums[i] = half;
            }
            for (uint32_t j = 0; j < weights->count[y]; j++) {
                add_weighted(sums, from + j * row, length, at[j]);
            }
            store_bytes(sums, out + y * row + x, length, weights->precision);
        }
    }
}

static CLEF_WIDE void resize_height_wide(const uint8_t *in, size_t row,
                                         const clef_resize_weights *weights, uint32_t out_height,
                                         uint8_t *out) {
    resize_columns(in, row, weights, out_height, out);
}

static void resize_height(const uint8_t *in, size_t row, const clef_resize_weights *weights,
                          uint32_t out_height, uint8_t *out) {
    if (clef_has_wide()) {
        resize_height_wide(in, row, weights, out_height, out);
    } else {
        resize_columns(in, row, weights, out_height, out);
    }
}

/* One row: [in_width, 3] to [out_width, 3]. */
static void resize_row(const uint8_t *in, const clef_resize_weights *weights, uint32_t out_width,
                       uint8_t *out) {
    int32_t half = 1 << (weights->precision - 1);
    for (uint32_t x = 0; x < out_width; x++) {
        const int32_t *at = weights->weights + x * weights->row;
        const uint8_t *from = in + (size_t)weights->first[x] * 3;
        int32_t red = half, green = half, blue = half;
        for (uint32_t j = 0; j < weights->count[x]; j++) {
            red += at[j] * from[3 * j];
            green += at[j] * from[3 * j + 1];
            blue += at[j] * from[3 * j + 2];
        }
        out[3 * (size_t)x] = clamp_to_byte(red >> weights->precision);
        out[3 * (size_t)x + 1] = clamp_to_byte(green >> weights->precision);
        out[3 * (size_t)x + 2] = clamp_to_byte(blue >> weights->precision);
    }
}

static clef_status change_width(clef_picture *picture, uint32_t width, clef_resize_rule rule,
                                clef_error *error) {
    clef_resize_weights weights;
    clef_picture wider;
    clef_status status = clef_resize_weights_create(picture->width, width, rule, &weights, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_picture_create(width, picture->height, &wider, error);
    if (status == CLEF_OK) {
        for (uint32_t y = 0; y < picture->height; y++) {
            resize_row(picture->rgb + (size_t)y * picture->width * 3, &weights, width,
                       wider.rgb + (size_t)y * width * 3);
        }
        clef_picture_release(picture);
        *picture = wider;
    }
    clef_resize_weights_release(&weights);
    return status;
}

static clef_status change_height(clef_picture *picture, uint32_t height, clef_resize_rule rule,
                                 clef_error *error) {
    clef_resize_weights weights;
    clef_picture higher;
    clef_status status = clef_resize_weights_create(picture->height, height, rule, &weights, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_picture_create(picture->width, height, &higher, error);
    if (status == CLEF_OK) {
        resize_height(picture->rgb, (size_t)picture->width * 3, &weights, height, higher.rgb);
        clef_picture_release(picture);
        *picture = higher;
    }
    clef_resize_weights_release(&weights);
    return status;
}

clef_status clef_picture_resize(clef_picture *picture, uint32_t width, uint32_t height,
                                clef_resize_rule rule, clef_error *error) {
    clef_status status = CLEF_OK;
    if (picture->width != width) {
        status = change_width(picture, width, rule, error);
    }
    if (status == CLEF_OK && picture->height != height) {
        status = change_height(picture, height, rule, error);
    }
    return status;
}
