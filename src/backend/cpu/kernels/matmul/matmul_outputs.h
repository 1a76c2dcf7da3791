/* Where the sums of a tile go, shared by the products of every arithmetic: included behind a
 * level's vector_<level>.h. A tile is some rows × 2·LANES outputs of one block of k. */
#ifndef CLEF_KERNELS_MATMUL_OUTPUTS_H
#define CLEF_KERNELS_MATMUL_OUTPUTS_H

#include <stdbool.h>

#define WIDE (2 * LANES)

typedef struct tile_outputs {
    float *y; /* first row, at the panel's first output */
    size_t y_stride;
    vec_mask low, high; /* outputs that exist */
    bool is_first;      /* block: y is set, not added to */
    const float *bias;  /* added behind the last block, or NULL */
} tile_outputs;

/* Outputs [first, min(first + WIDE, end)) of the block of k from k on; y is set row by row. */
static inline tile_outputs outputs_of(const clef_matmul *product, size_t first, size_t end,
                                      size_t k, bool is_last) {
    size_t width = end - first;
    return (tile_outputs){.y_stride = product->y.stride,
                          .low = vec_first(width),
                          .high = vec_first(width > LANES ? width - LANES : 0),
                          .is_first = k == 0,
                          .bias = is_last && product->bias != NULL ? product->bias + first : NULL};
}

/* Block sums into y: set or added, then the bias. */
static inline void finish_output(const tile_outputs *o, vec_mask mask, float *y, const float *bias,
                                 vec sum) {
    if (!o->is_first) {
        sum = vec_add(vec_load_mask(mask, y), sum);
    }
    if (bias != NULL) {
        sum = vec_add(sum, vec_load_mask(mask, bias));
    }
    vec_store_mask(mask, y, sum);
}

/* The two vectors of sums of row `row` of the tile. */
static inline __attribute__((always_inline)) void finish_row(const tile_outputs *o, size_t row,
                                                             vec low, vec high) {
    float *y = o->y + row * o->y_stride;
    finish_output(o, o->low, y, o->bias, low);
    finish_output(o, o->high, y + LANES, o->bias == NULL ? NULL : o->bias + LANES, high);
}

#endif
