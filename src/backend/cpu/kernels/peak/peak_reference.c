/* Peaks of plain C. Inputs come from memory at a place that moves, so that a compiler cannot
 * multiply once and add many times. */
#include "backend/cpu/kernel_table.h"

#define LANES  32
#define ROUNDS (CLEF_PEAK_BLOCK / LANES)

void clef_peak_fma_reference(size_t blocks, const int8_t pair[2], double *sum) {
    float sums[LANES] = {0};
    float inputs[2 * LANES];
    for (size_t i = 0; i < 2 * LANES; i++) {
        inputs[i] = pair[0];
    }
    float factor = pair[1];
    for (size_t round = 0; round < blocks * ROUNDS; round++) {
        const float *from = inputs + round % LANES;
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += from[lane] * factor;
        }
    }
    *sum = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        *sum += sums[lane];
    }
}

void clef_peak_bf16_dot_reference(size_t blocks, const int8_t pair[2], double *sum) {
    float sums[LANES] = {0};
    uint16_t inputs[2 * LANES];
    for (size_t i = 0; i < 2 * LANES; i++) {
        inputs[i] = clef_bf16_of_float(pair[0]);
    }
    float factor = pair[1];
    for (size_t round = 0; round < blocks * ROUNDS; round++) {
        const uint16_t *from = inputs + round % LANES;
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += clef_float_of_bf16(from[lane]) * factor;
        }
    }
    *sum = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        *sum += sums[lane];
    }
}

void clef_peak_int8_dot_reference(size_t blocks, const int8_t pair[2], double *sum) {
    int32_t sums[LANES] = {0};
    uint8_t inputs[2 * LANES];
    for (size_t i = 0; i < 2 * LANES; i++) {
        inputs[i] = (uint8_t)pair[0];
    }
    int32_t factor = pair[1];
    for (size_t round = 0; round < blocks * ROUNDS; round++) {
        const uint8_t *from = inputs + round % LANES;
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += from[lane] * factor;
        }
    }
    *sum = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        *sum += sums[lane];
    }
}

void clef_peak_read_reference(const uint32_t *words, size_t count, double *sum) {
    uint32_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += words[i];
    }
    *sum = total;
}
