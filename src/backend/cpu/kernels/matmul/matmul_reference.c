/* Matrix product in plain C: a panel of 16 weight rows is widened and laid out [k][16], so that the
 * sixteen outputs of a row sit side by side and the compiler may compute them as vectors. */
#include "backend/cpu/kernel_table.h"

#define WIDE 16

/* panel[k][WIDE] = widened weight rows first … first + WIDE - 1, zero behind the last. */
static void unpack_panel(clef_weight weight, size_t first, size_t k_begin, size_t k_count,
                         float *panel) {
    size_t element = clef_dtype_bytes(weight.dtype);
    for (size_t n = 0; n < WIDE; n++) {
        float row[CLEF_MATMUL_BLOCK] = {0};
        if (first + n < weight.rows) {
            size_t offset = ((first + n) * weight.columns + k_begin) * element;
            clef_widen(weight.dtype, (const char *)weight.data + offset, k_count, row);
        }
        for (size_t k = 0; k < k_count; k++) {
            panel[k * WIDE + n] = row[k];
        }
    }
}

/* sums[WIDE] = one chain of multiply-adds per output over a block. */
static void multiply_row(const float *restrict x, const float *restrict panel, size_t k_count,
                         float *restrict sums) {
    float chain[WIDE] = {0};
    for (size_t k = 0; k < k_count; k++) {
        for (size_t n = 0; n < WIDE; n++) {
            chain[n] += x[k] * panel[k * WIDE + n];
        }
    }
    memcpy(sums, chain, sizeof chain);
}

void clef_matmul_reference(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    size_t depth = product->weight.columns;
    float *panel = scratch;
    for (size_t first = begin; first < end; first += WIDE) {
        size_t width = end - first < WIDE ? end - first : WIDE;
        for (size_t k_begin = 0; k_begin < depth; k_begin += CLEF_MATMUL_BLOCK) {
            size_t k_left = depth - k_begin;
            size_t k_count = k_left < CLEF_MATMUL_BLOCK ? k_left : CLEF_MATMUL_BLOCK;
            unpack_panel(product->weight, first, k_begin, k_count, panel);
            for (size_t row = 0; row < product->x.rows; row++) {
                float *y = product->y.data + row * product->y.stride + first;
                float sums[WIDE];
                multiply_row(product->x.data + row * product->x.stride + k_begin, panel, k_count,
                             sums);
                for (size_t n = 0; n < width; n++) {
                    y[n] = k_begin == 0 ? sums[n] : y[n] + sums[n];
                }
            }
        }
        for (size_t row = 0; product->bias != NULL && row < product->x.rows; row++) {
            float *y = product->y.data + row * product->y.stride + first;
            for (size_t n = 0; n < width; n++) {
                y[n] += product->bias[first + n];
            }
        }
    }
}
