/* Attention of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/attention/attention_vector.h"

void clef_attention_block_avx512(const clef_attention_block *block, float *scratch) {
    attend_block(block, scratch);
}
