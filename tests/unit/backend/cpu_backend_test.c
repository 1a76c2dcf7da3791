/* Life of the CPU backend: levels, threads, refusals; and that every operation is there. */
#include "support.h"

#include "backend/cpu/cpu_backend.h"

#include <stdio.h>

static void every_listed_level_can_be_had(void **state) {
    (void)state;
    clef_error error = {0};
    clef_backend *best = NULL;
    assert_ok(clef_cpu_backend_create(NULL, NULL, &best, &error), &error);
    /* The names, lowest first, begin with the reference, and the best is among them. */
    assert_int_equal(strncmp(best->levels, "reference", 9), 0);
    assert_non_null(strstr(best->levels, best->level));
    size_t listed = 0;
    for (int level = 0; level < CLEF_LEVEL_COUNT; level++) {
        clef_level parsed;
        const char *name = clef_level_name((clef_level)level);
        assert_true(clef_level_parse(name, &parsed));
        assert_int_equal(parsed, level);
        clef_backend *backend = NULL;
        clef_status status = clef_cpu_backend_create(threads_of(2), name, &backend, &error);
        if (clef_level_is_supported((clef_level)level)) {
            assert_ok(status, &error);
            assert_string_equal(backend->level, name);
            assert_string_equal(backend->levels, best->levels);
            assert_int_equal(backend->thread_count, 2);
            assert_non_null(strstr(best->levels, name));
            listed++;
        } else {
            assert_int_equal(status, CLEF_USAGE);
            assert_null(backend);
            assert_non_null(strstr(error.message, name));
            assert_non_null(strstr(error.message, best->levels));
        }
        clef_backend_destroy(backend);
    }
    size_t names = 1;
    for (const char *at = best->levels; *at != '\0'; at++) {
        names += *at == ' ';
    }
    assert_int_equal(names, listed);
    clef_backend_destroy(best);
    clef_backend_destroy(NULL);
}

/* A level has all below it. */
static void levels_imply_lower_ones(void **state) {
    (void)state;
    assert_true(clef_level_is_supported(CLEF_LEVEL_reference));
    for (int level = 1; level < CLEF_LEVEL_COUNT; level++) {
        if (clef_level_is_supported((clef_level)level)) {
            assert_true(clef_level_is_supported((clef_level)(level - 1)));
        }
    }
    /* Only the bfloat16 level can be slower than the one below it. */
    int highest = CLEF_LEVEL_COUNT - 1;
    while (!clef_level_is_supported((clef_level)highest)) {
        highest--;
    }
    assert_true(clef_level_is_supported(clef_level_best()));
    assert_true((int)clef_level_best() == highest ||
                (highest == CLEF_LEVEL_avx512bf16 && (int)clef_level_best() == highest - 1));
}

static void unknown_levels_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"sse", "AVX2", "avx", "avx22", " reference", "reference "};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        clef_error error = {0};
        clef_backend *backend = NULL;
        clef_level level;
        assert_false(clef_level_parse(names[i], &level));
        assert_int_equal(clef_cpu_backend_create(NULL, names[i], &backend, &error), CLEF_USAGE);
        assert_null(backend);
        assert_non_null(strstr(error.message, names[i]));
        assert_non_null(strstr(error.message, "reference"));
        assert_int_equal(clef_cpu_backend_create(NULL, names[i], &backend, NULL), CLEF_USAGE);
    }
}

static void empty_name_means_the_best(void **state) {
    (void)state;
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(NULL, "", &backend, &error), &error);
    assert_string_equal(backend->level, clef_level_name(clef_level_best()));
    clef_backend_destroy(backend);
}

/* The table of operations is a struct of nothing but functions. */
static void every_operation_is_there(void **state) {
    (void)state;
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(NULL, NULL, &backend, &error), &error);
    const char *bytes = (const char *)backend->operations;
    for (size_t at = 0; at < sizeof *backend->operations; at += sizeof(void (*)(void))) {
        void (*operation)(void);
        memcpy(&operation, bytes + at, sizeof operation);
        assert_true(operation != NULL);
    }
    clef_backend_destroy(backend);
}

/* Scratch of different threads does not overlap and is aligned. */
static void threads_have_scratch_of_their_own(void **state) {
    (void)state;
    clef_error error = {0};
    clef_backend *backend = NULL;
    assert_ok(clef_cpu_backend_create(threads_of(5), NULL, &backend, &error), &error);
    const clef_cpu_backend *cpu = (const clef_cpu_backend *)backend;
    assert_true(cpu->scratch_bytes >= CLEF_MATMUL_SCRATCH);
    assert_true(cpu->scratch_bytes >=
                sizeof(float) *
                    clef_delta_scratch_floats(CLEF_HEAD_SIZE_LIMIT, CLEF_HEAD_SIZE_LIMIT));
    for (unsigned worker = 0; worker < 5; worker++) {
        unsigned char *scratch = clef_cpu_scratch(cpu, worker);
        assert_int_equal((uintptr_t)scratch % 64, 0);
        assert_ptr_equal(scratch, cpu->scratch + worker * cpu->scratch_bytes);
        memset(scratch, (int)worker, cpu->scratch_bytes);
    }
    clef_backend_destroy(backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listed_level_can_be_had),
        cmocka_unit_test(levels_imply_lower_ones),
        cmocka_unit_test(unknown_levels_are_refused),
        cmocka_unit_test(empty_name_means_the_best),
        cmocka_unit_test(every_operation_is_there),
        cmocka_unit_test(threads_have_scratch_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
