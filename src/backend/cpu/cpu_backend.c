/* Life of the CPU backend: threads, level, scratch, and its table of operations. */
#include "backend/cpu/cpu_backend.h"

#include "base/memory.h"
#include "base/size.h"

#include <stdio.h>

static void destroy(clef_backend *backend) {
    clef_cpu_backend *cpu = (clef_cpu_backend *)backend;
    clef_release(cpu->scratch);
    clef_release(cpu->rounded_values);
    clef_release(cpu->rounded_scales);
    clef_release(cpu);
}

static const clef_operations operations = {
    .embed = clef_cpu_embed,
    .reserve = clef_cpu_reserve,
    .linear = clef_cpu_linear,
    .add = clef_cpu_add,
    .rms_norm = clef_cpu_rms_norm,
    .layer_norm = clef_cpu_layer_norm,
    .swiglu = clef_cpu_swiglu,
    .gelu = clef_cpu_gelu,
    .gelu_tanh = clef_cpu_gelu_tanh,
    .copy = clef_cpu_copy,
    .norm_rotate = clef_cpu_norm_rotate,
    .store_rows = clef_cpu_store_rows,
    .load_rows = clef_cpu_load_rows,
    .attention = clef_cpu_attention,
    .sigmoid_gate = clef_cpu_sigmoid_gate,
    .short_convolution = clef_cpu_short_convolution,
    .l2_norm = clef_cpu_l2_norm,
    .delta_gates = clef_cpu_delta_gates,
    .delta_rule = clef_cpu_delta_rule,
    .gated_norm = clef_cpu_gated_norm,
    .add_blend = clef_cpu_add_blend,
    .rotate = clef_cpu_rotate,
    .attend_frames = clef_cpu_attend_frames,
    .round_frames = clef_cpu_round_frames,
    .attend_rounded_frames = clef_cpu_attend_rounded_frames,
    .sum_spans = clef_cpu_sum_spans,
    .mean_rows = clef_cpu_mean_rows,
    .attend_begin = clef_cpu_attend_begin,
    .attend_block = clef_cpu_attend_block,
    .attend_end = clef_cpu_attend_end,
    .summarise = clef_cpu_summarise,
    .cosine = clef_cpu_cosine,
    .pair_features = clef_cpu_pair_features,
    .destroy = destroy,
};

/* Names of the supported levels, lowest first, separated by spaces. */
static void list_levels(char *out, size_t size) {
    size_t length = 0;
    out[0] = '\0';
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        if (clef_level_is_supported((clef_level)level) && length < size) {
            length += (size_t)snprintf(out + length, size - length, "%s%s", level == 0 ? "" : " ",
                                       clef_level_name((clef_level)level));
        }
    }
}

static clef_status choose_level(const char *name, const char *levels, clef_level *level,
                                clef_error *error) {
    if (name == NULL || name[0] == '\0') {
        *level = clef_level_best();
        return CLEF_OK;
    }
    if (!clef_level_parse(name, level)) {
        return clef_fail(error, CLEF_USAGE, "unknown CPU level \"%.40s\"; this machine has: %s",
                         name, levels);
    }
    if (!clef_level_is_supported(*level)) {
        return clef_fail(error, CLEF_USAGE, "this machine cannot run CPU level \"%s\"; it has: %s",
                         name, levels);
    }
    return CLEF_OK;
}

/* What the hungriest kernel takes at the largest sizes the backend promises. */
static size_t scratch_bytes(void) {
    size_t delta = clef_delta_scratch_floats(CLEF_HEAD_SIZE_LIMIT, CLEF_HEAD_SIZE_LIMIT);
    size_t attention = clef_attention_scratch_floats(CLEF_HEAD_SIZE_LIMIT) +
                       (size_t)2 * CLEF_GRID * CLEF_HEAD_GROUP_LIMIT;
    size_t frame = clef_size_larger(clef_frame_attention_scratch_floats(CLEF_HEAD_SIZE_LIMIT),
                                    clef_frame_attention_bf16_scratch_floats(CLEF_HEAD_SIZE_LIMIT));
    size_t floats = clef_size_larger(clef_size_larger(delta, attention), frame);
    size_t bytes = clef_size_larger(floats * sizeof(float), CLEF_MATMUL_SCRATCH);
    return (bytes + 63) / 64 * 64;
}

clef_status clef_cpu_backend_create(clef_thread_pool *pool, const char *level, clef_backend **out,
                                    clef_error *error) {
    *out = NULL;
    clef_cpu_backend *cpu = clef_allocate(1, sizeof *cpu);
    if (cpu == NULL) {
        return clef_fail_memory(error, sizeof *cpu, "the CPU backend");
    }
    list_levels(cpu->levels, sizeof cpu->levels);
    clef_status status = choose_level(level, cpu->levels, &cpu->level, error);
    if (status != CLEF_OK) {
        clef_release(cpu);
        return status;
    }
    unsigned thread_count = clef_thread_pool_size(pool);
    cpu->pool = pool;
    cpu->scratch_bytes = scratch_bytes();
    cpu->scratch = clef_allocate_aligned(thread_count, cpu->scratch_bytes);
    if (cpu->scratch == NULL) {
        status = clef_fail_memory(error, cpu->scratch_bytes, "the scratch of a thread");
        clef_release(cpu);
        return status;
    }
    cpu->kernels = clef_kernel_table_of(cpu->level);
    cpu->base = (clef_backend){.operations = &operations,
                               .level = clef_level_name(cpu->level),
                               .levels = cpu->levels,
                               .thread_count = thread_count};
    *out = &cpu->base;
    return CLEF_OK;
}
