/* Matrix product of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/matmul/matmul_vector.h"

void clef_matmul_avx512(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    multiply(product, begin, end, scratch);
}

void clef_matmul_bf16_avx512(const clef_matmul *product, size_t begin, size_t end, void *scratch) {
    multiply_rounded(product, begin, end, scratch);
}

void clef_round_row_bf16_avx512(clef_matrix x, size_t row, const clef_rounded_rows *rounded) {
    round_row(x, row, rounded);
}
