/* Quantising with records to measure on: what is written, what stays as without them, and what is
 * refused. */
#include "quantize_support.h"

#include "tensor/matrix.h"

enum { RECORDS = 4 };

typedef struct bench {
    clef_runtime *runtime;
    clef_model *model; /* the records' */
    clef_record *records[RECORDS];
    output_place place;
} bench;

static void open_bench(bench *b, const char *model, uint32_t threads) {
    clef_error error = {0};
    *b = (bench){.runtime = open_runtime(threads)};
    assert_ok(clef_model_open(b->runtime, model, NULL, &b->model, &error), &error);
    for (int i = 0; i < RECORDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "clef-tiny/record-%02d.json", i + 1);
        clef_text body = load_file(fixture(name));
        assert_ok(
            clef_record_encode(b->model, body.bytes, body.length, NULL, &b->records[i], &error),
            &error);
        release_text(body);
    }
    make_place(&b->place);
}

static void close_bench(bench *b) {
    for (int i = 0; i < RECORDS; i++) {
        clef_record_close(b->records[i]);
    }
    clef_model_close(b->model);
    clef_runtime_close(b->runtime);
    remove_place(&b->place);
}

static clef_quantize_options measuring(const bench *b, const char *recipe) {
    return (clef_quantize_options){.recipe = recipe,
                                   .calibration_records = b->records,
                                   .calibration_record_count = RECORDS,
                                   .calibration_source = "four \"records\""};
}

static void make(const bench *b, const char *model, const clef_quantize_options *options) {
    clef_error error = {0};
    assert_ok(clef_model_quantize(b->runtime, model, b->place.output, options, &error), &error);
}

static clef_text load_weights(const bench *b) {
    char path[1024];
    return load_file(path_in(b->place.output, "model.safetensors", path));
}

static void the_header_tells_what_was_measured_on(void **state) {
    (void)state;
    bench b;
    clef_error error = {0};
    clef_safetensors *file;
    char path[1024], expected[128];
    uint32_t tokens = 0;
    open_bench(&b, TRAINED_MODEL, 1);
    for (int i = 0; i < RECORDS; i++) {
        tokens += clef_record_token_count(b.records[i]);
    }
    clef_quantize_options options = measuring(&b, "int8");
    make(&b, TRAINED_MODEL, &options);
    assert_ok(
        clef_safetensors_open(path_in(b.place.output, "model.safetensors", path), &file, &error),
        &error);
    clef_text note = clef_safetensors_metadata(file, CLEF_TEXT("clef_calibration"));
    snprintf(expected, sizeof expected,
             "{\"source\":\"four \\\"records\\\"\",\"requests\":4,\"tokens\":%u}", tokens);
    assert_true(clef_text_equals(note, clef_text_of(expected)));
    clef_safetensors_close(file);
    close_bench(&b);
}

/* Only matrices of layers are measured; `before` is how a tensor is without records. */
static bool is_measured(const clef_stored_tensor *before) {
    clef_text prefix = CLEF_TEXT("model.language_model.layers.");
    return before->dtype == CLEF_DTYPE_I8 && before->name.length > prefix.length &&
           memcmp(before->name.bytes, prefix.bytes, prefix.length) == 0;
}

/* Some values move, by one step each. */
static void check_moved(const clef_stored_tensor *before, const clef_stored_tensor *after) {
    size_t moved = 0;
    for (size_t j = 0; j < before->bytes; j++) {
        int step = ((const int8_t *)after->data)[j] - ((const int8_t *)before->data)[j];
        assert_true(step >= -1 && step <= 1);
        moved += step != 0;
    }
    if (moved < before->bytes / 100 || moved > before->bytes / 2) {
        fail_msg("%.*s: %zu of %zu values moved", (int)before->name.length, before->name.bytes,
                 moved, before->bytes);
    }
}

static void only_measured_matrices_change(void **state) {
    (void)state;
    bench b;
    clef_error error = {0};
    clef_weight_store *plain, *measured;
    output_place other;
    size_t changed = 0;
    open_bench(&b, TRAINED_MODEL, 1);
    make_place(&other);
    quantize(TRAINED_MODEL, other.output, NULL);
    clef_quantize_options options = measuring(&b, "int8");
    make(&b, TRAINED_MODEL, &options);
    assert_ok(clef_weight_store_open(other.output, &plain, NULL, &error), &error);
    assert_ok(clef_weight_store_open(b.place.output, &measured, NULL, &error), &error);
    assert_int_equal(clef_weight_store_count(plain), clef_weight_store_count(measured));
    for (size_t i = 0; i < clef_weight_store_count(plain); i++) {
        const clef_stored_tensor *before = clef_weight_store_at(plain, i);
        const clef_stored_tensor *after = clef_weight_store_find(measured, before->name);
        assert_non_null(after);
        assert_int_equal(before->bytes, after->bytes);
        if (is_measured(before)) {
            check_moved(before, after);
            changed++;
        } else {
            assert_memory_equal(before->data, after->data, before->bytes);
        }
    }
    /* Three layers with six matrices of 8 bits, beside two small ones that stay whole, and one with
     * attention and seven. */
    assert_int_equal(changed, 3 * 6 + 7);
    clef_weight_store_close(plain);
    clef_weight_store_close(measured);
    remove_place(&other);
    close_bench(&b);
}

static void threads_change_nothing(void **state) {
    (void)state;
    clef_text written[2];
    for (int i = 0; i < 2; i++) {
        bench b;
        open_bench(&b, TRAINED_MODEL, i == 0 ? 1 : 5);
        clef_quantize_options options = measuring(&b, "mixed");
        make(&b, TRAINED_MODEL, &options);
        written[i] = load_weights(&b);
        close_bench(&b);
    }
    assert_true(clef_text_equals(written[0], written[1]));
    release_text(written[0]);
    release_text(written[1]);
}

/* Any shape: odd columns, layers of both kinds, and a recipe that leaves layers out. */
static void other_shapes_and_recipes_work(void **state) {
    (void)state;
    static const char *const recipes[] = {
        "int4",
        "{\"rules\":[{\"layers\":\"2-3\",\"tensors\":\"*\",\"type\":\"int4\",\"group\":64}],"
        "\"default\":\"keep\"}"};
    for (int i = 0; i < 2; i++) {
        bench b;
        open_bench(&b, RANDOM_MODEL, 2);
        clef_quantize_options options = measuring(&b, recipes[i]);
        make(&b, RANDOM_MODEL, &options);
        close_bench(&b);
    }
}

typedef struct stop {
    uint64_t at, done, total;
    size_t calls;
} stop;

static bool stop_at(void *context, uint64_t done, uint64_t total) {
    stop *s = context;
    assert_true(done > s->done && done <= total);
    assert_true(s->total == 0 || s->total == total);
    s->done = done;
    s->total = total;
    s->calls++;
    return done >= s->at;
}

static void stopped_anywhere_leaves_nothing(void **state) {
    (void)state;
    bench b;
    stop all = {.at = UINT64_MAX};
    open_bench(&b, RANDOM_MODEL, 1);
    clef_quantize_options options = measuring(&b, "int4");
    options.progress = stop_at;
    options.context = &all;
    make(&b, RANDOM_MODEL, &options);
    assert_int_equal(all.done, all.total);
    remove_output(&b.place);
    for (uint64_t part = 0; part < 7; part++) {
        stop s = {.at = all.total / 7 * part};
        clef_error error = {0};
        options.context = &s;
        assert_int_equal(
            clef_model_quantize(b.runtime, RANDOM_MODEL, b.place.output, &options, &error),
            CLEF_CANCELLED);
        ASSERT_NAMES(b.place.root, "");
    }
    close_bench(&b);
}

static void records_of_another_model_are_refused(void **state) {
    (void)state;
    bench b;
    clef_error error = {0};
    open_bench(&b, TRAINED_MODEL, 1); /* its vocabulary is larger */
    clef_quantize_options options = measuring(&b, "int8");
    clef_status status =
        clef_model_quantize(b.runtime, RANDOM_MODEL, b.place.output, &options, &error);
    assert_int_equal(status, CLEF_USAGE);
    ASSERT_MESSAGE(&error, "record 0", "encoded for another model");
    ASSERT_NAMES(b.place.root, "");
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_tells_what_was_measured_on),
        cmocka_unit_test(only_measured_matrices_change),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(other_shapes_and_recipes_work),
        cmocka_unit_test(stopped_anywhere_leaves_nothing),
        cmocka_unit_test(records_of_another_model_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
