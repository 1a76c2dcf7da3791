/* The matrix product over threads: inputs are rounded once where the arithmetic asks for it, then
 * columns are shared out in whole panels; k and rows never. */
#include "backend/cpu/cpu_backend.h"

#include "base/memory.h"

typedef void matmul_function(const clef_matmul *product, size_t begin, size_t end, void *scratch);
typedef void round_function(clef_matrix x, size_t row, const clef_rounded_rows *rounded);

typedef struct linear_work {
    const clef_cpu_backend *cpu;
    clef_matmul product;
    size_t columns_per_task;
    matmul_function *multiply;
    round_function *round;
} linear_work;

/* Elements from one rounded row to the next: whole vectors, and one more, so that rows of a power
 * of two do not share one set of the first-level cache. */
static size_t rounded_stride(size_t columns) {
    return (columns + CLEF_ROUNDED_STRIDE - 1) / CLEF_ROUNDED_STRIDE * CLEF_ROUNDED_STRIDE +
           CLEF_ROUNDED_STRIDE;
}

static size_t block_count(size_t columns) {
    return (columns + CLEF_MATMUL_BLOCK - 1) / CLEF_MATMUL_BLOCK;
}

clef_status clef_cpu_reserve(clef_backend *backend, size_t rows, size_t columns,
                             clef_error *error) {
    clef_cpu_backend *cpu = (clef_cpu_backend *)backend;
    size_t stride = rounded_stride(columns);
    size_t blocks = block_count(columns);
    clef_release(cpu->rounded_values);
    clef_release(cpu->rounded_scales);
    cpu->rounded_rows = rows;
    cpu->rounded_columns = columns;
    cpu->rounded_values = clef_allocate_aligned(rows * stride, sizeof(uint16_t));
    cpu->rounded_scales = clef_allocate_aligned(rows * blocks, sizeof(float));
    if (cpu->rounded_values == NULL || cpu->rounded_scales == NULL) {
        return clef_fail_memory(error, rows * stride * sizeof(uint16_t),
                                "the rounded inputs of a step");
    }
    return CLEF_OK;
}

static void multiply_columns(void *context, size_t task, unsigned worker) {
    const linear_work *work = context;
    size_t begin = task * work->columns_per_task;
    size_t end = begin + work->columns_per_task;
    size_t columns = work->product.weight.rows;
    work->multiply(&work->product, begin, end < columns ? end : columns,
                   clef_cpu_scratch(work->cpu, worker));
}

static void round_row(void *context, size_t row, unsigned worker) {
    const linear_work *work = context;
    (void)worker;
    work->round(work->product.x, row, &work->product.rounded);
}

/* Chooses kernels for the weight's arithmetic, and rounds the inputs where it asks for it. */
static void prepare(clef_backend *backend, linear_work *work) {
    clef_cpu_backend *cpu = (clef_cpu_backend *)backend;
    const clef_matmul *product = &work->product;
    size_t columns = product->x.columns;
    switch (product->weight.arithmetic) {
    case CLEF_ARITHMETIC_F32:
        work->multiply = cpu->kernels.matmul;
        return;
    case CLEF_ARITHMETIC_BF16:
        work->multiply = cpu->kernels.matmul_bf16;
        work->round = cpu->kernels.round_row_bf16;
        break;
    case CLEF_ARITHMETIC_INT8:
        work->multiply = cpu->kernels.matmul_int8;
        work->round = cpu->kernels.round_row_int8;
        break;
    }
    work->product.rounded = (clef_rounded_rows){
        .values = cpu->rounded_values,
        .stride = rounded_stride(columns),
        .scales = cpu->rounded_scales,
        .blocks = block_count(columns),
    };
    clef_cpu_for(backend, product->x.rows, columns, round_row, work);
}

void clef_cpu_linear(clef_backend *backend, clef_matrix x, clef_weight weight, const float *bias,
                     clef_matrix out) {
    size_t panels = (weight.rows + CLEF_MATMUL_PANEL - 1) / CLEF_MATMUL_PANEL;
    /* A few tasks a thread: enough to even out, few enough that each keeps its inputs in cache. */
    size_t tasks = (size_t)backend->thread_count * 4;
    size_t panels_per_task = panels <= tasks ? 1 : (panels + tasks - 1) / tasks;
    linear_work work = {.cpu = (const clef_cpu_backend *)backend,
                        .product = {x, weight, bias, out, {0}},
                        .columns_per_task = panels_per_task * CLEF_MATMUL_PANEL};
    prepare(backend, &work);
    size_t task_count = (panels + panels_per_task - 1) / panels_per_task;
    /* A vector instruction does several multiply-adds: count eight as one operation. */
    size_t cost = x.rows * work.columns_per_task * x.columns / 8;
    clef_cpu_for(backend, task_count, cost, multiply_columns, &work);
}
