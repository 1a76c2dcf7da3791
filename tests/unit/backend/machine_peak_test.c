/* Peaks: every kind gives a rate that a machine can have, and the best is kept. What the rates are
 * is the machine's business. */
#include "backend/cpu/machine_peak.h"

#include "support.h"

#define READ_BYTES ((size_t)8 << 20)

static void sample_all(clef_level level, clef_machine_peak *peak) {
    clef_error error = {0};
    assert_ok(clef_machine_peak_create(level, NULL, READ_BYTES, peak, &error), &error);
    for (int kind = 0; kind < CLEF_MACHINE_PEAK_COUNT; kind++) {
        assert_true(peak->best[kind] == 0);
        clef_machine_peak_sample(peak, (clef_machine_peak_kind)kind);
        /* Between the first microprocessors and what no core of today does. */
        assert_true(peak->best[kind] > 1e6);
        assert_true(peak->best[kind] < 1e14);
    }
}

static void rates_on_every_level(void **state) {
    (void)state;
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        if (clef_level_is_supported((clef_level)level)) {
            clef_machine_peak peak;
            sample_all((clef_level)level, &peak);
            clef_machine_peak_release(&peak);
        }
    }
}

static void the_best_is_kept(void **state) {
    clef_machine_peak peak;
    (void)state;
    sample_all(clef_level_best(), &peak);
    for (int kind = 0; kind < CLEF_MACHINE_PEAK_COUNT; kind++) {
        double before = peak.best[kind];
        clef_machine_peak_sample(&peak, (clef_machine_peak_kind)kind);
        assert_true(peak.best[kind] >= before);
    }
    clef_machine_peak_release(&peak);
}

/* More memory than there can be. */
static void refused(void **state) {
    clef_error error = {0};
    clef_machine_peak peak;
    (void)state;
    assert_int_equal(clef_machine_peak_create(CLEF_LEVEL_reference, NULL, SIZE_MAX, &peak, &error),
                     CLEF_OUT_OF_MEMORY);
    clef_machine_peak_release(&peak);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_on_every_level),
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
