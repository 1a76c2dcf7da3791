/* Memory of the system: numbers that agree with what this process does. */
#include "base/system_memory.h"

#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#define BLOCK ((size_t)64 << 20)
#define SLACK ((size_t)4 << 20) /* the kernel counts in batches */

static void there_is_some(void **state) {
    (void)state;
    uint64_t available = clef_system_memory_available();
    assert_true(available > (uint64_t)1 << 20);
    assert_ok(clef_system_memory_require(1, "one byte", NULL), &(clef_error){0});
}

static void too_much_is_refused(void **state) {
    clef_error error = {0};
    char wanted[32];
    (void)state;
    if (clef_system_memory_available() == UINT64_MAX) {
        print_message("SKIP: this system does not say how much memory is left\n");
        skip();
    }
    uint64_t bytes = UINT64_MAX - 1;
    assert_int_equal(clef_system_memory_require(bytes, "the weights of a giant", &error),
                     CLEF_OUT_OF_MEMORY);
    snprintf(wanted, sizeof wanted, "%" PRIu64 " bytes", bytes);
    assert_non_null(strstr(error.message, "the weights of a giant"));
    assert_non_null(strstr(error.message, wanted));
    assert_non_null(strstr(error.message, "are available"));
}

/* A block that is written is held, and counts; after a restart, what was given back does not. */
static void the_peak_follows(void **state) {
    (void)state;
    uint64_t before = clef_system_memory_peak();
    if (before == 0) {
        print_message("SKIP: this system does not say how much memory a process holds\n");
        skip();
    }
    void *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    memset(block, 1, BLOCK);
    uint64_t held = clef_system_memory_peak();
    assert_true(held + SLACK >= BLOCK);
    assert_true(held + SLACK >= before);
    assert_int_equal(munmap(block, BLOCK), 0);
    assert_true(clef_system_memory_peak() + SLACK >= held);
    clef_system_memory_restart_peak();
    assert_true(clef_system_memory_peak() <= held + SLACK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_some),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(the_peak_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
