/* Short convolution on vectors of channels: the body of short_convolution_<level>.c, behind that
 * level's vector_<level>.h. Time runs outside, channels inside, as the rows lie in memory: the rows
 * of the last taps stay in the first-level cache. */
#include "backend/cpu/kernels/vector/vector_math.h"

#define TAP_LIMIT     16 /* of the configuration */
#define CHANNEL_LIMIT 256

/* Weights of some channels, tap by tap. */
typedef struct channel_taps {
    float weights[TAP_LIMIT][CHANNEL_LIMIT];
} channel_taps;

/* Input row at time t of the slice; negative times are in the tail. */
static const float *input_row(const clef_short_convolution *slice, ptrdiff_t t) {
    if (t >= 0) {
        return slice->x.data + (size_t)t * slice->x.stride;
    }
    return slice->tail + (size_t)(t + (ptrdiff_t)slice->taps - 1) * slice->x.columns;
}

static void gather_taps(const clef_short_convolution *slice, size_t begin, size_t count,
                        channel_taps *to) {
    for (size_t c = 0; c < count; c++) {
        for (size_t j = 0; j < slice->taps; j++) {
            to->weights[j][c] = slice->weight[(begin + c) * slice->taps + j];
        }
    }
}

/* out = silu(Σ_j weight_j · x at t - taps + 1 + j), channels [begin, begin + count). */
static void convolve_row(const clef_short_convolution *slice, ptrdiff_t t, size_t begin,
                         size_t count, const channel_taps *taps) {
    const float *rows[TAP_LIMIT];
    for (size_t j = 0; j < slice->taps; j++) {
        rows[j] = input_row(slice, t - (ptrdiff_t)slice->taps + 1 + (ptrdiff_t)j) + begin;
    }
    float *out = slice->out.data + (size_t)t * slice->out.stride + begin;
    for (size_t c = 0; c < count; c += LANES) {
        vec_mask mask = vec_first(count - c);
        vec sum = vec_zero();
        for (size_t j = 0; j < slice->taps; j++) {
            sum = vec_fma(vec_load_mask(mask, taps->weights[j] + c),
                          vec_load_mask(mask, rows[j] + c), sum);
        }
        vec_store_mask(mask, out + c, vec_mul(sum, vec_sigmoid(sum)));
    }
}

/* Oldest first: each row moves up before the place it came from is overwritten. */
static void keep_tail(const clef_short_convolution *slice, size_t begin, size_t count) {
    for (size_t row = 0; row + 1 < slice->taps; row++) {
        ptrdiff_t t = (ptrdiff_t)slice->x.rows - (ptrdiff_t)slice->taps + 1 + (ptrdiff_t)row;
        memmove(slice->tail + row * slice->x.columns + begin, input_row(slice, t) + begin,
                count * sizeof(float));
    }
}

static void convolve(const clef_short_convolution *slice, size_t begin, size_t end) {
    channel_taps taps;
    for (size_t c = begin; c < end; c += CHANNEL_LIMIT) {
        size_t count = end - c < CHANNEL_LIMIT ? end - c : CHANNEL_LIMIT;
        gather_taps(slice, c, count, &taps);
        for (size_t t = 0; t < slice->x.rows; t++) {
            convolve_row(slice, (ptrdiff_t)t, c, count, &taps);
        }
        keep_tail(slice, c, count);
    }
}
