/* Delta rule of level avx2: the vector body on this level's vectors. */
#include "backend/cpu/kernel_table.h"

#include "backend/cpu/kernels/vector/vector_avx2.h"

#include "backend/cpu/kernels/delta_rule/delta_rule_vector.h"

void clef_delta_chunk_avx2(const clef_delta_head *head, float *scratch) {
    run_chunk(head, scratch);
}

void clef_delta_step_avx2(const clef_delta_head *head, float *scratch) {
    run_steps(head, scratch);
}
