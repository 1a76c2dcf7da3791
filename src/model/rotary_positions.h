/* Rotary angles with interleaved M-RoPE sections: which of a token's three positions (time, height,
 * width) turns which pair, and by how much. */
#ifndef CLEF_MODEL_ROTARY_POSITIONS_H
#define CLEF_MODEL_ROTARY_POSITIONS_H

#include "tensor/matrix.h"

/* out[i] = 1 / fl(theta^(i / half)), each step rounded to fp32, as the reference makes them. */
void clef_rotary_frequencies(double theta, size_t half, float *out);

/* Cosine and sine [rows, half] of the fp32 products position·frequency. positions [3, rows]: time,
 * height, width. Pair i takes height when i mod 3 = 1 and i < 3·section[1], width when i mod 3 = 2
 * and i < 3·section[2], else time. */
void clef_rotary_angles(const int32_t *positions, const float *frequencies,
                        const uint32_t section[3], clef_matrix cosine, clef_matrix sine);

#endif
