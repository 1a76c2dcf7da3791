/* Quantising whole models: what is written holds what it should, and whatever goes wrong leaves
 * nothing behind. */
#include "quantize_support.h"

#include "tensor/matrix.h"

#include <math.h>

/* Expects a failure; *error says which. */
static void refuse(const char *model, const char *output, const clef_quantize_options *options,
                   clef_status expected, clef_error *error) {
    clef_runtime *runtime = open_runtime(1);
    *error = (clef_error){0};
    clef_status status = clef_model_quantize(runtime, model, output, options, error);
    if (status != expected) {
        fail_msg("status %d, expected %d: %s", status, expected, error->message);
    }
    clef_runtime_close(runtime);
}

/* ---- what is written ---- */

static clef_text load_from(const char *directory, const char *name) {
    char path[1024];
    return load_file(path_in(directory, name, path));
}

static void assert_same_file(const char *a, const char *b, const char *name) {
    clef_text left = load_from(a, name);
    clef_text right = load_from(b, name);
    assert_true(clef_text_equals(left, right));
    release_text(left);
    release_text(right);
}

#define OTHER_FILES                                                                                \
    "README.md chat_template.jinja config.json generation_config.json joint_head.safetensors "     \
    "joint_head_config.json "
#define LAST_FILES " processor_config.json tokenizer.json tokenizer_config.json"

static void other_files_are_copied(void **state) {
    (void)state;
    output_place place;
    make_place(&place);
    quantize(RANDOM_MODEL, place.output, NULL);
    ASSERT_NAMES(place.output, OTHER_FILES "model.safetensors" LAST_FILES);
    const char *const names[] = {"README.md", "config.json", "tokenizer.json",
                                 "joint_head.safetensors", "joint_head_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_same_file(RANDOM_MODEL, place.output, names[i]);
    }
    remove_place(&place);
}

/* Tensors by the rule, worked out from names and shapes alone. */
static bool is_expected_int8(clef_text name, const clef_stored_tensor *source) {
    static const char *const matrices[] = {
        "gate_proj.weight", "up_proj.weight", "down_proj.weight", "q_proj.weight",
        "k_proj.weight",    "v_proj.weight",  "o_proj.weight",    "in_proj_qkv.weight",
        "in_proj_z.weight", "out_proj.weight"};
    if (source->rank != 2 || strstr(name.bytes, "visual") != NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        size_t length = strlen(matrices[i]);
        if (name.length > length &&
            memcmp(name.bytes + name.length - length, matrices[i], length) == 0) {
            return true;
        }
    }
    return clef_text_equals(name, CLEF_TEXT("lm_head.weight")) ||
           clef_text_equals(name, CLEF_TEXT("model.language_model.embed_tokens.weight"));
}

static void check_int8(const clef_stored_tensor *source, const clef_stored_tensor *values,
                       const clef_stored_tensor *scales) {
    assert_int_equal(values->dtype, CLEF_DTYPE_I8);
    size_t columns = (size_t)source->shape[1], groups = (size_t)scales->shape[1];
    size_t group = groups == 1 ? columns : 64;
    assert_int_equal((columns + group - 1) / group, groups);
    for (size_t r = 0; r < source->shape[0]; r++) {
        for (size_t c = 0; c < columns; c++) {
            float whole;
            clef_widen(source->dtype, (const uint16_t *)source->data + r * columns + c, 1, &whole);
            double scale = ((const float *)scales->data)[r * groups + c / group];
            double stored = ((const int8_t *)values->data)[r * columns + c] * scale;
            assert_true(fabs(whole - stored) <= scale * 0.5001);
        }
    }
}

static void every_tensor_has_its_place(void **state) {
    (void)state;
    output_place place;
    clef_error error = {0};
    clef_weight_store *source, *written;
    size_t quantised = 0;
    make_place(&place);
    quantize(RANDOM_MODEL, place.output, NULL);
    assert_ok(clef_weight_store_open(RANDOM_MODEL, &source, NULL, &error), &error);
    assert_ok(clef_weight_store_open(place.output, &written, NULL, &error), &error);
    for (size_t i = 0; i < clef_weight_store_count(source); i++) {
        const clef_stored_tensor *tensor = clef_weight_store_at(source, i);
        char name[256], scale[300];
        snprintf(name, sizeof name, "%.*s", (int)tensor->name.length, tensor->name.bytes);
        snprintf(scale, sizeof scale, "%s.scale", name);
        const clef_stored_tensor *values = clef_weight_store_find(written, tensor->name);
        const clef_stored_tensor *scales = clef_weight_store_find(written, clef_text_of(scale));
        assert_non_null(values);
        assert_true((scales != NULL) == is_expected_int8(clef_text_of(name), tensor));
        if (scales != NULL) {
            check_int8(tensor, values, scales);
            quantised++;
        } else {
            assert_int_equal(values->dtype, tensor->dtype);
            assert_int_equal(values->bytes, tensor->bytes);
            assert_memory_equal(values->data, tensor->data, tensor->bytes);
        }
    }
    assert_int_equal(clef_weight_store_count(written), clef_weight_store_count(source) + quantised);
    clef_weight_store_close(source);
    clef_weight_store_close(written);
    remove_place(&place);
}

static void the_header_tells_how_it_was_made(void **state) {
    (void)state;
    output_place place;
    clef_error error = {0};
    char path[1024];
    clef_safetensors *file;
    make_place(&place);
    quantize(TRAINED_MODEL, place.output, &(clef_quantize_options){.recipe = "mixed", .group = 64});
    assert_ok(
        clef_safetensors_open(path_in(place.output, "model.safetensors", path), &file, &error),
        &error);
    clef_text recipe = clef_safetensors_metadata(file, CLEF_TEXT("clef_recipe"));
    clef_text version = clef_safetensors_metadata(file, CLEF_TEXT("clef_version"));
    assert_true(clef_text_equals(version, clef_text_of(clef_version())));
    /* What it tells makes the same files again. */
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)recipe.length, recipe.bytes);
    clef_text first = load_from(place.output, "model.safetensors");
    clef_safetensors_close(file);
    remove_output(&place);
    quantize(TRAINED_MODEL, place.output, &(clef_quantize_options){.recipe = text});
    clef_text second = load_from(place.output, "model.safetensors");
    assert_true(clef_text_equals(first, second));
    release_text(first);
    release_text(second);
    remove_place(&place);
}

static void threads_change_nothing(void **state) {
    (void)state;
    clef_text made[2];
    for (int i = 0; i < 2; i++) {
        output_place place;
        clef_error error = {0};
        clef_runtime *runtime = open_runtime(i == 0 ? 1 : 5);
        make_place(&place);
        assert_ok(clef_model_quantize(runtime, TRAINED_MODEL, place.output,
                                      &(clef_quantize_options){.recipe = "int4"}, &error),
                  &error);
        made[i] = load_from(place.output, "model.safetensors");
        clef_runtime_close(runtime);
        remove_place(&place);
    }
    assert_true(clef_text_equals(made[0], made[1]));
    release_text(made[0]);
    release_text(made[1]);
}

/* Split or not, the same tensors. */
static void large_models_are_split(void **state) {
    (void)state;
    output_place whole, split;
    clef_error error = {0};
    clef_weight_store *one, *four;
    make_place(&whole);
    make_place(&split);
    quantize(RANDOM_MODEL, whole.output, NULL);
    quantize(RANDOM_MODEL, split.output, &(clef_quantize_options){.file_bytes = 500000});
    ASSERT_NAMES(split.output,
                 OTHER_FILES "model-00001-of-00004.safetensors model-00002-of-00004.safetensors "
                             "model-00003-of-00004.safetensors model-00004-of-00004.safetensors "
                             "model.safetensors.index.json" LAST_FILES);
    assert_ok(clef_weight_store_open(whole.output, &one, NULL, &error), &error);
    assert_ok(clef_weight_store_open(split.output, &four, NULL, &error), &error);
    assert_null(clef_weight_store_warning(four));
    assert_int_equal(clef_weight_store_count(one), clef_weight_store_count(four));
    for (size_t i = 0; i < clef_weight_store_count(one); i++) {
        const clef_stored_tensor *a = clef_weight_store_at(one, i);
        const clef_stored_tensor *b = clef_weight_store_find(four, a->name);
        assert_non_null(b);
        assert_int_equal(a->bytes, b->bytes);
        assert_memory_equal(a->data, b->data, a->bytes);
    }
    clef_weight_store_close(one);
    clef_weight_store_close(four);
    remove_place(&whole);
    remove_place(&split);
}

/* ---- what goes wrong ---- */

typedef struct stop {
    uint64_t at; /* bytes */
    size_t calls;
    uint64_t done, total;
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
    output_place place;
    clef_error error;
    stop all = {.at = UINT64_MAX};
    make_place(&place);
    quantize(RANDOM_MODEL, place.output,
             &(clef_quantize_options){.progress = stop_at, .context = &all});
    assert_true(all.done == all.total && all.calls > 200);
    remove_output(&place);
    for (uint64_t part = 0; part <= 10; part++) {
        stop s = {.at = all.total / 10 * part};
        refuse(RANDOM_MODEL, place.output,
               &(clef_quantize_options){.progress = stop_at, .context = &s}, CLEF_CANCELLED,
               &error);
        ASSERT_NAMES(place.output, "(none)");
        ASSERT_NAMES(place.root, "");
    }
    remove_place(&place);
}

/* Changes a byte of the file that is being read back. */
typedef struct damage {
    char path[400];
    long from_end;
    bool is_done;
} damage;

static bool damage_later(void *context, uint64_t done, uint64_t total) {
    damage *d = context;
    if (done < total / 2 || d->is_done) {
        return false;
    }
    d->is_done = true;
    FILE *file = fopen(d->path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -d->from_end, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -d->from_end, SEEK_END), 0);
    assert_int_not_equal(fputc(byte ^ 0x44, file), EOF);
    assert_int_equal(fclose(file), 0);
    return false;
}

static void what_does_not_read_back_is_removed(void **state) {
    (void)state;
    output_place place;
    clef_error error;
    clef_error ignored = {0};
    clef_weight_store *store;
    make_place(&place);
    /* From the end: the vision tower's last tensor, and a quantised matrix of the last layer. */
    quantize(RANDOM_MODEL, place.output, NULL);
    assert_ok(clef_weight_store_open(place.output, &store, NULL, &ignored), &ignored);
    size_t count = clef_weight_store_count(store);
    const clef_stored_tensor *last = clef_weight_store_at(store, count - 1);
    const clef_stored_tensor *down = clef_weight_store_find(
        store, CLEF_TEXT("model.language_model.layers.5.mlp.down_proj.weight"));
    const char *end = (const char *)last->data + last->bytes;
    const struct {
        long from_end;
        const char *name;
    } places[] = {{3, "model.visual."},
                  {end - (const char *)down->data - 77, "layers.5.mlp.down_proj.weight"}};
    clef_weight_store_close(store);
    remove_output(&place);
    for (size_t i = 0; i < 2; i++) {
        damage d = {.from_end = places[i].from_end};
        snprintf(d.path, sizeof d.path, "%s/.clef-partial/model.safetensors", place.output);
        refuse(RANDOM_MODEL, place.output,
               &(clef_quantize_options){.progress = damage_later, .context = &d},
               CLEF_VERIFY_FAILED, &error);
        assert_true(d.is_done);
        ASSERT_MESSAGE(&error, "model.safetensors", places[i].name, "does not agree");
        ASSERT_NAMES(place.output, "(none)");
    }
    remove_place(&place);
}

static void outputs_that_are_refused_stay_as_they_were(void **state) {
    (void)state;
    output_place place;
    clef_error error;
    make_place(&place);
    refuse(RANDOM_MODEL, RANDOM_MODEL, &(clef_quantize_options){.may_replace = true}, CLEF_USAGE,
           &error);
    ASSERT_MESSAGE(&error, "the directory of the model itself");
    refuse(RANDOM_MODEL, place.output, &(clef_quantize_options){.recipe = "int2"}, CLEF_USAGE,
           &error);
    refuse(RANDOM_MODEL, place.output, &(clef_quantize_options){.group = 48}, CLEF_USAGE, &error);
    refuse(RANDOM_MODEL, place.output, &(clef_quantize_options){.recipe = "{\"default\":\"keep\"}"},
           CLEF_USAGE, &error);
    ASSERT_MESSAGE(&error, "no matrix at all");
    refuse("/nowhere", place.output, NULL, CLEF_BAD_FILE, &error);
    ASSERT_NAMES(place.root, "");
    quantize(RANDOM_MODEL, place.output, NULL);
    refuse(TRAINED_MODEL, place.output, NULL, CLEF_USAGE, &error);
    ASSERT_MESSAGE(&error, "is not empty");
    char deeper[400];
    snprintf(deeper, sizeof deeper, "%s/again", place.root);
    refuse(place.output, deeper, NULL, CLEF_BAD_FILE, &error);
    ASSERT_MESSAGE(&error, "quantised already", "is I8");
    ASSERT_NAMES(place.root, "out");
    ASSERT_NAMES(place.output, OTHER_FILES "model.safetensors" LAST_FILES);
    remove_place(&place);
}

static void another_model_is_replaced_when_asked(void **state) {
    (void)state;
    output_place place;
    clef_error error;
    make_place(&place);
    quantize(RANDOM_MODEL, place.output, &(clef_quantize_options){.file_bytes = 500000});
    write_string(place.output, "notes", "mine");
    stop half = {.at = 1000000};
    const clef_quantize_options stopped = {
        .may_replace = true, .progress = stop_at, .context = &half};
    refuse(TRAINED_MODEL, place.output, &stopped, CLEF_CANCELLED, &error);
    /* The old model is whole until the new one is. */
    assert_same_file(RANDOM_MODEL, place.output, "config.json");
    quantize(TRAINED_MODEL, place.output, &(clef_quantize_options){.may_replace = true});
    ASSERT_NAMES(
        place.output,
        "README.md chat_template.jinja config.json evaluation.json generation_config.json "
        "joint_head.safetensors joint_head_config.json model.safetensors notes" LAST_FILES);
    assert_same_file(TRAINED_MODEL, place.output, "config.json");
    remove_place(&place);
}

/* Copies a model's files and puts NaN into one value of one matrix. */
static void make_broken(const char *directory, clef_text name) {
    static const char *const names[] = {"config.json", "tokenizer.json", "joint_head.safetensors",
                                        "joint_head_config.json", "model.safetensors"};
    clef_error error = {0};
    clef_weight_store *store;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        clef_text bytes = load_from(TRAINED_MODEL, names[i]);
        if (i == 4) {
            clef_safetensors *file;
            assert_ok(clef_safetensors_parse("model", bytes.bytes, bytes.length, &file, &error),
                      &error);
            const clef_stored_tensor *tensor = clef_safetensors_find(file, name);
            char *value = (char *)(uintptr_t)tensor->data + 2 * (7 * tensor->shape[1] + 5);
            memcpy(value, "\xC0\x7F", 2);
            clef_safetensors_close(file);
        }
        write_file(directory, names[i], bytes);
        release_text(bytes);
    }
    assert_ok(clef_weight_store_open(directory, &store, NULL, &error), &error);
    clef_weight_store_close(store);
}

static void values_that_are_not_finite_are_named(void **state) {
    (void)state;
    output_place place;
    clef_error error;
    char directory[256];
    make_place(&place);
    make_directory(directory);
    make_broken(directory, CLEF_TEXT("model.language_model.layers.1.mlp.gate_proj.weight"));
    refuse(directory, place.output, NULL, CLEF_BAD_FILE, &error);
    ASSERT_MESSAGE(&error, "model.safetensors", "layers.1.mlp.gate_proj.weight", "row 7",
                   "not finite");
    ASSERT_NAMES(place.root, "");
    remove_directory(directory);
    remove_place(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_copied),
        cmocka_unit_test(every_tensor_has_its_place),
        cmocka_unit_test(the_header_tells_how_it_was_made),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(large_models_are_split),
        cmocka_unit_test(stopped_anywhere_leaves_nothing),
        cmocka_unit_test(what_does_not_read_back_is_removed),
        cmocka_unit_test(outputs_that_are_refused_stay_as_they_were),
        cmocka_unit_test(another_model_is_replaced_when_asked),
        cmocka_unit_test(values_that_are_not_finite_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
