/* Matrix products over threads: inputs are rounded once for all products of one rounding, then
 * columns are shared out in whole panels; k and rows never. */
#include "backend/cpu/cpu_backend.h"

#include "base/memory.h"
#include "base/size.h"

/* Smallest group of columns that share a scale. */
#define SMALLEST_GROUP 32
/* Most rows for which weights are streamed rather than unpacked, at any level. */
#define FEW_ROWS 8

typedef void matmul_function(const clef_matmul *product, size_t begin, size_t end, void *scratch);
typedef void round_function(clef_matrix x, size_t row, const clef_rounded_rows *rounded);

/* One part: its kernel, and its tasks, each of whole panels. */
typedef struct linear_part {
    clef_matmul product;
    matmul_function *multiply;
    size_t panels, task_count;
} linear_part;

typedef struct linear_work {
    const clef_cpu_backend *cpu;
    linear_part parts[CLEF_LINEAR_PARTS];
    size_t part_count;
    round_function *round; /* or NULL: no part rounds its inputs */
    clef_matrix x;
    clef_rounded_rows rounded; /* of x, for all parts that round */
} linear_work;

/* Elements from one rounded row to the next: whole vectors, and one more, so that rows of a power
 * of two do not share one set of the first-level cache. */
static size_t rounded_stride(size_t columns) {
    return (columns + CLEF_ROUNDED_STRIDE - 1) / CLEF_ROUNDED_STRIDE * CLEF_ROUNDED_STRIDE +
           CLEF_ROUNDED_STRIDE;
}

clef_status clef_cpu_reserve(clef_backend *backend, size_t rows, size_t columns,
                             clef_error *error) {
    clef_cpu_backend *cpu = (clef_cpu_backend *)backend;
    size_t stride = rounded_stride(columns);
    size_t groups = (columns + SMALLEST_GROUP - 1) / SMALLEST_GROUP;
    clef_release(cpu->rounded_values);
    clef_release(cpu->rounded_scales);
    cpu->rounded_rows = rows;
    cpu->rounded_columns = columns;
    cpu->rounded_values = clef_allocate_aligned(rows * stride, sizeof(uint16_t));
    cpu->rounded_scales = clef_allocate_aligned(rows * groups, sizeof(float));
    if (cpu->rounded_values == NULL || cpu->rounded_scales == NULL) {
        return clef_fail_memory(error, rows * stride * sizeof(uint16_t),
                                "the rounded inputs of a step");
    }
    return CLEF_OK;
}

/* Tasks of a part differ by one panel at most, larger ones first: with a small one in the middle or
 * at the end, one thread would wait for the other. */
static size_t first_panel(const linear_part *part, size_t task) {
    size_t larger = part->panels % part->task_count;
    return task * (part->panels / part->task_count) + clef_size_smaller(task, larger);
}

static void multiply_columns(void *context, size_t task, unsigned worker) {
    const linear_work *work = context;
    const linear_part *part = work->parts;
    while (task >= part->task_count) {
        task -= part->task_count;
        part++;
    }
    size_t begin = first_panel(part, task) * CLEF_MATMUL_PANEL;
    size_t end = first_panel(part, task + 1) * CLEF_MATMUL_PANEL;
    size_t columns = part->product.weight.rows;
    part->multiply(&part->product, begin, clef_size_smaller(end, columns),
                   clef_cpu_scratch(work->cpu, worker));
}

static void round_row(void *context, size_t row, unsigned worker) {
    const linear_work *work = context;
    (void)worker;
    work->round(work->x, row, &work->rounded);
}

/* How inputs are rounded for a weight: the same for another weight of this arithmetic and group. */
static void prepare_rounding(linear_work *work, clef_weight weight) {
    const clef_cpu_backend *cpu = work->cpu;
    work->round = weight.arithmetic == CLEF_ARITHMETIC_BF16 ? cpu->kernels.round_row_bf16
                                                            : cpu->kernels.round_row_int8;
    work->rounded = (clef_rounded_rows){
        .values = cpu->rounded_values,
        .stride = rounded_stride(work->x.columns),
        .scales = cpu->rounded_scales,
        .group = weight.group,
        .groups = clef_weight_groups(weight),
    };
}

static matmul_function *kernel_of(const clef_cpu_backend *cpu, clef_arithmetic arithmetic) {
    switch (arithmetic) {
    case CLEF_ARITHMETIC_BF16:
        return cpu->kernels.matmul_bf16;
    case CLEF_ARITHMETIC_INT8:
        return cpu->kernels.matmul_int8;
    case CLEF_ARITHMETIC_F32:
        break;
    }
    return cpu->kernels.matmul;
}

/* Takes parts from the first one on, while one rounding of x serves them; returns their number. */
static size_t take_parts(linear_work *work, const clef_linear_part *parts, size_t count) {
    const clef_weight *rounding = NULL;
    size_t taken = 0;
    for (; taken < count && taken < CLEF_LINEAR_PARTS; taken++) {
        clef_weight weight = parts[taken].weight;
        bool rounds = weight.arithmetic != CLEF_ARITHMETIC_F32;
        if (rounds && rounding == NULL) {
            rounding = &parts[taken].weight;
            prepare_rounding(work, weight);
        } else if (rounds &&
                   (weight.arithmetic != rounding->arithmetic || weight.group != rounding->group)) {
            break;
        }
        work->parts[taken] =
            (linear_part){.product = {work->x, weight, parts[taken].bias, parts[taken].out, {0}},
                          .multiply = kernel_of(work->cpu, weight.arithmetic),
                          .panels = (weight.rows + CLEF_MATMUL_PANEL - 1) / CLEF_MATMUL_PANEL};
        if (rounds) {
            work->parts[taken].product.rounded = work->rounded;
        }
    }
    work->part_count = taken;
    return taken;
}

/* Cuts all parts into tasks of about `panels` panels: a few a thread, enough to even out, few
 * enough that each keeps its inputs in cache. With few rows a task is a walk through memory, which
 * gets up to speed only behind its first weights: longer ones. Returns their number. */
static size_t cut_tasks(linear_work *work, unsigned thread_count, size_t *panels) {
    size_t tasks = (size_t)thread_count * (work->x.rows <= FEW_ROWS ? 2 : 4);
    size_t all_panels = 0, all_tasks = 0;
    for (size_t i = 0; i < work->part_count; i++) {
        all_panels += work->parts[i].panels;
    }
    *panels = (all_panels + tasks - 1) / tasks;
    for (size_t i = 0; i < work->part_count; i++) {
        linear_part *part = &work->parts[i];
        part->task_count = (part->panels + *panels - 1) / *panels;
        all_tasks += part->task_count;
    }
    return all_tasks;
}

void clef_cpu_linear(clef_backend *backend, clef_matrix x, const clef_linear_part *parts,
                     size_t count) {
    while (count > 0) {
        linear_work work = {.cpu = (const clef_cpu_backend *)backend, .x = x};
        size_t taken = take_parts(&work, parts, count);
        if (work.round != NULL) {
            clef_cpu_for(backend, x.rows, x.columns, round_row, &work);
        }
        size_t panels;
        size_t task_count = cut_tasks(&work, backend->thread_count, &panels);
        /* A vector instruction does several multiply-adds: count eight as one operation. */
        size_t cost = x.rows * panels * CLEF_MATMUL_PANEL * x.columns / 8;
        clef_cpu_for(backend, task_count, cost, multiply_columns, &work);
        parts += taken;
        count -= taken;
    }
}
