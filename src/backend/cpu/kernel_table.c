/* Chooses kernels. Lines of kernels.def stand in order of levels within an operation, so the last
 * one that is allowed wins. */
#include "backend/cpu/kernel_table.h"

clef_kernel_table clef_kernel_table_of(clef_level level) {
    clef_kernel_table table = {0};
#define CLEF_KERNEL(operation, needed, function, agreement)                                        \
    if (CLEF_LEVEL_##needed <= level) {                                                            \
        table.operation = function;                                                                \
    }
#include "backend/cpu/kernels.def"
    return table;
}
