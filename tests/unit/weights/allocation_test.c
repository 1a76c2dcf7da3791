/* Every allocation of opening weights fails once, at each place in turn: the answer is always out
 * of memory, and nothing is left behind. */
#include "failing_memory.h"
#include "weight_fixture.h"

#include "weights/safetensors.h"

static clef_status open_bytes(const void *subject, clef_error *error) {
    const clef_text *bytes = subject;
    clef_safetensors *file = NULL;
    clef_status status = clef_safetensors_parse("x", bytes->bytes, bytes->length, &file, error);
    assert_true((status == CLEF_OK) == (file != NULL));
    clef_safetensors_close(file);
    return status;
}

static clef_status open_directory(const void *subject, clef_error *error) {
    clef_weight_store *store = NULL;
    bool is_absent = true;
    clef_status status = clef_weight_store_open(subject, &store, &is_absent, error);
    assert_true((status == CLEF_OK) == (store != NULL));
    assert_false(is_absent);
    clef_weight_store_close(store);
    return status;
}

static clef_status open_path(const void *subject, clef_error *error) {
    clef_weight_store *store = NULL;
    clef_status status = clef_weight_store_open_file(subject, &store, NULL, error);
    clef_weight_store_close(store);
    return status;
}

static void a_file_with_copies_and_escapes(void **state) {
    (void)state;
    clef_text bytes = build_file("{\"__metadata__\":{\"\\u006b\":\"\\n\"},"
                                 "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],"
                                 "\"data_offsets\":[0,1]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}",
                                 5);
    assert_true(fail_each(open_bytes, &bytes) > 6);
    release_text(bytes);
}

static void a_directory_of_shards(void **state) {
    (void)state;
    assert_true(fail_each(open_directory, fixture("tiny-random/release")) > 20);
}

static void a_single_file_with_a_warning(void **state) {
    (void)state;
    char directory[256];
    make_directory(directory);
    write_weights(directory, "model.safetensors", "{}", 0);
    write_string(directory, "stray.safetensors", "x");
    assert_true(fail_each(open_directory, directory) > 8);
    remove_directory(directory);
}

static void one_file_by_name(void **state) {
    (void)state;
    assert_true(fail_each(open_path, CLEF_MODELS "/clef-tiny/joint_head.safetensors") > 4);
}

static int allow_all(void **state) {
    (void)state;
    allocations_before_failure = SIZE_MAX;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_with_copies_and_escapes),
        cmocka_unit_test(a_directory_of_shards),
        cmocka_unit_test(a_single_file_with_a_warning),
        cmocka_unit_test(one_file_by_name),
    };
    return cmocka_run_group_tests(tests, allow_all, NULL);
}
