/* Every allocation of reading a configuration, listing its tensors and checking weights fails once,
 * at each place in turn: out of memory is reported, nothing is left behind. */
#include "../weights/failing_memory.h"
#include "../weights/weight_fixture.h"

#include "model/tensor_names.h"

/* Reads, lists and checks `directory` against the weights of `weights`. */
static clef_status check_directory(const char *directory, const char *weights, clef_error *error) {
    clef_config config = {0};
    clef_head_config head;
    clef_arena arena = {0};
    clef_tensor_demands demands;
    clef_weight_store *backbone = NULL;
    clef_status status = clef_config_load(directory, &config, error);
    if (status == CLEF_OK) {
        status = clef_head_config_load(directory, config.hidden_size, &head, NULL, error);
    }
    if (status == CLEF_OK) {
        status = clef_tensor_demands_list(&config, &head, &arena, &demands, error);
    }
    if (status == CLEF_OK && weights != NULL) {
        status = clef_weight_store_open(weights, &backbone, NULL, error);
    }
    if (status == CLEF_OK) {
        status = clef_tensor_demands_check(&demands, directory, backbone, NULL, error);
    }
    clef_weight_store_close(backbone);
    clef_arena_release(&arena);
    clef_config_release(&config);
    return status;
}

static void fail_each(const char *directory, const char *weights, size_t fewest) {
    for (size_t allowed = 0; allowed < 100000; allowed++) {
        clef_error error = {0};
        allocations_before_failure = allowed;
        size_t live_before = live_blocks;
        clef_status status = check_directory(directory, weights, &error);
        size_t live_after = live_blocks;
        allocations_before_failure = SIZE_MAX;
        assert_int_equal(live_after, live_before);
        if (status == CLEF_BAD_FILE) {
            /* It got as far as its finding: the head's file is missing. */
            ASSERT_MESSAGE(&error, "missing file: joint_head.safetensors");
            assert_true(allowed > fewest);
            return;
        }
        assert_int_equal(status, CLEF_OUT_OF_MEMORY);
    }
    fail_msg("it never gets through");
}

static void with_no_weights(void **state) {
    (void)state;
    fail_each(CLEF_FIXTURES "/configs/clef-flash", NULL, 20);
}

static void with_weights_of_another_model(void **state) {
    (void)state;
    fail_each(CLEF_FIXTURES "/tiny-random/release", CLEF_MODELS "/clef-tiny", 30);
}

static int allow_all(void **state) {
    (void)state;
    allocations_before_failure = SIZE_MAX;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_no_weights),
        cmocka_unit_test(with_weights_of_another_model),
    };
    return cmocka_run_group_tests(tests, allow_all, NULL);
}
