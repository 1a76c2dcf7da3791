/* Short convolution on vectors of channels: the body of short_convolution_<level>.c, behind that
 * level's vector_<level>.h. Taps of a vector of channels are gathered once, then time runs. */
#include "backend/cpu/kernels/vector/vector_math.h"

#define TAP_LIMIT 16 /* of the configuration */

/* Input row at time t of the slice; negative times are in the tail. */
static const float *input_row(const clef_short_convolution *slice, ptrdiff_t t) {
    if (t >= 0) {
        return slice->x.data + (size_t)t * slice->x.stride;
    }
    return slice->tail + (size_t)(t + (ptrdiff_t)slice->taps - 1) * slice->x.columns;
}

static void convolve_channels(const clef_short_convolution *slice, size_t c, vec_mask mask,
                              size_t count) {
    ptrdiff_t taps = (ptrdiff_t)slice->taps;
    vec weights[TAP_LIMIT];
    for (ptrdiff_t j = 0; j < taps; j++) {
        float column[LANES] = {0};
        for (size_t lane = 0; lane < count; lane++) {
            column[lane] = slice->weight[(c + lane) * slice->taps + (size_t)j];
        }
        weights[j] = vec_load(column);
    }
    for (ptrdiff_t t = 0; t < (ptrdiff_t)slice->x.rows; t++) {
        vec sum = vec_zero();
        for (ptrdiff_t j = 0; j < taps; j++) {
            const float *row = input_row(slice, t - taps + 1 + j);
            sum = vec_fma(weights[j], vec_load_mask(mask, row + c), sum);
        }
        vec_store_mask(mask, slice->out.data + (size_t)t * slice->out.stride + c,
                       vec_mul(sum, vec_sigmoid(sum)));
    }
    /* Oldest first: each row moves up before the place it came from is overwritten. */
    for (ptrdiff_t row = 0; row < taps - 1; row++) {
        const float *from = input_row(slice, (ptrdiff_t)slice->x.rows - taps + 1 + row);
        vec_store_mask(mask, slice->tail + (size_t)row * slice->x.columns + c,
                       vec_load_mask(mask, from + c));
    }
}

static void convolve(const clef_short_convolution *slice, size_t begin, size_t end) {
    for (size_t c = begin; c < end; c += LANES) {
        size_t left = end - c;
        convolve_channels(slice, c, vec_first(left), left < LANES ? left : LANES);
    }
}
