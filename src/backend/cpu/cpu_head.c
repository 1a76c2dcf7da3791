/* Operations of the joint head. All but the attention are too small to share out. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

static const clef_kernel_table *kernels_of(clef_backend *backend) {
    return &((const clef_cpu_backend *)backend)->kernels;
}

/* ---- spans ---- */

typedef struct span_work {
    const clef_kernel_table *kernels;
    clef_matrix x;
    const clef_span_part *parts;
} span_work;

static void sum_task(void *context, size_t task, unsigned worker) {
    const span_work *work = context;
    (void)worker;
    const clef_span_part *part = &work->parts[task];
    work->kernels->sum_rows(clef_matrix_rows(work->x, part->row, part->count), part->total);
}

void clef_cpu_sum_spans(clef_backend *backend, clef_matrix x, const clef_span_part *parts,
                        size_t count) {
    span_work work = {.kernels = kernels_of(backend), .x = x, .parts = parts};
    clef_cpu_for(backend, count, 8 * x.columns, sum_task, &work);
}

void clef_cpu_mean_rows(clef_backend *backend, clef_weight table, const uint32_t *ids, size_t count,
                        float *out) {
    (void)backend;
    /* Columns in blocks, so that sums in double need no memory of their own. */
    enum { BLOCK = 256 };
    for (size_t begin = 0; begin < table.columns; begin += BLOCK) {
        double sums[BLOCK] = {0};
        float row[BLOCK];
        size_t left = table.columns - begin;
        size_t columns = left < BLOCK ? left : BLOCK;
        for (size_t i = 0; i < count; i++) {
            clef_weight_widen(table, ids[i], begin, columns, row);
            for (size_t c = 0; c < columns; c++) {
                sums[c] += row[c];
            }
        }
        for (size_t c = 0; c < columns; c++) {
            out[begin + c] = (float)(sums[c] / (double)count);
        }
    }
}

/* ---- attention without mask ---- */

void clef_cpu_attend_begin(clef_backend *backend, clef_attention_state state) {
    (void)backend;
    clef_attention_begin(state);
}

typedef struct attend_work {
    const clef_cpu_backend *cpu;
    clef_heads query, key, value;
    float scale;
    clef_attention_state state;
} attend_work;

static void attend_head(void *context, size_t head, unsigned worker) {
    const attend_work *work = context;
    clef_attention_block block = {
        .query = work->query.data + head * work->query.head_stride,
        .query_row_stride = work->query.row_stride,
        .rows = work->query.rows,
        .heads = 1,
        .key = work->key.data + head * work->key.head_stride,
        .value = work->value.data + head * work->value.head_stride,
        .key_stride = work->key.row_stride,
        .keys = work->key.rows,
        .size = work->query.size,
        .visible = (ptrdiff_t)work->key.rows,
        .scale = work->scale,
        .maximum = work->state.maximum + head,
        .sum = work->state.sum + head,
        .state_stride = work->query.heads,
        .total = work->state.total.data + head * work->state.total.head_stride,
        .total_row_stride = work->state.total.row_stride,
    };
    work->cpu->kernels.attention_block(&block, clef_cpu_scratch(work->cpu, worker));
}

void clef_cpu_attend_block(clef_backend *backend, clef_heads query, clef_heads key,
                           clef_heads value, float scale, clef_attention_state state) {
    attend_work work = {.cpu = (const clef_cpu_backend *)backend,
                        .query = query,
                        .key = key,
                        .value = value,
                        .scale = scale,
                        .state = state};
    clef_cpu_for(backend, query.heads, query.rows * key.rows * query.size / 4, attend_head, &work);
}

void clef_cpu_attend_end(clef_backend *backend, clef_attention_state state, clef_heads out) {
    (void)backend;
    clef_attention_end(state, out);
}

/* ---- fields and options ---- */

void clef_cpu_summarise(clef_backend *backend, clef_matrix options, const float *base, float *out) {
    kernels_of(backend)->summarise(options, base, out);
}

float clef_cpu_cosine(clef_backend *backend, const float *a, const float *b, size_t columns,
                      float floor) {
    return kernels_of(backend)->cosine(a, b, columns, floor);
}

void clef_cpu_pair_features(clef_backend *backend, const float *field, clef_matrix options,
                            clef_matrix out) {
    for (size_t j = 0; j < options.rows; j++) {
        kernels_of(backend)->pair_features(field, options.data + j * options.stride,
                                           options.columns, out.data + j * out.stride);
    }
}
