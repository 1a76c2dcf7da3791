/* Memory that runs out at any place of quantising a small model: it is reported,
 * and neither a block nor a file is left. */
#include "quantize_support.h"

#include "../unit/weights/failing_memory.h"

static clef_runtime *runtime;

/* With a record, inputs are measured as well. */
static clef_status try_quantize(const output_place *place, clef_record *record, clef_error *error) {
    const clef_quantize_options options = {
        .recipe = "{\"rules\":[{\"tensors\":\"mlp.*\",\"type\":\"int4\"}]}",
        .file_bytes = 900000,
        .calibration_records = &record,
        .calibration_record_count = record == NULL ? 0 : 1,
        .calibration_source = "a test"};
    return clef_model_quantize(runtime, RANDOM_MODEL, place->output, &options, error);
}

/* Runs with so many allocations allowed; true when it got through. */
static bool try_with(const output_place *place, clef_record *record, size_t allowed) {
    clef_error error = {0};
    size_t live_before = live_blocks;
    allocations_before_failure = allowed;
    clef_status status = try_quantize(place, record, &error);
    allocations_before_failure = SIZE_MAX;
    if (live_blocks != live_before) {
        fail_msg("allocation %zu: blocks are left", allowed);
    }
    if (status == CLEF_OK) {
        return true;
    }
    if (status != CLEF_OUT_OF_MEMORY) {
        fail_msg("allocation %zu: status %d, %s", allowed, status, error.message);
    }
    assert_true(error.message[0] != '\0');
    ASSERT_NAMES(place->root, "");
    return false;
}

static size_t fail_each_allocation(clef_record *record) {
    output_place place;
    size_t allowed = 0;
    make_place(&place);
    while (!try_with(&place, record, allowed)) {
        allowed++;
    }
    remove_place(&place);
    return allowed;
}

static size_t plain_count; /* of allocations, without a record */

static void every_allocation_may_fail(void **state) {
    (void)state;
    plain_count = fail_each_allocation(NULL);
    print_message("%zu allocations\n", plain_count);
    assert_true(plain_count > 150);
}

static void every_allocation_of_measuring_may_fail(void **state) {
    (void)state;
    static const char body[] = "{\"state\":\"late\",\"questions\":{\"a\":{\"type\":\"noul\","
                               "\"instructions\":\"Is it?\"}},\"model\":\"clef\"}";
    clef_error error = {0};
    clef_model *model;
    clef_record *record;
    allocations_before_failure = SIZE_MAX;
    assert_ok(clef_model_open(runtime, RANDOM_MODEL, NULL, &model, &error), &error);
    assert_ok(clef_record_encode(model, body, strlen(body), NULL, &record, &error), &error);
    size_t count = fail_each_allocation(record);
    print_message("%zu allocations\n", count);
    assert_true(count > plain_count + 15);
    allocations_before_failure = SIZE_MAX;
    clef_record_close(record);
    clef_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_measuring_may_fail),
    };
    clef_error error = {0};
    allocations_before_failure = SIZE_MAX;
    if (clef_runtime_create(&(clef_runtime_options){.thread_count = 1}, &runtime, &error) !=
        CLEF_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clef_runtime_close(runtime);
    return failed;
}
