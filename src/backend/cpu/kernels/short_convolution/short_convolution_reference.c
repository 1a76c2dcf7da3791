/* Short convolution in plain C. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

/* Input of channel c at time t of the slice; negative times are in the tail. */
static float input_at(const clef_short_convolution *slice, ptrdiff_t t, size_t c) {
    if (t >= 0) {
        return slice->x.data[(size_t)t * slice->x.stride + c];
    }
    size_t row = (size_t)(t + (ptrdiff_t)slice->taps - 1);
    return slice->tail[row * slice->x.columns + c];
}

void clef_short_convolution_reference(const clef_short_convolution *slice, size_t begin,
                                      size_t end) {
    ptrdiff_t taps = (ptrdiff_t)slice->taps;
    ptrdiff_t rows = (ptrdiff_t)slice->x.rows;
    for (size_t c = begin; c < end; c++) {
        for (ptrdiff_t t = 0; t < rows; t++) {
            double sum = 0;
            for (ptrdiff_t j = 0; j < taps; j++) {
                sum += (double)slice->weight[c * slice->taps + (size_t)j] *
                       input_at(slice, t - taps + 1 + j, c);
            }
            slice->out.data[(size_t)t * slice->out.stride + c] = (float)(sum / (1 + exp(-sum)));
        }
        /* Oldest first: each row moves up before the place it came from is overwritten. */
        for (ptrdiff_t row = 0; row < taps - 1; row++) {
            slice->tail[(size_t)row * slice->x.columns + c] =
                input_at(slice, rows - taps + 1 + row, c);
        }
    }
}
