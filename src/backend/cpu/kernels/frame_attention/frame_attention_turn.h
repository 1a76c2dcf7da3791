/* The end of attention on vectors whose lanes are queries: totals turned back into rows. Included
 * behind a level's vector_<level>.h. */
#ifndef CLEF_KERNELS_FRAME_ATTENTION_TURN_H
#define CLEF_KERNELS_FRAME_ATTENTION_TURN_H

/* totals [size, totals_stride] and sums [totals_stride] of some queries, in memory up to whole
 * vectors; out [rows, size]. */
typedef struct frame_totals {
    const float *totals, *sums;
    size_t totals_stride;
    size_t rows, size;
    float *out;
    size_t out_stride;
} frame_totals;

/* out[i, n] = totals[n, i] / sums[i]. */
static void turn_back(const frame_totals *t) {
    for (size_t i = 0; i < t->rows; i += LANES) {
        vec factor = vec_div(vec_set(1.0f), vec_load(t->sums + i));
        size_t rows = t->rows - i < LANES ? t->rows - i : LANES;
        for (size_t n = 0; n < t->size; n += LANES) {
            vec square[LANES];
            for (size_t k = 0; k < LANES; k++) {
                square[k] =
                    n + k < t->size
                        ? vec_mul(factor, vec_load(t->totals + (n + k) * t->totals_stride + i))
                        : vec_zero();
            }
            vec_transpose(square);
            vec_mask mask = vec_first(t->size - n);
            for (size_t r = 0; r < rows; r++) {
                vec_store_mask(mask, t->out + (i + r) * t->out_stride + n, square[r]);
            }
        }
    }
}

#endif
