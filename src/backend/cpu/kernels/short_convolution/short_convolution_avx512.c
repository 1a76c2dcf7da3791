/* Short convolution of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/short_convolution/short_convolution_vector.h"

void clef_short_convolution_avx512(const clef_short_convolution *slice, size_t begin, size_t end) {
    convolve(slice, begin, end);
}
