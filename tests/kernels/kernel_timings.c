/* Timings of kernels on the contracts' own inputs: the median of single runs, each on restored
 * memory. */
#include "kernel_case.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

#define RUN_LIMIT 1001
#define BUDGET_NS 150000000u

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Median nanoseconds of one run. */
static double measure(const kernel_line *line, kernel_input *input, uint64_t *times) {
    uint64_t begin = clef_clock_ns();
    size_t runs = 0;
    while (runs < RUN_LIMIT && (runs < 3 || clef_clock_ns() - begin < BUDGET_NS)) {
        kernel_input_restore(input);
        uint64_t start = clef_clock_ns();
        line->contract->run(line->function, input);
        times[runs++] = clef_clock_ns() - start;
    }
    qsort(times, runs, sizeof *times, compare_times);
    return (double)times[runs / 2];
}

static void print_line(const kernel_line *line, uint64_t *times) {
    for (size_t i = 0; i < line->contract->timing_count; i++) {
        kernel_input input;
        kernel_input_begin(&input, i);
        line->contract->draw_timing(&input, i);
        kernel_input_save(&input);
        double ns = measure(line, &input, times);
        bool is_arithmetic = input.operations > 0;
        printf("%-18s %-11s %-44s %12.2f us %9.2f %s\n", line->operation,
               clef_level_name(line->level), input.label, ns / 1e3,
               (is_arithmetic ? input.operations : input.traffic_bytes) / ns,
               is_arithmetic ? "GFLOP/s" : "GB/s");
        fflush(stdout);
        kernel_input_end(&input);
    }
}

int kernel_print_timings(const kernel_line *lines, size_t count, const char *filter) {
    uint64_t *times = clef_allocate(RUN_LIMIT, sizeof *times);
    size_t printed = 0;
    for (size_t i = 0; times != NULL && i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s", lines[i].operation, clef_level_name(lines[i].level));
        if (clef_level_is_supported(lines[i].level) &&
            (filter == NULL || strstr(name, filter) != NULL)) {
            print_line(&lines[i], times);
            printed++;
        }
    }
    clef_release(times);
    if (printed == 0) {
        printf("no kernel of this machine is called like \"%s\"\n", filter == NULL ? "" : filter);
    }
    return printed == 0;
}
