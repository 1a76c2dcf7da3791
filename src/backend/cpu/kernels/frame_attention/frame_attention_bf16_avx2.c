/* Attention inside a frame in bfloat16 of level avx2: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx2.h"

#include "backend/cpu/kernels/frame_attention/frame_attention_bf16_vector.h"

void clef_frame_attention_bf16_avx2(const clef_frame_attention_bf16 *frame, float *scratch) {
    attend_rounded_frame(frame, scratch);
}
