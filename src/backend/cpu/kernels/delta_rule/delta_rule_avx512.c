/* Delta rule of level avx512: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx512.h"

#include "backend/cpu/kernels/delta_rule/delta_rule_vector.h"

void clef_delta_chunk_avx512(const clef_delta_head *head, float *scratch) {
    run_chunk(head, scratch);
}

void clef_delta_step_avx512(const clef_delta_head *head, float *scratch) {
    run_steps(head, scratch);
}
