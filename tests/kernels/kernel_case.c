/* Guarded memory, random numbers and comparisons for the suites of kernels. */
#include "kernel_case.h"

#include "base/memory.h"
#include "support.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define POISON 0xFF /* NaN as bf16, f16, fp32 and double */

/* ---- drawing ---- */

void kernel_input_begin(kernel_input *input, uint64_t seed) {
    memset(input, 0, sizeof *input);
    input->random = seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
}

void kernel_input_end(kernel_input *input) {
    for (size_t i = 0; i < input->region_count; i++) {
        kernel_region *region = &input->regions[i];
        munmap(region->mapping, region->mapped_bytes + (size_t)sysconf(_SC_PAGESIZE));
        clef_release(region->before);
        clef_release(region->after);
        clef_release(region->expected);
        clef_release(region->magnitude);
    }
    input->region_count = 0;
}

/* SplitMix64. */
static uint64_t next_bits(kernel_input *input) {
    input->random += 0x9E3779B97F4A7C15u;
    uint64_t z = input->random;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double kernel_uniform(kernel_input *input) {
    return (double)(next_bits(input) >> 11) * 0x1p-53;
}

double kernel_between(kernel_input *input, double low, double high) {
    return low + (high - low) * kernel_uniform(input);
}

size_t kernel_choose(kernel_input *input, size_t count) {
    return (size_t)(next_bits(input) % count);
}

size_t kernel_pick(size_t *index, const size_t *list, size_t count) {
    size_t picked = list[*index % count];
    *index /= count;
    return picked;
}

static size_t size_of(kernel_element element) {
    static const size_t sizes[] = {1, sizeof(float), sizeof(double)};
    return sizes[element];
}

static void *add_region(kernel_input *input, kernel_use use, kernel_element element, size_t count) {
    assert_true(input->region_count < KERNEL_REGION_LIMIT);
    kernel_region *region = &input->regions[input->region_count++];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = count * size_of(element);
    size_t mapped = (bytes + 64 + page - 1) / page * page;
    unsigned char *mapping =
        mmap(NULL, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(mapping != MAP_FAILED);
    assert_int_equal(mprotect(mapping + mapped, page, PROT_NONE), 0);
    memset(mapping, POISON, mapped);
    /* Scratch begins aligned as its contract says; everything else ends at the guard page. */
    size_t start = mapped - bytes;
    start -= use == KERNEL_SCRATCH ? start % 64 : 0;
    *region = (kernel_region){.bytes = mapping + start,
                              .count = count,
                              .element = element,
                              .use = use,
                              .mapping = mapping,
                              .mapped_bytes = mapped};
    return region->bytes;
}

void *kernel_bytes(kernel_input *input, kernel_use use, size_t bytes) {
    return add_region(input, use, KERNEL_BYTE, bytes);
}

float *kernel_floats(kernel_input *input, kernel_use use, size_t count, double range) {
    return kernel_matrix(input, use, 1, count, count, range).data;
}

double *kernel_doubles(kernel_input *input, kernel_use use, size_t count, double range) {
    double *numbers = add_region(input, use, KERNEL_DOUBLE, count);
    for (size_t i = 0; use != KERNEL_WRITE && i < count; i++) {
        numbers[i] = kernel_between(input, -range, range);
    }
    return numbers;
}

uint16_t *kernel_bf16(kernel_input *input, kernel_use use, size_t count, double range) {
    uint16_t *numbers = kernel_bytes(input, use, count * sizeof *numbers);
    for (size_t i = 0; use != KERNEL_WRITE && i < count; i++) {
        numbers[i] = clef_bf16_of_float((float)kernel_between(input, -range, range));
    }
    return numbers;
}

clef_matrix kernel_matrix(kernel_input *input, kernel_use use, size_t rows, size_t columns,
                          size_t stride, double range) {
    float *data = add_region(input, use, KERNEL_FLOAT, (rows - 1) * stride + columns);
    for (size_t row = 0; use != KERNEL_WRITE && row < rows; row++) {
        for (size_t c = 0; c < columns; c++) {
            data[row * stride + c] = (float)kernel_between(input, -range, range);
        }
    }
    return (clef_matrix){data, rows, columns, stride};
}

/* ---- checking ---- */

static void *copy_bytes(const void *bytes, size_t count) {
    void *copy = clef_allocate(count, 1);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    return copy;
}

void kernel_expect(kernel_input *input, const void *element, double value, double magnitude) {
    const unsigned char *at = element;
    for (size_t i = 0; i < input->region_count; i++) {
        kernel_region *region = &input->regions[i];
        size_t size = size_of(region->element);
        if (at >= region->bytes && at < region->bytes + region->count * size) {
            size_t index = (size_t)(at - region->bytes) / size;
            region->expected[index] = value;
            region->magnitude[index] = magnitude;
            return;
        }
    }
    fail_msg("%s: an element outside every region", input->label);
}

void kernel_input_save(kernel_input *input) {
    for (size_t i = 0; i < input->region_count; i++) {
        kernel_region *region = &input->regions[i];
        region->before = copy_bytes(region->mapping, region->mapped_bytes);
        region->expected = clef_allocate(region->count, sizeof(double));
        region->magnitude = clef_allocate(region->count, sizeof(double));
        assert_non_null(region->expected);
        assert_non_null(region->magnitude);
        for (size_t n = 0; n < region->count; n++) {
            region->magnitude[n] = -1;
        }
    }
}

void kernel_input_restore(kernel_input *input) {
    for (size_t i = 0; i < input->region_count; i++) {
        kernel_region *region = &input->regions[i];
        if (region->use != KERNEL_READ) {
            memcpy(region->mapping, region->before, region->mapped_bytes);
        }
    }
}

void kernel_input_keep(kernel_input *input) {
    for (size_t i = 0; i < input->region_count; i++) {
        kernel_region *region = &input->regions[i];
        region->after = copy_bytes(region->bytes, region->count * size_of(region->element));
    }
}

/* The first byte that changed outside what a kernel may write, and inputs that changed. */
static void check_surroundings(const kernel_input *input, size_t index) {
    const kernel_region *region = &input->regions[index];
    size_t begin = (size_t)(region->bytes - region->mapping);
    size_t end = begin + region->count * size_of(region->element);
    for (size_t i = 0; i < region->mapped_bytes; i++) {
        bool is_inside = i >= begin && i < end;
        if (region->mapping[i] != region->before[i] && (!is_inside || region->use == KERNEL_READ)) {
            fail_msg("%s: region %zu was written at byte %td", input->label, index,
                     (ptrdiff_t)i - (ptrdiff_t)begin);
        }
    }
}

static double element_at(const kernel_region *region, const unsigned char *bytes, size_t index) {
    if (region->element == KERNEL_DOUBLE) {
        double number;
        memcpy(&number, bytes + index * sizeof number, sizeof number);
        return number;
    }
    if (region->element == KERNEL_BYTE) {
        return bytes[index];
    }
    float number;
    memcpy(&number, bytes + index * sizeof number, sizeof number);
    return number;
}

/* Elements that no formula names must hold the bits they had. */
static bool is_untouched(const kernel_region *region, size_t index) {
    size_t size = size_of(region->element);
    const unsigned char *before = region->before + (region->bytes - region->mapping);
    return memcmp(region->bytes + index * size, before + index * size, size) == 0;
}

static bool is_output(const kernel_region *region) {
    return region->use == KERNEL_WRITE || region->use == KERNEL_CHANGE;
}

/* Compares outputs with `wanted` (as stored) or, when NULL, with the formula. */
static void check_outputs(const kernel_input *input, size_t index, double bound) {
    const kernel_region *region = &input->regions[index];
    for (size_t i = 0; i < region->count; i++) {
        if (region->magnitude[i] < 0) {
            if (!is_untouched(region, i)) {
                fail_msg("%s: region %zu, element %zu is no output but was written", input->label,
                         index, i);
            }
            continue;
        }
        double found = element_at(region, region->bytes, i);
        double wanted =
            region->after == NULL ? region->expected[i] : element_at(region, region->after, i);
        double allowed = bound * region->magnitude[i];
        if (!(fabs(found - wanted) <= allowed)) {
            fail_msg("%s: region %zu, element %zu of %zu is %.9g, wanted %.9g within %.3g",
                     input->label, index, i, region->count, found, wanted, allowed);
        }
    }
}

void kernel_check_formula(kernel_input *input) {
    for (size_t i = 0; i < input->region_count; i++) {
        check_surroundings(input, i);
        if (is_output(&input->regions[i])) {
            check_outputs(input, i, input->formula_bound);
        }
    }
}

void kernel_check_agreement(kernel_input *input, double bound) {
    for (size_t i = 0; i < input->region_count; i++) {
        const kernel_region *region = &input->regions[i];
        check_surroundings(input, i);
        if (!is_output(region)) {
            continue;
        }
        if (bound == 0 &&
            memcmp(region->bytes, region->after, region->count * size_of(region->element)) != 0) {
            check_outputs(input, i, 0);
            fail_msg("%s: region %zu differs from the reference in a bit", input->label, i);
        }
        if (bound > 0) {
            check_outputs(input, i, bound);
        }
    }
}
