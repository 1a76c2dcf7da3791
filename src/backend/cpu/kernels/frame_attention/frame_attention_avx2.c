/* Attention inside a frame of level avx2: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx2.h"

#include "backend/cpu/kernels/frame_attention/frame_attention_vector.h"

void clef_frame_attention_avx2(const clef_frame_attention *frame, float *scratch) {
    attend_frame(frame, scratch);
}
