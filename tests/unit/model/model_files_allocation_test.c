/* Every allocation of reading a configuration, listing its tensors and checking weights fails once,
 * at each place in turn: out of memory is reported, nothing is left behind. */
#include "../weights/failing_memory.h"
#include "../weights/weight_fixture.h"

#include "model/tensor_names.h"

typedef struct model_files {
    const char *directory, *weights; /* NULL: none */
} model_files;

/* Reads, lists and checks a directory against the weights of another. It gets through to its
 * finding: the head's file is missing. */
static clef_status check_files(const void *subject, clef_error *error) {
    const model_files *files = subject;
    clef_config config = {0};
    clef_head_config head;
    clef_arena arena = {0};
    clef_tensor_demands demands;
    clef_weight_store *backbone = NULL;
    clef_status status = clef_config_load(files->directory, &config, error);
    if (status == CLEF_OK) {
        status = clef_head_config_load(files->directory, config.hidden_size, &head, NULL, error);
    }
    if (status == CLEF_OK) {
        status = clef_tensor_demands_list(&config, &head, &arena, &demands, error);
    }
    if (status == CLEF_OK && files->weights != NULL) {
        status = clef_weight_store_open(files->weights, &backbone, NULL, error);
    }
    if (status == CLEF_OK) {
        status = clef_tensor_demands_check(&demands, files->directory, backbone, NULL, error);
        assert_int_not_equal(status, CLEF_OK);
    }
    clef_weight_store_close(backbone);
    clef_arena_release(&arena);
    clef_config_release(&config);
    if (status == CLEF_BAD_FILE) {
        ASSERT_MESSAGE(error, "missing file: joint_head.safetensors");
        status = CLEF_OK;
    }
    return status;
}

static void with_no_weights(void **state) {
    (void)state;
    const model_files files = {.directory = CLEF_FIXTURES "/configs/clef-flash"};
    assert_true(fail_each(check_files, &files) > 20);
}

static void with_weights_of_another_model(void **state) {
    (void)state;
    const model_files files = {.directory = CLEF_FIXTURES "/tiny-random/release",
                               .weights = CLEF_MODELS "/clef-tiny"};
    assert_true(fail_each(check_files, &files) > 30);
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
