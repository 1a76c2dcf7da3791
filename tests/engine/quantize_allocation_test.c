/* Memory that runs out at any place of quantising a small model: it is reported,
 * and neither a block nor a file is left. */
#include "quantize_support.h"

#include "../unit/weights/failing_memory.h"

static clef_runtime *runtime;

static clef_status try_quantize(const output_place *place, clef_error *error) {
    const clef_quantize_options options = {
        .recipe = "{\"rules\":[{\"tensors\":\"mlp.*\",\"type\":\"int4\"}]}", .file_bytes = 900000};
    return clef_model_quantize(runtime, RANDOM_MODEL, place->output, &options, error);
}

/* Runs with so many allocations allowed; true when it got through. */
static bool try_with(const output_place *place, size_t allowed) {
    clef_error error = {0};
    size_t live_before = live_blocks;
    allocations_before_failure = allowed;
    clef_status status = try_quantize(place, &error);
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

static void every_allocation_may_fail(void **state) {
    (void)state;
    output_place place;
    make_place(&place);
    size_t allowed = 0;
    while (!try_with(&place, allowed)) {
        allowed++;
    }
    print_message("%zu allocations\n", allowed);
    assert_true(allowed > 150);
    remove_place(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
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
