/* Matrix product of bfloat16 inputs and weights in plain C: the chain of a block adds pairs of
 * products, as dot-product instructions do. */
#include "backend/cpu/kernel_table.h"

#define WIDE 16

void clef_round_row_bf16_reference(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint16_t *values = (uint16_t *)rounded->values + row * rounded->stride;
    for (size_t k = 0; k < rounded->stride; k++) {
        values[k] = k < x.columns ? clef_bf16_of_float(x.data[row * x.stride + k]) : 0;
    }
}

/* panel[k][WIDE] = weight rows first … first + WIDE - 1 as bfloat16 values, zero behind the last.
 */
static void unpack_panel(clef_weight weight, size_t first, size_t k_begin, size_t k_count,
                         float *panel) {
    for (size_t n = 0; n < WIDE; n++) {
        float row[CLEF_MATMUL_BLOCK] = {0};
        if (first + n < weight.rows) {
            const char *data = (const char *)weight.data +
                               (first + n) * clef_weight_row_bytes(weight) +
                               k_begin * clef_dtype_bytes(weight.dtype);
            clef_widen(weight.dtype, data, k_count, row);
        }
        for (size_t k = 0; k < k_count; k++) {
            panel[k * WIDE + n] = clef_float_of_bf16(clef_bf16_of_float(row[k]));
        }
    }
}

static void multiply_row(const uint16_t *x, const float *panel, size_t k_count, float *sums) {
    float chain[WIDE] = {0};
    for (size_t k = 0; k < k_count; k += 2) {
        float even = clef_float_of_bf16(x[k]);
        float odd = k + 1 < k_count ? clef_float_of_bf16(x[k + 1]) : 0;
        const float *w = panel + k * WIDE;
        for (size_t n = 0; n < WIDE; n++) {
            /* A product of two bfloat16 values is exact in fp32. */
            float second = k + 1 < k_count ? odd * w[WIDE + n] : 0;
            chain[n] += second + even * w[n];
        }
    }
    memcpy(sums, chain, sizeof chain);
}

void clef_matmul_bf16_reference(const clef_matmul *product, size_t begin, size_t end,
                                void *scratch) {
    size_t depth = product->weight.columns;
    for (size_t first = begin; first < end; first += WIDE) {
        size_t width = end - first < WIDE ? end - first : WIDE;
        for (size_t k = 0; k < depth; k += CLEF_MATMUL_BLOCK) {
            size_t k_count = depth - k < CLEF_MATMUL_BLOCK ? depth - k : CLEF_MATMUL_BLOCK;
            bool is_last = k + k_count == depth;
            unpack_panel(product->weight, first, k, k_count, scratch);
            for (size_t row = 0; row < product->x.rows; row++) {
                float *y = product->y.data + row * product->y.stride + first;
                const uint16_t *x =
                    (const uint16_t *)product->rounded.values + row * product->rounded.stride + k;
                float sums[WIDE];
                multiply_row(x, scratch, k_count, sums);
                for (size_t n = 0; n < width; n++) {
                    y[n] = k == 0 ? sums[n] : y[n] + sums[n];
                    y[n] += is_last && product->bias != NULL ? product->bias[first + n] : 0;
                }
            }
        }
    }
}
