/* Inputs of one attention block: fresh and running states, causal and open masks, blocks whose last
 * keys nobody may see and therefore hold NaN. */
#include "kernel_case.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 2, 3, 7, 64};
static const size_t head_counts[] = {1, 3};
static const size_t sizes[] = {1, 16, 17, 32, 64, 128, 200};
static const size_t key_counts[] = {1, 2, 15, 16, 17, 63, 64};

typedef struct arguments {
    clef_attention_block block;
    float *scratch;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

/* Keys that row `row` sees. */
static size_t visible_keys(const clef_attention_block *block, size_t row) {
    ptrdiff_t visible = block->visible + (ptrdiff_t)row * block->visible_step;
    if (visible <= 0) {
        return 0;
    }
    return (size_t)visible < block->keys ? (size_t)visible : block->keys;
}

/* Running state of every row and head: none yet, or that of earlier blocks. */
static void draw_state(kernel_input *input, clef_attention_block *block, bool is_fresh) {
    size_t gap = kernel_choose(input, 3);
    block->state_stride = block->heads + gap;
    block->total_head_stride = block->heads == 1 ? 0 : block->size;
    block->total_row_stride = block->heads * block->size + gap;
    block->maximum =
        kernel_matrix(input, KERNEL_CHANGE, block->rows, block->heads, block->state_stride, 3).data;
    block->sum =
        kernel_matrix(input, KERNEL_CHANGE, block->rows, block->heads, block->state_stride, 0).data;
    block->total = kernel_matrix(input, KERNEL_CHANGE, block->rows, block->heads * block->size,
                                 block->total_row_stride, is_fresh ? 0 : 50)
                       .data;
    for (size_t row = 0; row < block->rows; row++) {
        for (size_t head = 0; head < block->heads; head++) {
            size_t at = row * block->state_stride + head;
            block->maximum[at] = is_fresh ? -INFINITY : block->maximum[at];
            block->sum[at] = is_fresh ? 0 : (float)kernel_between(input, 1, 60);
        }
    }
}

static void draw_block(kernel_input *input, const clef_attention_block *shape, bool is_fresh) {
    arguments *a = arguments_of(input);
    clef_attention_block *b = &a->block;
    *b = *shape;
    a->scratch =
        kernel_bytes(input, KERNEL_SCRATCH, clef_attention_scratch_floats(b->size) * sizeof(float));
    size_t gap = kernel_choose(input, 3);
    b->query_head_stride = b->heads == 1 ? 0 : b->size + gap;
    b->query_row_stride = b->heads * (b->size + gap) + gap;
    b->key_stride = b->size + gap;
    b->scale = 1.0f / sqrtf((float)b->size);
    size_t query_columns = b->heads * (b->size + gap) - gap;
    b->query =
        kernel_matrix(input, KERNEL_READ, b->rows, query_columns, b->query_row_stride, 2).data;
    float *keys = kernel_matrix(input, KERNEL_READ, b->keys, b->size, b->key_stride, 2).data;
    float *values = kernel_matrix(input, KERNEL_READ, b->keys, b->size, b->key_stride, 2).data;
    for (size_t j = visible_keys(b, b->rows - 1); j < b->keys; j++) {
        for (size_t n = 0; n < b->size; n++) {
            keys[j * b->key_stride + n] = NAN;
            values[j * b->key_stride + n] = NAN;
        }
    }
    b->key = keys;
    b->value = values;
    draw_state(input, b, is_fresh);
    input->formula_bound = (double)(b->size / 16 + b->keys + 12) * 0x1p-24;
    input->operations = 4.0 * (double)(b->rows * b->heads * b->keys * b->size);
}

static void draw(kernel_input *input, size_t index) {
    clef_attention_block shape = {.rows = KERNEL_PICK(&index, row_counts)};
    shape.heads = KERNEL_PICK(&index, head_counts);
    shape.size = KERNEL_PICK(&index, sizes);
    shape.keys = KERNEL_PICK(&index, key_counts);
    bool is_fresh = index % 2 == 0;
    bool is_causal = index / 2 == 0;
    shape.visible_step = is_causal ? 1 : 0;
    shape.visible = (ptrdiff_t)shape.keys;
    if (is_causal) {
        /* From a block that the first rows do not reach to one that all rows see in full. */
        shape.visible = (ptrdiff_t)kernel_choose(input, shape.keys + 6) - 3;
    }
    draw_block(input, &shape, is_fresh);
    snprintf(input->label, sizeof input->label,
             "rows %zu, heads %zu, size %zu, keys %zu, visible %td + row * %td, %s state",
             shape.rows, shape.heads, shape.size, shape.keys, shape.visible, shape.visible_step,
             is_fresh ? "fresh" : "running");
}

static void draw_timing(kernel_input *input, size_t index) {
    static const size_t shapes[][3] = {{64, 4, 256}, {64, 2, 64}, {1, 4, 256}, {16, 1, 64}};
    clef_attention_block shape = {.rows = shapes[index][0],
                                  .heads = shapes[index][1],
                                  .size = shapes[index][2],
                                  .keys = 64,
                                  .visible = 64};
    draw_block(input, &shape, false);
    snprintf(input->label, sizeof input->label, "rows %zu, heads %zu, size %zu, keys 64",
             shape.rows, shape.heads, shape.size);
}

/* One query over the keys it sees. An error of a score is a relative error of its weight, so the
 * magnitudes grow with the sum of absolute products behind the scores. */
static void expect_query(kernel_input *input, const clef_attention_block *b, size_t row,
                         size_t head) {
    const float *query = b->query + row * b->query_row_stride + head * b->query_head_stride;
    float *maximum = b->maximum + row * b->state_stride + head;
    float *sum = b->sum + row * b->state_stride + head;
    float *total = b->total + row * b->total_row_stride + head * b->total_head_stride;
    double scores[64];
    double highest = *maximum;
    double spread = isinf(*maximum) ? 0 : fabs(*maximum);
    size_t keys = visible_keys(b, row);
    for (size_t j = 0; j < keys; j++) {
        double magnitude = 0;
        scores[j] = 0;
        for (size_t n = 0; n < b->size; n++) {
            double term = (double)query[n] * b->key[j * b->key_stride + n] * b->scale;
            scores[j] += term;
            magnitude += fabs(term);
        }
        highest = fmax(highest, scores[j]);
        spread = fmax(spread, magnitude);
    }
    double correction = exp(*maximum - highest);
    double whole = *sum * correction;
    for (size_t j = 0; j < keys; j++) {
        whole += exp(scores[j] - highest);
    }
    kernel_expect(input, maximum, highest, spread);
    kernel_expect(input, sum, whole, whole * (1 + 2 * spread));
    for (size_t n = 0; n < b->size; n++) {
        double value = total[n] * correction;
        double magnitude = fabs(value);
        for (size_t j = 0; j < keys; j++) {
            double term = exp(scores[j] - highest) * b->value[j * b->key_stride + n];
            value += term;
            magnitude += fabs(term);
        }
        kernel_expect(input, total + n, value, magnitude * (1 + 2 * spread) + KERNEL_NEGLIGIBLE);
    }
}

static void expect(kernel_input *input) {
    const clef_attention_block *b = &arguments_of(input)->block;
    for (size_t row = 0; row < b->rows; row++) {
        for (size_t head = 0; visible_keys(b, row) > 0 && head < b->heads; head++) {
            expect_query(input, b, row, head);
        }
    }
}

static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_attention_block_kernel *)kernel)(&a->block, a->scratch);
}

const kernel_contract contract_of_attention_block = {
    .input_count = 5 * 2 * 7 * 7 * 4,
    .draw = draw,
    .timing_count = 4,
    .draw_timing = draw_timing,
    .expect = expect,
    .run = run,
};
