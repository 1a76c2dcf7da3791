/* Inside of the CPU backend: its state, and the operations its files share out. */
#ifndef CLEF_BACKEND_CPU_BACKEND_H
#define CLEF_BACKEND_CPU_BACKEND_H

#include "backend/backend.h"
#include "backend/cpu/kernel_table.h"

typedef struct clef_cpu_backend {
    clef_backend base;      /* first: a clef_backend* is a clef_cpu_backend* */
    clef_thread_pool *pool; /* or NULL */
    clef_kernel_table kernels;
    clef_level level;
    char levels[128];
    size_t scratch_bytes;                 /* of one thread */
    unsigned char *scratch;               /* owned; [thread_count, scratch_bytes], aligned to 64 */
    size_t rounded_rows, rounded_columns; /* what the two below hold */
    void *rounded_values;                 /* owned; inputs rounded for a product */
    float *rounded_scales;                /* owned */
} clef_cpu_backend;

/* Scratch of one thread. */
static inline void *clef_cpu_scratch(const clef_cpu_backend *cpu, unsigned worker) {
    return cpu->scratch + worker * cpu->scratch_bytes;
}

/* Below so many elementary operations, waking another thread costs more than it saves. */
#define CLEF_CPU_SERIAL_COST 16384

/* All tasks on the backend's threads, or on fewer when tasks of `cost` elementary operations each
 * are too small to share. */
static inline void clef_cpu_for(const clef_backend *backend, size_t task_count, size_t cost,
                                clef_task *run, void *context) {
    size_t useful = 1 + task_count * cost / CLEF_CPU_SERIAL_COST;
    unsigned threads = backend->thread_count;
    clef_thread_pool_run(((const clef_cpu_backend *)backend)->pool,
                         useful < threads ? (unsigned)useful : threads, task_count, run, context);
}

/* Starts a running softmax, and divides by its sum; out may be state.total (attention_state.c). */
void clef_attention_begin(clef_attention_state state);
void clef_attention_end(clef_attention_state state, clef_heads out);

/* Element-wise and row-wise operations (cpu_rows.c). */
void clef_cpu_embed(clef_backend *, clef_weight table, const uint32_t *ids, clef_matrix out);
void clef_cpu_add(clef_backend *, clef_matrix x, clef_matrix y);
void clef_cpu_rms_norm(clef_backend *, clef_matrix x, const float *weight, float epsilon,
                       clef_matrix out);
void clef_cpu_layer_norm(clef_backend *, clef_matrix x, const float *weight, const float *bias,
                         float epsilon, clef_matrix out);
void clef_cpu_swiglu(clef_backend *, clef_matrix gate, clef_matrix up);
void clef_cpu_gelu(clef_backend *, clef_matrix x);
void clef_cpu_gelu_tanh(clef_backend *, clef_matrix x);
void clef_cpu_copy(clef_backend *, clef_heads x, clef_heads out);
void clef_cpu_add_blend(clef_backend *, clef_weight table, const uint32_t *ids,
                        const float *factors, clef_matrix x);
void clef_cpu_rotate(clef_backend *, clef_heads x, clef_matrix cosine, clef_matrix sine,
                     clef_heads out);
void clef_cpu_norm_rotate(clef_backend *, clef_heads x, const float *weight, float epsilon,
                          clef_matrix cosine, clef_matrix sine, clef_heads out);
void clef_cpu_sigmoid_gate(clef_backend *, clef_heads x, clef_heads gate);
void clef_cpu_l2_norm(clef_backend *, clef_heads x, float epsilon, float scale);
void clef_cpu_delta_gates(clef_backend *, clef_matrix a, clef_matrix b, const float *a_log,
                          const float *dt_bias);
void clef_cpu_gated_norm(clef_backend *, clef_heads x, const float *weight, float epsilon,
                         clef_heads gate);

/* The matrix product (cpu_linear.c). */
clef_status clef_cpu_reserve(clef_backend *, size_t rows, size_t columns, clef_error *error);
void clef_cpu_linear(clef_backend *, clef_matrix x, const clef_linear_part *parts, size_t count);

/* Operations along sequences (cpu_sequences.c). */
void clef_cpu_store_rows(clef_backend *, clef_slices slices, clef_matrix x, size_t offset);
void clef_cpu_load_rows(clef_backend *, float *const *pages, size_t first, size_t offset,
                        clef_matrix out);
void clef_cpu_attention(clef_backend *, clef_slices slices, clef_heads query, size_t key_heads,
                        size_t key_offset, size_t value_offset, clef_heads out);
void clef_cpu_short_convolution(clef_backend *, clef_slices slices, clef_matrix x,
                                const float *weight, size_t taps, size_t tail_offset,
                                clef_matrix out);
void clef_cpu_delta_rule(clef_backend *, clef_slices slices, clef_delta_shape shape,
                         clef_matrix query, clef_matrix key, clef_matrix value, clef_matrix g,
                         clef_matrix beta, size_t state_offset, clef_matrix out);

/* Attention inside frames (cpu_frames.c). */
void clef_cpu_attend_frames(clef_backend *, const clef_frame_part *parts, size_t count,
                            clef_heads query, clef_heads key, clef_heads value, clef_heads out);
void clef_cpu_round_frames(clef_backend *, clef_heads key, clef_heads value, size_t first,
                           clef_rounded_frames frames);
void clef_cpu_attend_rounded_frames(clef_backend *, const clef_frame_part *parts, size_t count,
                                    clef_heads query, clef_rounded_frames frames, clef_heads out);

/* Operations of the joint head (cpu_head.c). */
void clef_cpu_sum_spans(clef_backend *, clef_matrix x, const clef_span_part *parts, size_t count);
void clef_cpu_mean_rows(clef_backend *, clef_weight table, const uint32_t *ids, size_t count,
                        float *out);
void clef_cpu_attend_begin(clef_backend *, clef_attention_state state);
void clef_cpu_attend_block(clef_backend *, clef_heads query, clef_heads key, clef_heads value,
                           float scale, clef_attention_state state);
void clef_cpu_attend_end(clef_backend *, clef_attention_state state, clef_heads out);
void clef_cpu_summarise(clef_backend *, clef_matrix options, const float *base, float *out);
float clef_cpu_cosine(clef_backend *, const float *a, const float *b, size_t columns, float floor);
void clef_cpu_pair_features(clef_backend *, const float *field, clef_matrix options,
                            clef_matrix out);

#endif
