/* Inputs of the delta rule: any number of rows of a chunk, with empty and with running state. The
 * formula is the recurrence in double, for the step and for the chunk. */
#include "kernel_case.h"

#include "base/memory.h"
#include "support.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64};
static const size_t head_sizes[][2] = {{1, 1}, {16, 24}, {24, 17}, {32, 32}, {64, 48}, {128, 128}};

#define GATE_VARIANTS 4

typedef struct arguments {
    clef_delta_head head;
    float *scratch;
} arguments;

/* Decays g: moderate, none at all, so strong that e^{-G} overflows, and of every size. */
static void draw_gates(kernel_input *input, float *g, float *beta, size_t count, size_t variant) {
    for (size_t i = 0; i < count; i++) {
        double decay = kernel_between(input, -0.5, 0);
        decay = variant == 1 ? 0 : decay;
        decay = variant == 2 ? decay * 200 : decay;
        decay = variant == 3 ? -exp(kernel_between(input, -12, 4)) : decay;
        g[i] = (float)decay;
        beta[i] = (float)kernel_uniform(input);
    }
}

/* Rows of length `scale`, as the l2 norm leaves them. */
static void normalise(float *rows, size_t count, size_t size, size_t stride, double scale) {
    for (size_t i = 0; i < count; i++) {
        double squares = 1e-6;
        for (size_t n = 0; n < size; n++) {
            squares += (double)rows[i * stride + n] * rows[i * stride + n];
        }
        for (size_t n = 0; n < size; n++) {
            rows[i * stride + n] = (float)(rows[i * stride + n] * scale / sqrt(squares));
        }
    }
}

static void draw_head(kernel_input *input, size_t rows, const size_t *shape, size_t variant) {
    arguments *a = (arguments *)(void *)input->arguments;
    size_t key_size = shape[0];
    size_t value_size = shape[1];
    size_t key_stride = key_size + kernel_choose(input, 4);
    size_t value_stride = value_size + kernel_choose(input, 4);
    size_t gate_stride = 1 + kernel_choose(input, 3);
    float *query = kernel_matrix(input, KERNEL_READ, rows, key_size, key_stride, 1).data;
    float *key = kernel_matrix(input, KERNEL_READ, rows, key_size, key_stride, 1).data;
    normalise(query, rows, key_size, key_stride, 1 / sqrt((double)key_size));
    normalise(key, rows, key_size, key_stride, 1);
    float *g = kernel_floats(input, KERNEL_READ, (rows - 1) * gate_stride + 1, 1);
    float *beta = kernel_floats(input, KERNEL_READ, (rows - 1) * gate_stride + 1, 1);
    draw_gates(input, g, beta, (rows - 1) * gate_stride + 1, variant);
    double state_range = kernel_choose(input, 2) == 0 ? 0 : 0.5;
    a->head = (clef_delta_head){
        .query = query,
        .key = key,
        .key_stride = key_stride,
        .value = kernel_matrix(input, KERNEL_READ, rows, value_size, value_stride, 2).data,
        .value_stride = value_stride,
        .g = g,
        .beta = beta,
        .gate_stride = gate_stride,
        .state = kernel_floats(input, KERNEL_CHANGE, key_size * value_size, state_range),
        .out = kernel_matrix(input, KERNEL_WRITE, rows, value_size, value_stride, 0).data,
        .out_stride = value_stride,
        .rows = rows,
        .key_size = key_size,
        .value_size = value_size};
    a->scratch = kernel_bytes(input, KERNEL_SCRATCH,
                              clef_delta_scratch_floats(key_size, value_size) * sizeof(float));
    input->formula_bound = (double)(key_size + rows + 16) * 0x1p-24;
    snprintf(input->label, sizeof input->label, "rows %zu, head %zu to %zu, gates %zu", rows,
             key_size, value_size, variant);
}

static void draw(kernel_input *input, size_t index) {
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t variant = index % GATE_VARIANTS;
    draw_head(input, rows, head_sizes[index / GATE_VARIANTS], variant);
}

static void time_chunk(kernel_input *input, size_t index) {
    static const size_t shapes[][2] = {{128, 128}, {32, 32}};
    const size_t *shape = shapes[index];
    draw_head(input, 64, shape, 0);
    double key = (double)shape[0];
    double value = (double)shape[1];
    /* Products K·Kᵀ and Q·Kᵀ, both solves and P·V' by halves, three products with S. */
    input->operations = 2 * 64 * (64 * key + 32 * (key + 2 * value) + 3 * key * value);
}

static void time_step(kernel_input *input, size_t index) {
    (void)index;
    draw_head(input, 1, (const size_t[]){128, 128}, 0);
    input->traffic_bytes = 2.0 * 128 * 128 * sizeof(float);
}

/* One value column of the recurrence. `state` is S[·, n]; `reach` adds up the absolute
 * products of each update, which is what rounding errors are relative to. */
static void expect_column(kernel_input *input, const clef_delta_head *h, size_t n, double *state,
                          double *reach) {
    for (size_t k = 0; k < h->key_size; k++) {
        state[k] = h->state[k * h->value_size + n];
        reach[k] = fabs(state[k]);
    }
    for (size_t i = 0; i < h->rows; i++) {
        const float *query = h->query + i * h->key_stride;
        const float *key = h->key + i * h->key_stride;
        double decay = exp(h->g[i * h->gate_stride]);
        double beta = h->beta[i * h->gate_stride];
        double value = h->value[i * h->value_stride + n];
        double read = 0;
        double read_reach = 0;
        for (size_t k = 0; k < h->key_size; k++) {
            state[k] *= decay;
            reach[k] *= decay;
            read += key[k] * state[k];
            read_reach += fabs(key[k] * state[k]);
        }
        double out = 0;
        double out_reach = 0;
        for (size_t k = 0; k < h->key_size; k++) {
            state[k] += key[k] * beta * (value - read);
            reach[k] += fabs(key[k]) * beta * (fabs(value) + read_reach);
            out += query[k] * state[k];
            out_reach += fabs(query[k]) * reach[k];
        }
        kernel_expect(input, h->out + i * h->out_stride + n, out, out_reach + KERNEL_NEGLIGIBLE);
    }
    for (size_t k = 0; k < h->key_size; k++) {
        kernel_expect(input, h->state + k * h->value_size + n, state[k],
                      reach[k] + KERNEL_NEGLIGIBLE);
    }
}

static void expect(kernel_input *input) {
    const clef_delta_head *head = &((arguments *)(void *)input->arguments)->head;
    double *columns = clef_allocate(2 * head->key_size, sizeof *columns);
    assert_non_null(columns);
    for (size_t n = 0; n < head->value_size; n++) {
        expect_column(input, head, n, columns, columns + head->key_size);
    }
    clef_release(columns);
}

/* Both kernels have one signature. */
static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = (const arguments *)(const void *)input->arguments;
    ((clef_delta_chunk_kernel *)kernel)(&a->head, a->scratch);
}

#define INPUT_COUNT (12 * 6 * GATE_VARIANTS)

const kernel_contract contract_of_delta_chunk = {INPUT_COUNT, draw, 2, time_chunk, expect, run};
const kernel_contract contract_of_delta_step = {INPUT_COUNT, draw, 1, time_step, expect, run};
