/* Matrix product of int8 inputs with int8 or 4-bit weights in plain C: exact integer sums inside a
 * group, times the weight's scale, added over the groups of a block; times the input's scale. */
#include "backend/cpu/kernel_table.h"

#include <math.h>

#define ZERO 128 /* of the stored inputs */

void clef_round_row_int8_reference(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    uint8_t *values = (uint8_t *)rounded->values + row * rounded->stride;
    const float *from = x.data + row * x.stride;
    memset(values, ZERO, rounded->stride);
    for (size_t block = 0; block < rounded->blocks; block++) {
        size_t begin = block * CLEF_MATMUL_BLOCK;
        size_t left = x.columns - begin;
        size_t end = begin + (left < CLEF_MATMUL_BLOCK ? left : CLEF_MATMUL_BLOCK);
        float largest = 0;
        for (size_t k = begin; k < end; k++) {
            largest = fmaxf(largest, fabsf(from[k]));
        }
        rounded->scales[row * rounded->blocks + block] = largest / 127.0f;
        float factor = largest > 0 ? 127.0f / largest : 0;
        for (size_t k = begin; k < end; k++) {
            values[k] = (uint8_t)(ZERO + (int)rintf(from[k] * factor));
        }
    }
}

static int weight_at(clef_weight weight, size_t row, size_t k) {
    const uint8_t *data = (const uint8_t *)weight.data + row * clef_weight_row_bytes(weight);
    if (weight.dtype == CLEF_DTYPE_I8) {
        return (int8_t)data[k];
    }
    uint8_t byte = data[k / 32 * 16 + k % 16];
    return (k % 32 < 16 ? byte & 15 : byte >> 4) - 8;
}

/* One chain over the groups of a block. */
static float multiply_block(const clef_matmul *product, size_t row, size_t n, size_t k_begin,
                            size_t k_end) {
    const clef_rounded_rows *rounded = &product->rounded;
    clef_weight weight = product->weight;
    const float *scales = weight.scales + n * clef_weight_groups(weight);
    const uint8_t *x = (const uint8_t *)rounded->values + row * rounded->stride;
    float chain = 0;
    for (size_t begin = k_begin; begin < k_end; begin += weight.group) {
        size_t end = k_end - begin < weight.group ? k_end : begin + weight.group;
        int32_t sum = 0;
        for (size_t k = begin; k < end; k++) {
            sum += ((int)x[k] - ZERO) * weight_at(weight, n, k);
        }
        chain += (float)sum * scales[begin / weight.group];
    }
    return chain * rounded->scales[row * rounded->blocks + k_begin / CLEF_MATMUL_BLOCK];
}

void clef_matmul_int8_reference(const clef_matmul *product, size_t begin, size_t end,
                                void *scratch) {
    (void)scratch;
    size_t depth = product->weight.columns;
    for (size_t n = begin; n < end; n++) {
        for (size_t row = 0; row < product->x.rows; row++) {
            float *y = product->y.data + row * product->y.stride + n;
            for (size_t k = 0; k < depth; k += CLEF_MATMUL_BLOCK) {
                size_t k_end = depth - k < CLEF_MATMUL_BLOCK ? depth : k + CLEF_MATMUL_BLOCK;
                float sum = multiply_block(product, row, n, k, k_end);
                *y = k == 0 ? sum : *y + sum;
            }
            *y += product->bias == NULL ? 0 : product->bias[n];
        }
    }
}
