/* Attention inside a frame in bfloat16 of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/frame_attention/frame_attention_bf16_vector.h"

void clef_frame_attention_bf16_avx512(const clef_frame_attention_bf16 *frame, float *scratch) {
    attend_rounded_frame(frame, scratch);
}
