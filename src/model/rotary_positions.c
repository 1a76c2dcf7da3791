/* Rotary angles. The product position·frequency is one fp32 product: an ulp of the second frequency
 * is a thousandth of a radian at position 16,384, so a better product would be a different model.
 */
#include "model/rotary_positions.h"

#include <math.h>

void clef_rotary_frequencies(double theta, size_t half, float *out) {
    for (size_t i = 0; i < half; i++) {
        float exponent = (float)i / (float)half;
        float power = (float)pow(theta, (double)exponent);
        out[i] = 1.0f / power;
    }
}

static size_t axis_of(size_t pair, const uint32_t section[3]) {
    size_t axis = pair % 3;
    return axis != 0 && pair < (size_t)3 * section[axis] ? axis : 0;
}

void clef_rotary_angles(const int32_t *positions, const float *frequencies,
                        const uint32_t section[3], clef_matrix cosine, clef_matrix sine) {
    for (size_t row = 0; row < cosine.rows; row++) {
        for (size_t i = 0; i < cosine.columns; i++) {
            int32_t position = positions[axis_of(i, section) * cosine.rows + row];
            float angle = (float)position * frequencies[i];
            cosine.data[row * cosine.stride + i] = (float)cos((double)angle);
            sine.data[row * sine.stride + i] = (float)sin((double)angle);
        }
    }
}
