/* Every line of kernels.def against the formulas (the reference) or against the reference (all
 * other levels), on odd sizes and guarded memory. The same program prints timings:
 *
 *     kernels_backend_kernels_test                    checks
 *     kernels_backend_kernels_test --bench [filter]   medians for "operation/level" names */
#include "kernel_case.h"

#include "support.h"

#include <stdio.h>

/* Agreements of the list, as a bound relative to the magnitude. */
#define EXACT          0.0
#define BOUNDED(bound) (bound)

enum {
#define CLEF_OPERATION(operation, type) OPERATION_##operation,
#include "backend/cpu/kernels.def"
    OPERATION_COUNT
};

enum {
#define CLEF_KERNEL(operation, level, function, agreement) LINE_##function,
#include "backend/cpu/kernels.def"
    LINE_COUNT
};

static const kernel_contract *const contracts[OPERATION_COUNT] = {
#define CLEF_OPERATION(operation, type) &contract_of_##operation,
#include "backend/cpu/kernels.def"
};

/* The list as data; what a line needs from its operation is joined here. */
static void list_lines(kernel_line lines[LINE_COUNT]) {
    clef_kernel_table reference = clef_kernel_table_of(CLEF_LEVEL_reference);
#define CLEF_KERNEL(of, needed, kernel, bound)                                                     \
    lines[LINE_##kernel] = (kernel_line){.operation = #of,                                         \
                                         .level = CLEF_LEVEL_##needed,                             \
                                         .function = (kernel_function *)kernel,                    \
                                         .agreement = bound,                                       \
                                         .contract = contracts[OPERATION_##of],                    \
                                         .reference = (kernel_function *)reference.of};
#include "backend/cpu/kernels.def"
}

static void check_input(const kernel_line *line, kernel_input *input) {
    kernel_input_save(input);
    line->contract->expect(input);
    line->contract->run(line->reference, input);
    if (line->function == line->reference) {
        kernel_check_formula(input);
        return;
    }
    kernel_input_keep(input);
    kernel_input_restore(input);
    line->contract->run(line->function, input);
    kernel_check_agreement(input, line->agreement);
}

static void check_kernel(void **state) {
    const kernel_line *line = *state;
    if (!clef_level_is_supported(line->level)) {
        print_message("SKIP: this machine has no %s\n", clef_level_name(line->level));
        skip();
    }
    assert_true(line->contract->input_count > 0);
    for (size_t i = 0; i < line->contract->input_count; i++) {
        kernel_input input;
        kernel_input_begin(&input, i + 1);
        line->contract->draw(&input, i);
        check_input(line, &input);
        kernel_input_end(&input);
    }
}

/* Levels only replace what the reference already fills. */
static void check_table_is_complete(void **state) {
    (void)state;
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        clef_kernel_table table = clef_kernel_table_of((clef_level)level);
        (void)table;
#define CLEF_OPERATION(operation, type) assert_true(table.operation != NULL);
#include "backend/cpu/kernels.def"
    }
}

int main(int argc, char **argv) {
    static kernel_line lines[LINE_COUNT];
    list_lines(lines);
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        return kernel_print_timings(lines, LINE_COUNT, argc > 2 ? argv[2] : NULL);
    }
    struct CMUnitTest tests[] = {
#define CLEF_KERNEL(operation, level, function, agreement)                                         \
    {#operation "/" #level, check_kernel, NULL, NULL, &lines[LINE_##function]},
#include "backend/cpu/kernels.def"
        cmocka_unit_test(check_table_is_complete),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
