/* Memory that runs out at any place of measuring: of a meter, of a model by formula, of a
 * measurement and its run. It is reported, and no block is left. */
#include "engine_support.h"

#include <clef/measure.h>

#include "../unit/weights/failing_memory.h"

static clef_runtime *runtime;
static clef_model *model;

static clef_status try_meter(const void *subject, clef_error *error) {
    (void)subject;
    clef_meter *meter = NULL;
    clef_status status = clef_meter_create(runtime, &meter, error);
    clef_meter_close(meter);
    return status;
}

static clef_status try_shape(const void *subject, clef_error *error) {
    (void)subject;
    clef_model *made = NULL;
    const clef_shape_options options = {.layer_count = 1, .recipe = "mixed"};
    clef_status status = clef_model_make(runtime, "qwen3.5-0.8b", &options, &made, error);
    clef_model_close(made);
    return status;
}

static clef_status try_run(const void *options, clef_error *error) {
    clef_measure *measure = NULL;
    clef_measured measured;
    clef_status status = clef_measure_create(model, options, &measure, error);
    if (status == CLEF_OK) {
        status = clef_measure_run(measure, &measured, error);
    }
    clef_measure_close(measure);
    return status;
}

static void a_meter(void **state) {
    (void)state;
    assert_true(fail_each(try_meter, NULL) >= 2);
}

static void a_shape(void **state) {
    (void)state;
    assert_true(fail_each(try_shape, NULL) >= 10);
}

static void a_run(void **state) {
    (void)state;
    const clef_measure_options options = {
        .sequence_count = 2, .token_count = 64, .layer_count = 1, .rows_per_step = 64};
    assert_true(fail_each(try_run, &options) >= 20);
}

static void a_picture(void **state) {
    (void)state;
    const clef_measure_options options = {.patch_count = 64, .layer_count = 1};
    assert_true(fail_each(try_run, &options) >= 8);
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
