/* Inputs of attention inside a frame: head sizes of the towers there are and odd ones, key counts
 * around the blocks, scores from flat to steep. */
#include "kernel_frame.h"

#include <math.h>

static const size_t row_counts[] = {1, 2, 5, 15, 16, 17, 33, 63, 64};
static const size_t sizes[] = {4, 16, 20, 64, 72, 100};
static const size_t key_counts[] = {1, 4, 24, 63, 64, 65, 128, 204};

typedef struct arguments {
    clef_frame_attention frame;
    float *scratch;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

static void draw_frame(kernel_input *input, frame_sizes drawn) {
    size_t rows = drawn.rows, size = drawn.size, keys = drawn.keys;
    arguments *a = arguments_of(input);
    clef_frame_attention *f = &a->frame;
    *f = (clef_frame_attention){
        .rows = rows, .size = size, .keys = keys, .scale = 1.0f / sqrtf((float)size)};
    f->query_stride = size + kernel_choose(input, 3);
    f->key_stride = size + kernel_choose(input, 3);
    f->out_stride = size + kernel_choose(input, 3);
    f->query = kernel_matrix(input, KERNEL_READ, rows, size, f->query_stride, drawn.spread).data;
    f->key = kernel_matrix(input, KERNEL_READ, keys, size, f->key_stride, 3).data;
    f->value = kernel_matrix(input, KERNEL_READ, keys, size, f->key_stride, 2).data;
    f->out = kernel_matrix(input, KERNEL_WRITE, rows, size, f->out_stride, 0).data;
    a->scratch = kernel_bytes(input, KERNEL_SCRATCH,
                              clef_frame_attention_scratch_floats(size) * sizeof(float));
    input->formula_bound = (double)(keys + 12) * 0x1p-24;
    frame_describe(input, &drawn);
}

static void draw(kernel_input *input, size_t index) {
    size_t rows = KERNEL_PICK(&index, row_counts);
    size_t size = KERNEL_PICK(&index, sizes);
    size_t keys = KERNEL_PICK(&index, key_counts);
    draw_frame(input, (frame_sizes){rows, size, keys, frame_spreads[index]});
}

static void draw_timing(kernel_input *input, size_t index) {
    static const frame_sizes timed[] = {{64, 72, 1024, 2}, {64, 64, 1024, 2}, {24, 72, 24, 2}};
    draw_frame(input, timed[index]);
}

static void expect(kernel_input *input) {
    frame_expect(input, &arguments_of(input)->frame, 2);
}

static void run(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_frame_attention_kernel *)kernel)(&a->frame, a->scratch);
}

const kernel_contract contract_of_frame_attention = {
    .input_count = 9 * 6 * 8 * 2,
    .draw = draw,
    .timing_count = 3,
    .draw_timing = draw_timing,
    .expect = expect,
    .run = run,
};
