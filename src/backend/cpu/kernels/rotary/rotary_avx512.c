/* Rotary position of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/rotary/rotary_vector.h"

void clef_rotary_avx512(float *x, const float *cosine, const float *sine, size_t half) {
    rotate(x, cosine, sine, half);
}
