/* What the suites and timings of kernels share. A contract draws inputs for one kernel type, runs a
 * kernel on them and says, in double and by the formula of the contract's header, what must come
 * out; a new level needs its line in kernels.def alone, a new kernel type needs one contract
 * besides.
 *
 * Inputs lie in regions of their own: the page behind the last element cannot be read or written,
 * the bytes before the first are watched, and whatever is no input holds NaN. */
#ifndef CLEF_TEST_KERNEL_CASE_H
#define CLEF_TEST_KERNEL_CASE_H

#include "backend/cpu/kernel_table.h"

/* Any kernel; contracts cast it back to their type. */
typedef void kernel_function(void);

typedef enum kernel_use {
    KERNEL_READ,    /* must stay as it is */
    KERNEL_CHANGE,  /* read and written */
    KERNEL_WRITE,   /* written; holds NaN before */
    KERNEL_SCRATCH, /* anything may stand there afterwards */
} kernel_use;

typedef enum kernel_element {
    KERNEL_BYTE,
    KERNEL_FLOAT,
    KERNEL_DOUBLE,
} kernel_element;

typedef struct kernel_region {
    unsigned char *bytes; /* first element */
    size_t count;
    kernel_element element;
    kernel_use use;
    unsigned char *mapping; /* owned; mapped_bytes readable bytes, then the guard page */
    size_t mapped_bytes;
    unsigned char *before; /* owned; the mapping as it was drawn */
    unsigned char *after;  /* owned; the elements as the reference left them */
    double *expected;      /* owned; [count] by formula */
    double *magnitude; /* owned; [count] what errors are relative to; negative: stays as it is */
} kernel_region;

#define KERNEL_REGION_LIMIT 12

typedef struct kernel_input {
    char label[160]; /* sizes, for messages */
    kernel_region regions[KERNEL_REGION_LIMIT];
    size_t region_count;
    uint64_t random;
    double formula_bound; /* error of the reference relative to the magnitude */
    double operations;    /* timings: floating-point operations, 0 when memory is the limit */
    double traffic_bytes; /* timings: bytes read and written */
    _Alignas(max_align_t) unsigned char arguments[256]; /* of the contract */
} kernel_input;

typedef struct kernel_contract {
    size_t input_count;
    void (*draw)(kernel_input *input, size_t index);
    size_t timing_count;
    void (*draw_timing)(kernel_input *input, size_t index);
    void (*expect)(kernel_input *input); /* before any run */
    void (*run)(kernel_function *kernel, kernel_input *input);
} kernel_contract;

/* Contracts of all operations of the list: contract_of_matmul, … */
#define CLEF_OPERATION(operation, type) extern const kernel_contract contract_of_##operation;
#include "backend/cpu/kernels.def"

/* ---- drawing ---- */

void kernel_input_begin(kernel_input *input, uint64_t seed);
void kernel_input_end(kernel_input *input);

/* A number of [0, 1), [low, high) or {0, …, count - 1}. */
double kernel_uniform(kernel_input *input);
double kernel_between(kernel_input *input, double low, double high);
size_t kernel_choose(kernel_input *input, size_t count);

/* Element index mod count of a list; index becomes what is left of it. */
size_t kernel_pick(size_t *index, const size_t *list, size_t count);
#define KERNEL_PICK(index, list) kernel_pick((index), (list), sizeof(list) / sizeof((list)[0]))

void *kernel_bytes(kernel_input *input, kernel_use use, size_t bytes);
/* Numbers of [-range, range), or NaN for KERNEL_WRITE. */
float *kernel_floats(kernel_input *input, kernel_use use, size_t count, double range);
uint16_t *kernel_bf16(kernel_input *input, kernel_use use, size_t count, double range);
double *kernel_doubles(kernel_input *input, kernel_use use, size_t count, double range);
/* [rows, columns] with NaN between the rows and no element behind the last. */
clef_matrix kernel_matrix(kernel_input *input, kernel_use use, size_t rows, size_t columns,
                          size_t stride, double range);

/* ---- checking ---- */

/* Added to magnitudes: numbers this small may as well be zero, as in a polynomial with a clamp. */
#define KERNEL_NEGLIGIBLE 1e-24

/* One unit in the last place of fp32. */
#define KERNEL_EPSILON 0x1p-23

/* States what must stand at an element of a region; elements never named must stay as they are. */
void kernel_expect(kernel_input *input, const void *element, double value, double magnitude);

/* Copies everything as it was drawn / puts it back. */
void kernel_input_save(kernel_input *input);
void kernel_input_restore(kernel_input *input);
/* Keeps the present outputs as those of the reference. */
void kernel_input_keep(kernel_input *input);

/* Each fails the running test with the label, the place and both values. */
void kernel_check_formula(kernel_input *input);
void kernel_check_agreement(kernel_input *input, double bound); /* bound 0: to the bit */

/* ---- timings ---- */

/* One line of kernels.def. */
typedef struct kernel_line {
    const char *operation;
    clef_level level;
    kernel_function *function;
    double agreement;
    const kernel_contract *contract;
    kernel_function *reference;
} kernel_line;

/* Prints medians for each line whose "operation/level" contains the filter (NULL: all). */
int kernel_print_timings(const kernel_line *lines, size_t count, const char *filter);

#endif
