/* A profiling backend computes what the one below it does, and books time to the operation that was
 * called and to no other. */
#include "backend/profile.h"

#include "support.h"

#define ROWS    8
#define COLUMNS 48

typedef struct fixture_backends {
    clef_backend *plain, *profiling;
    clef_profile profile;
} fixture_backends;

static int create(void **state) {
    static fixture_backends backends;
    clef_error error = {0};
    backends = (fixture_backends){0};
    assert_ok(clef_cpu_backend_create(NULL, NULL, &backends.plain, &error), &error);
    assert_ok(
        clef_profile_backend_create(backends.plain, &backends.profile, &backends.profiling, &error),
        &error);
    *state = &backends;
    return 0;
}

static int destroy(void **state) {
    fixture_backends *backends = *state;
    clef_backend_destroy(backends->profiling);
    clef_backend_destroy(backends->plain);
    return 0;
}

static void fill(float *values, size_t count, float step) {
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)((i * 37) % 101) * step - 0.5f;
    }
}

static void assert_only(const clef_profile *profile, clef_profile_operation operation) {
    for (int i = 0; i < CLEF_PROFILE_COUNT; i++) {
        assert_int_equal(profile->nanoseconds[i] > 0, i == (int)operation);
    }
}

static void a_product(void **state) {
    fixture_backends *backends = *state;
    float x[ROWS * COLUMNS], w[ROWS * COLUMNS], expected[ROWS * ROWS], found[ROWS * ROWS];
    fill(x, ROWS * COLUMNS, 0.01f);
    fill(w, ROWS * COLUMNS, 0.02f);
    clef_matrix in = {x, ROWS, COLUMNS, COLUMNS};
    clef_weight weight = {.data = w, .dtype = CLEF_DTYPE_F32, .rows = ROWS, .columns = COLUMNS};
    clef_backend *plain = backends->plain;
    clef_backend *profiling = backends->profiling;
    clef_linear(plain, in, weight, NULL, (clef_matrix){expected, ROWS, ROWS, ROWS});
    assert_int_equal(backends->profile.nanoseconds[CLEF_PROFILE_linear], 0);
    clef_linear(profiling, in, weight, NULL, (clef_matrix){found, ROWS, ROWS, ROWS});
    assert_memory_equal(found, expected, sizeof found);
    assert_only(&backends->profile, CLEF_PROFILE_linear);
}

static void a_norm_in_place(void **state) {
    fixture_backends *backends = *state;
    float x[COLUMNS], y[COLUMNS], weight[COLUMNS];
    fill(x, COLUMNS, 0.01f);
    fill(y, COLUMNS, 0.01f);
    fill(weight, COLUMNS, 0.001f);
    clef_matrix a = {x, 1, COLUMNS, COLUMNS};
    clef_matrix b = {y, 1, COLUMNS, COLUMNS};
    backends->plain->operations->rms_norm(backends->plain, a, weight, 1e-6f, a);
    backends->profiling->operations->rms_norm(backends->profiling, b, weight, 1e-6f, b);
    assert_memory_equal(x, y, sizeof x);
    assert_only(&backends->profile, CLEF_PROFILE_rms_norm);
}

static void a_result(void **state) {
    fixture_backends *backends = *state;
    float a[COLUMNS], b[COLUMNS];
    fill(a, COLUMNS, 0.01f);
    fill(b, COLUMNS, 0.03f);
    float expected = backends->plain->operations->cosine(backends->plain, a, b, COLUMNS, 1e-8f);
    float found =
        backends->profiling->operations->cosine(backends->profiling, a, b, COLUMNS, 1e-8f);
    assert_memory_equal(&found, &expected, sizeof found);
    assert_only(&backends->profile, CLEF_PROFILE_cosine);
}

/* The table is as whole as the one below it. */
static void every_operation_is_there(void **state) {
    fixture_backends *backends = *state;
    const clef_operations *op = backends->profiling->operations;
    assert_non_null(op->reserve);
    assert_non_null(op->destroy);
#define ASSERT_THERE(operation) assert_true(op->operation != NULL);
    CLEF_PROFILE_LIST(ASSERT_THERE)
#undef ASSERT_THERE
    assert_string_equal(backends->profiling->level, backends->plain->level);
    assert_int_equal(backends->profiling->thread_count, backends->plain->thread_count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_product, create, destroy),
        cmocka_unit_test_setup_teardown(a_norm_in_place, create, destroy),
        cmocka_unit_test_setup_teardown(a_result, create, destroy),
        cmocka_unit_test_setup_teardown(every_operation_is_there, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
