/* Inputs of attention inside a frame in bfloat16, as for fp32 with odd head sizes and key counts
 * around its blocks; and of the rounding of keys and values before it. */
#include "kernel_frame.h"

#include "base/memory.h"
#include "support.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>

static const size_t row_counts[] = {1, 5, 16, 17, 31, 33, 64};
static const size_t sizes[] = {4, 17, 20, 64, 72, 99};
static const size_t key_counts[] = {1, 4, 23, 127, 128, 129, 260, 381};

/* ---- attention ---- */

typedef struct arguments {
    clef_frame_attention_bf16 frame;
    float *scratch;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

/* Keys of an odd size end with a zero, as their rounding leaves them. */
static const uint16_t *draw_keys(kernel_input *input, size_t keys, size_t size) {
    size_t stride = clef_rounded_key_size(size);
    uint16_t *numbers = kernel_bf16(input, KERNEL_READ, keys * stride, 3);
    for (size_t j = 0; j < keys && stride > size; j++) {
        numbers[j * stride + size] = 0;
    }
    return numbers;
}

static void draw_frame(kernel_input *input, frame_sizes drawn) {
    size_t rows = drawn.rows, size = drawn.size, keys = drawn.keys;
    arguments *a = arguments_of(input);
    clef_frame_attention_bf16 *f = &a->frame;
    *f = (clef_frame_attention_bf16){
        .rows = rows, .size = size, .keys = keys, .scale = 1.0f / sqrtf((float)size)};
    f->query_stride = size + kernel_choose(input, 3);
    f->out_stride = size + kernel_choose(input, 3);
    f->query = kernel_matrix(input, KERNEL_READ, rows, size, f->query_stride, drawn.spread).data;
    f->key = draw_keys(input, keys, size);
    f->value = kernel_bf16(input, KERNEL_READ, (keys + 1) / 2 * size * 2, 2);
    f->out = kernel_matrix(input, KERNEL_WRITE, rows, size, f->out_stride, 0).data;
    a->scratch = kernel_bytes(input, KERNEL_SCRATCH,
                              clef_frame_attention_bf16_scratch_floats(size) * sizeof(float));
    /* A weight is rounded by at most 2^-8 of itself, and so is the sum of all. */
    input->formula_bound = 0x1p-7 + (double)(keys + 12) * 0x1p-24;
    frame_describe(input, &drawn);
}

static void draw(kernel_input *input, size_t index) {
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t size = KERNEL_PICK(&index, sizes);
    size_t keys = KERNEL_PICK(&index, key_counts);
    draw_frame(input, (frame_sizes){rows, size, keys, frame_spreads[index]});
}

static void draw_timing(kernel_input *input, size_t index) {
    static const frame_sizes timed[] = {
        {64, 72, 1024, 2}, {64, 72, 4096, 2}, {64, 64, 1024, 2}, {24, 72, 24, 2}};
    draw_frame(input, timed[index]);
}

/* The numbers as they are multiplied: queries rounded, keys and values widened and one a row. */
static void expect(kernel_input *input) {
    const clef_frame_attention_bf16 *f = &arguments_of(input)->frame;
    size_t rows = f->rows, size = f->size, keys = f->keys;
    size_t stride = clef_rounded_key_size(size);
    float *query = clef_allocate((rows + 2 * keys) * size, sizeof *query);
    assert_non_null(query);
    float *key = query + rows * size;
    float *value = key + keys * size;
    for (size_t i = 0; i < rows * size; i++) {
        float exact = f->query[i / size * f->query_stride + i % size];
        query[i] = clef_float_of_bf16(clef_bf16_of_float(exact));
    }
    for (size_t j = 0; j < keys; j++) {
        for (size_t n = 0; n < size; n++) {
            key[j * size + n] = clef_float_of_bf16(f->key[j * stride + n]);
            value[j * size + n] = clef_float_of_bf16(f->value[(j / 2 * size + n) * 2 + j % 2]);
        }
    }
    /* Errors of scores, of fp32, are small beside the rounding of weights. */
    frame_expect(input,
                 &(clef_frame_attention){.query = query,
                                         .query_stride = size,
                                         .rows = rows,
                                         .key = key,
                                         .value = value,
                                         .key_stride = size,
                                         .keys = keys,
                                         .size = size,
                                         .scale = f->scale,
                                         .out = f->out,
                                         .out_stride = f->out_stride},
                 0x1p-12);
    clef_release(query);
}

static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_frame_attention_bf16_kernel *)kernel)(&a->frame, a->scratch);
}

const kernel_contract contract_of_frame_attention_bf16 = {
    .input_count = 7 * 6 * 8 * 2,
    .draw = draw,
    .timing_count = 4,
    .draw_timing = draw_timing,
    .expect = expect,
    .run = run,
};

/* ---- rounding ---- */

static clef_frame_pair *pair_of(kernel_input *input) {
    return (clef_frame_pair *)(void *)input->arguments;
}

static void draw_pair(kernel_input *input, size_t index) {
    size_t count = 1 + index % 2;
    double range = index / 12 == 0 ? 1 : 300;
    size_t size = sizes[index / 2 % 6];
    clef_frame_pair *p = pair_of(input);
    *p = (clef_frame_pair){.size = size};
    for (size_t k = 0; k < count; k++) {
        p->key[k] = kernel_floats(input, KERNEL_READ, size, range);
        p->value[k] = kernel_floats(input, KERNEL_READ, size, range);
    }
    p->rounded_key = kernel_bytes(input, KERNEL_WRITE, count * clef_rounded_key_size(size) * 2);
    p->rounded_value = kernel_bytes(input, KERNEL_WRITE, size * 2 * sizeof(uint16_t));
    snprintf(input->label, sizeof input->label, "%zu keys of size %zu, numbers to %g", count, size,
             range);
}

static void expect_number(kernel_input *input, const uint16_t *at, const float *number) {
    uint16_t bits = number == NULL ? 0 : clef_bf16_of_float(*number);
    const uint8_t *bytes = (const uint8_t *)at;
    kernel_expect(input, bytes, bits & 255, 1);
    kernel_expect(input, bytes + 1, bits >> 8, 1);
}

static void expect_pair(kernel_input *input) {
    const clef_frame_pair *p = pair_of(input);
    size_t stride = clef_rounded_key_size(p->size);
    for (size_t k = 0; k < 2 && p->key[k] != NULL; k++) {
        for (size_t n = 0; n < stride; n++) {
            expect_number(input, p->rounded_key + k * stride + n,
                          n < p->size ? p->key[k] + n : NULL);
        }
    }
    for (size_t n = 0; n < p->size; n++) {
        expect_number(input, p->rounded_value + 2 * n, p->value[0] + n);
        expect_number(input, p->rounded_value + 2 * n + 1,
                      p->value[1] == NULL ? NULL : p->value[1] + n);
    }
}

static void run_pair(kernel_function *kernel, kernel_input *input) {
    ((clef_round_frame_pair_kernel *)kernel)(pair_of(input));
}

const kernel_contract contract_of_round_frame_pair = {
    .input_count = 2 * 6 * 2, .draw = draw_pair, .expect = expect_pair, .run = run_pair};
