/* Operations that compute each row by itself: rows are shared out over threads in small blocks. */
#include "backend/cpu/cpu_backend.h"

#define ROWS_PER_TASK 8

/* Operands of one operation; each row function uses those of its own. */
typedef struct row_work {
    const clef_kernel_table *kernels;
    clef_matrix x, y, out;
    clef_heads heads, other_heads, out_heads;
    clef_weight table;
    const uint32_t *ids;
    const float *weight, *bias;
    float epsilon, scale;
    void (*run)(const struct row_work *work, size_t row);
    size_t rows;
} row_work;

static void run_rows(void *context, size_t task, unsigned worker) {
    const row_work *work = context;
    (void)worker;
    size_t end = (task + 1) * ROWS_PER_TASK;
    for (size_t row = task * ROWS_PER_TASK; row < end && row < work->rows; row++) {
        work->run(work, row);
    }
}

/* `columns` elements a row. */
static void for_rows(clef_backend *backend, row_work *work, size_t rows, size_t columns) {
    work->kernels = &((const clef_cpu_backend *)backend)->kernels;
    work->rows = rows;
    clef_cpu_for(backend, (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, ROWS_PER_TASK * columns,
                 run_rows, work);
}

static float *row_of(clef_matrix matrix, size_t row) {
    return matrix.data + row * matrix.stride;
}

static float *head_of(clef_heads heads, size_t row, size_t head) {
    return heads.data + row * heads.row_stride + head * heads.head_stride;
}

static void embed_row(const row_work *work, size_t row) {
    clef_weight_widen(work->table, work->ids[row], 0, work->table.columns, row_of(work->out, row));
}

void clef_cpu_embed(clef_backend *backend, clef_weight table, const uint32_t *ids,
                    clef_matrix out) {
    for_rows(backend, &(row_work){.run = embed_row, .table = table, .ids = ids, .out = out},
             out.rows, out.columns);
}

static void add_row(const row_work *work, size_t row) {
    float *x = row_of(work->x, row);
    const float *y = row_of(work->y, row);
    for (size_t c = 0; c < work->x.columns; c++) {
        x[c] += y[c];
    }
}

void clef_cpu_add(clef_backend *backend, clef_matrix x, clef_matrix y) {
    for_rows(backend, &(row_work){.run = add_row, .x = x, .y = y}, x.rows, x.columns);
}

static void rms_norm_row(const row_work *work, size_t row) {
    work->kernels->rms_norm(row_of(work->x, row), work->weight, work->epsilon, work->x.columns,
                            row_of(work->out, row));
}

void clef_cpu_rms_norm(clef_backend *backend, clef_matrix x, const float *weight, float epsilon,
                       clef_matrix out) {
    row_work work = {.run = rms_norm_row, .x = x, .weight = weight, .epsilon = epsilon, .out = out};
    for_rows(backend, &work, x.rows, x.columns);
}

static void layer_norm_row(const row_work *work, size_t row) {
    work->kernels->layer_norm(row_of(work->x, row), work->weight, work->bias, work->epsilon,
                              work->x.columns, row_of(work->out, row));
}

void clef_cpu_layer_norm(clef_backend *backend, clef_matrix x, const float *weight,
                         const float *bias, float epsilon, clef_matrix out) {
    row_work work = {.run = layer_norm_row,
                     .x = x,
                     .weight = weight,
                     .bias = bias,
                     .epsilon = epsilon,
                     .out = out};
    for_rows(backend, &work, x.rows, x.columns);
}

static void swiglu_row(const row_work *work, size_t row) {
    work->kernels->swiglu(row_of(work->x, row), row_of(work->y, row), work->x.columns);
}

void clef_cpu_swiglu(clef_backend *backend, clef_matrix gate, clef_matrix up) {
    for_rows(backend, &(row_work){.run = swiglu_row, .x = gate, .y = up}, gate.rows,
             4 * gate.columns);
}

static void gelu_row(const row_work *work, size_t row) {
    work->kernels->gelu(row_of(work->x, row), work->x.columns);
}

void clef_cpu_gelu(clef_backend *backend, clef_matrix x) {
    for_rows(backend, &(row_work){.run = gelu_row, .x = x}, x.rows, 4 * x.columns);
}

static void gelu_tanh_row(const row_work *work, size_t row) {
    work->kernels->gelu_tanh(row_of(work->x, row), work->x.columns);
}

void clef_cpu_gelu_tanh(clef_backend *backend, clef_matrix x) {
    for_rows(backend, &(row_work){.run = gelu_tanh_row, .x = x}, x.rows, 4 * x.columns);
}

static void copy_row(const row_work *work, size_t row) {
    for (size_t head = 0; head < work->heads.heads; head++) {
        memcpy(head_of(work->out_heads, row, head), head_of(work->heads, row, head),
               work->heads.size * sizeof(float));
    }
}

void clef_cpu_copy(clef_backend *backend, clef_heads x, clef_heads out) {
    for_rows(backend, &(row_work){.run = copy_row, .heads = x, .out_heads = out}, x.rows,
             x.heads * x.size);
}

/* Columns in blocks, so that widened rows of the table need no memory of their own. */
static void blend_row(const row_work *work, size_t row) {
    enum { BLOCK = 128, TAPS = 4 };
    float *x = row_of(work->x, row);
    for (size_t begin = 0; begin < work->x.columns; begin += BLOCK) {
        float sums[BLOCK] = {0};
        float values[BLOCK];
        size_t left = work->x.columns - begin;
        size_t columns = left < BLOCK ? left : BLOCK;
        for (size_t tap = 0; tap < TAPS; tap++) {
            float factor = work->weight[row * TAPS + tap];
            clef_weight_widen(work->table, work->ids[row * TAPS + tap], begin, columns, values);
            for (size_t c = 0; c < columns; c++) {
                sums[c] += factor * values[c];
            }
        }
        for (size_t c = 0; c < columns; c++) {
            x[begin + c] += sums[c];
        }
    }
}

void clef_cpu_add_blend(clef_backend *backend, clef_weight table, const uint32_t *ids,
                        const float *factors, clef_matrix x) {
    row_work work = {.run = blend_row, .table = table, .ids = ids, .weight = factors, .x = x};
    for_rows(backend, &work, x.rows, 8 * x.columns);
}

static void rotate_row(const row_work *work, size_t row) {
    for (size_t head = 0; head < work->heads.heads; head++) {
        const float *x = head_of(work->heads, row, head);
        float *out = head_of(work->out_heads, row, head);
        if (out != x) {
            memcpy(out, x, work->heads.size * sizeof *out);
        }
        work->kernels->rotary(out, row_of(work->x, row), row_of(work->y, row), work->x.columns);
    }
}

void clef_cpu_rotate(clef_backend *backend, clef_heads x, clef_matrix cosine, clef_matrix sine,
                     clef_heads out) {
    row_work work = {.run = rotate_row, .heads = x, .x = cosine, .y = sine, .out_heads = out};
    for_rows(backend, &work, x.rows, x.heads * x.size);
}

static void norm_rotate_row(const row_work *work, size_t row) {
    for (size_t head = 0; head < work->heads.heads; head++) {
        float *out = head_of(work->out_heads, row, head);
        work->kernels->rms_norm(head_of(work->heads, row, head), work->weight, work->epsilon,
                                work->heads.size, out);
        work->kernels->rotary(out, row_of(work->x, row), row_of(work->y, row), work->x.columns);
    }
}

void clef_cpu_norm_rotate(clef_backend *backend, clef_heads x, const float *weight, float epsilon,
                          clef_matrix cosine, clef_matrix sine, clef_heads out) {
    row_work work = {.run = norm_rotate_row,
                     .heads = x,
                     .weight = weight,
                     .epsilon = epsilon,
                     .x = cosine,
                     .y = sine,
                     .out_heads = out};
    for_rows(backend, &work, x.rows, x.heads * x.size);
}

static void sigmoid_gate_row(const row_work *work, size_t row) {
    for (size_t head = 0; head < work->heads.heads; head++) {
        work->kernels->sigmoid_gate(head_of(work->heads, row, head),
                                    head_of(work->other_heads, row, head), work->heads.size);
    }
}

void clef_cpu_sigmoid_gate(clef_backend *backend, clef_heads x, clef_heads gate) {
    for_rows(backend, &(row_work){.run = sigmoid_gate_row, .heads = x, .other_heads = gate}, x.rows,
             4 * x.heads * x.size);
}

static void l2_norm_row(const row_work *work, size_t row) {
    for (size_t head = 0; head < work->heads.heads; head++) {
        work->kernels->l2_norm(head_of(work->heads, row, head), work->epsilon, work->scale,
                               work->heads.size);
    }
}

void clef_cpu_l2_norm(clef_backend *backend, clef_heads x, float epsilon, float scale) {
    row_work work = {.run = l2_norm_row, .heads = x, .epsilon = epsilon, .scale = scale};
    for_rows(backend, &work, x.rows, x.heads * x.size);
}

static void delta_gates_row(const row_work *work, size_t row) {
    work->kernels->delta_gates(row_of(work->x, row), row_of(work->y, row), work->weight, work->bias,
                               work->x.columns);
}

void clef_cpu_delta_gates(clef_backend *backend, clef_matrix a, clef_matrix b, const float *a_log,
                          const float *dt_bias) {
    row_work work = {.run = delta_gates_row, .x = a, .y = b, .weight = a_log, .bias = dt_bias};
    for_rows(backend, &work, a.rows, 8 * a.columns);
}

static void gated_norm_row(const row_work *work, size_t row) {
    for (size_t head = 0; head < work->heads.heads; head++) {
        work->kernels->gated_norm(head_of(work->heads, row, head), work->weight, work->epsilon,
                                  head_of(work->other_heads, row, head), work->heads.size);
    }
}

void clef_cpu_gated_norm(clef_backend *backend, clef_heads x, const float *weight, float epsilon,
                         clef_heads gate) {
    row_work work = {.run = gated_norm_row,
                     .heads = x,
                     .weight = weight,
                     .epsilon = epsilon,
                     .other_heads = gate};
    for_rows(backend, &work, x.rows, 4 * x.heads * x.size);
}
