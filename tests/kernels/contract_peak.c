/* Inputs of the peaks: sums of a known number of equal products, and reading of any length. */
#include "kernel_case.h"

#include <stdio.h>

static const size_t block_counts[] = {0, 1, 2, 3, 17};
static const int8_t pairs[][2] = {{1, 1}, {0, 7}, {3, -2}, {11, 5}, {7, -9}};
static const size_t word_counts[] = {0, 1, 31, 63, 64, 65, 127, 128, 129, 1000};

typedef struct arguments {
    size_t blocks;
    int8_t *pair;
    uint32_t *words;
    size_t count;
    double *sum;
} arguments;

static arguments *arguments_of(kernel_input *input) {
    return (arguments *)(void *)input->arguments;
}

/* ---- multiply-adds ---- */

static void draw_blocks(kernel_input *input, size_t blocks, const int8_t pair[2]) {
    arguments *a = arguments_of(input);
    *a = (arguments){.blocks = blocks,
                     .pair = kernel_bytes(input, KERNEL_READ, 2),
                     .sum = kernel_doubles(input, KERNEL_WRITE, 1, 0)};
    a->pair[0] = pair[0];
    a->pair[1] = pair[1];
    input->formula_bound = 0; /* every sum is a whole number that fp32 holds */
    input->operations = 2.0 * (double)blocks * CLEF_PEAK_BLOCK;
    snprintf(input->label, sizeof input->label, "%zu blocks of %d times %d", blocks, pair[0],
             pair[1]);
}

static void draw_products(kernel_input *input, size_t index) {
    size_t blocks = KERNEL_PICK(&index, block_counts);
    draw_blocks(input, blocks, pairs[index]);
}

static void time_products(kernel_input *input, size_t index) {
    (void)index;
    draw_blocks(input, 4096, pairs[0]);
}

static void expect_products(kernel_input *input) {
    const arguments *a = arguments_of(input);
    double sum = (double)a->blocks * CLEF_PEAK_BLOCK * a->pair[0] * a->pair[1];
    kernel_expect(input, a->sum, sum, 1);
}

static void run_products(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_peak_kernel *)kernel)(a->blocks, a->pair, a->sum);
}

#define CONTRACT_OF_PRODUCTS                                                                       \
    { 5 * 5, draw_products, 1, time_products, expect_products, run_products }

const kernel_contract contract_of_peak_fma = CONTRACT_OF_PRODUCTS;
const kernel_contract contract_of_peak_bf16_dot = CONTRACT_OF_PRODUCTS;
const kernel_contract contract_of_peak_int8_dot = CONTRACT_OF_PRODUCTS;

/* ---- reading ---- */

static void draw_words(kernel_input *input, size_t count) {
    arguments *a = arguments_of(input);
    *a = (arguments){.words = kernel_bytes(input, KERNEL_READ, count * sizeof(uint32_t)),
                     .count = count,
                     .sum = kernel_doubles(input, KERNEL_WRITE, 1, 0)};
    for (size_t i = 0; i < count; i++) {
        a->words[i] = (uint32_t)kernel_choose(input, (size_t)1 << 32);
    }
    input->formula_bound = 0;
    input->traffic_bytes = (double)count * sizeof(uint32_t);
    snprintf(input->label, sizeof input->label, "%zu words", count);
}

static void draw_reading(kernel_input *input, size_t index) {
    draw_words(input, word_counts[index]);
}

static void time_reading(kernel_input *input, size_t index) {
    (void)index;
    draw_words(input, (size_t)1 << 24);
}

static void expect_reading(kernel_input *input) {
    const arguments *a = arguments_of(input);
    uint64_t sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        sum += a->words[i];
    }
    kernel_expect(input, a->sum, (double)(sum & 0xFFFFFFFF), 1);
}

static void run_reading(kernel_function *kernel, kernel_input *input) {
    const arguments *a = arguments_of(input);
    ((clef_peak_read_kernel *)kernel)(a->words, a->count, a->sum);
}

const kernel_contract contract_of_peak_read = {10,           draw_reading,   1,
                                               time_reading, expect_reading, run_reading};
