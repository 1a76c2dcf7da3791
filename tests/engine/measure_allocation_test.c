/* Memory that runs out at any place of measuring: of a meter, of a model by formula, of a
 * measurement and its run. It is reported, and no block is left. */
#include "engine_support.h"

#include <clef/measure.h>

#include "../unit/weights/failing_memory.h"

static clef_runtime *runtime;
static clef_model *model;

typedef clef_status attempt(clef_error *error);

static void fail_each(attempt *call, size_t fewest) {
    for (size_t allowed = 0; allowed < 10000; allowed++) {
        clef_error error = {0};
        size_t live_before = live_blocks;
        allocations_before_failure = allowed;
        clef_status status = call(&error);
        allocations_before_failure = SIZE_MAX;
        if (live_blocks != live_before) {
            fail_msg("allocation %zu: blocks are left", allowed);
        }
        if (status == CLEF_OK) {
            assert_true(allowed >= fewest);
            return;
        }
        if (status != CLEF_OUT_OF_MEMORY) {
            fail_msg("allocation %zu: status %d, %s", allowed, status, error.message);
        }
    }
    fail_msg("it never gets through");
}

static clef_status try_meter(clef_error *error) {
    clef_meter *meter = NULL;
    clef_status status = clef_meter_create(runtime, &meter, error);
    clef_meter_close(meter);
    return status;
}

static clef_status try_shape(clef_error *error) {
    clef_model *made = NULL;
    const clef_shape_options options = {.layer_count = 1, .recipe = "mixed"};
    clef_status status = clef_model_make(runtime, "qwen3.5-0.8b", &options, &made, error);
    clef_model_close(made);
    return status;
}

static clef_status try_run(clef_error *error) {
    clef_measure *measure = NULL;
    clef_measured measured;
    const clef_measure_options options = {
        .sequence_count = 2, .token_count = 64, .layer_count = 1, .rows_per_step = 64};
    clef_status status = clef_measure_create(model, &options, &measure, error);
    if (status == CLEF_OK) {
        status = clef_measure_run(measure, &measured, error);
    }
    clef_measure_close(measure);
    return status;
}

static clef_status try_patches(clef_error *error) {
    clef_measure *measure = NULL;
    clef_measured measured;
    const clef_measure_options options = {.patch_count = 64, .layer_count = 1};
    clef_status status = clef_measure_create(model, &options, &measure, error);
    if (status == CLEF_OK) {
        status = clef_measure_run(measure, &measured, error);
    }
    clef_measure_close(measure);
    return status;
}

static void a_meter(void **state) {
    (void)state;
    fail_each(try_meter, 2);
}

static void a_shape(void **state) {
    (void)state;
    fail_each(try_shape, 10);
}

static void a_run(void **state) {
    (void)state;
    fail_each(try_run, 20);
}

static void a_picture(void **state) {
    (void)state;
    fail_each(try_patches, 8);
}

static int begin(void **state) {
    (void)state;
    allocations_before_failure = SIZE_MAX;
    runtime = open_runtime(2, NULL);
    model = open_model(runtime, trained_model());
    return 0;
}

static int end(void **state) {
    (void)state;
    clef_model_close(model);
    clef_runtime_close(runtime);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_meter),
        cmocka_unit_test(a_shape),
        cmocka_unit_test(a_run),
        cmocka_unit_test(a_picture),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
