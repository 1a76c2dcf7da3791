/* The matrix product over threads: columns are shared out in whole panels, k and rows never. */
#include "backend/cpu/cpu_backend.h"

typedef struct linear_work {
    const clef_cpu_backend *cpu;
    clef_matmul product;
    size_t columns_per_task;
} linear_work;

static void multiply_columns(void *context, size_t task, unsigned worker) {
    const linear_work *work = context;
    size_t begin = task * work->columns_per_task;
    size_t end = begin + work->columns_per_task;
    size_t columns = work->product.weight.rows;
    work->cpu->kernels.matmul(&work->product, begin, end < columns ? end : columns,
                              clef_cpu_scratch(work->cpu, worker));
}

void clef_cpu_linear(clef_backend *backend, clef_matrix x, clef_weight weight, const float *bias,
                     clef_matrix out) {
    const clef_cpu_backend *cpu = (const clef_cpu_backend *)backend;
    size_t panels = (weight.rows + CLEF_MATMUL_PANEL - 1) / CLEF_MATMUL_PANEL;
    /* A few tasks a thread: enough to even out, few enough that each keeps its inputs in cache. */
    size_t tasks = (size_t)backend->thread_count * 4;
    size_t panels_per_task = panels <= tasks ? 1 : (panels + tasks - 1) / tasks;
    linear_work work = {.cpu = cpu,
                        .product = {x, weight, bias, out},
                        .columns_per_task = panels_per_task * CLEF_MATMUL_PANEL};
    size_t task_count = (panels + panels_per_task - 1) / panels_per_task;
    /* A vector instruction does several multiply-adds: count eight as one operation. */
    size_t cost = x.rows * work.columns_per_task * x.columns / 8;
    clef_cpu_for(backend, task_count, cost, multiply_columns, &work);
}
