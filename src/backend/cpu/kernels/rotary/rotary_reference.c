/* Rotary position in plain C. */
#include "backend/cpu/kernel_table.h"

void clef_rotary_reference(float *x, const float *cosine, const float *sine, size_t half) {
    for (size_t i = 0; i < half; i++) {
        float a = x[i];
        float b = x[i + half];
        x[i] = a * cosine[i] - b * sine[i];
        x[i + half] = b * cosine[i] + a * sine[i];
    }
}
