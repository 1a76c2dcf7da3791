/* The check of quantised matrices: what is stored of a real configuration, with one thing changed
 * at a time, and the name of the tensor, what it is and what it should be in the message. */
#include "../weights/weight_fixture.h"

#include "model/recipe.h"
#include "weights/safetensors_writer.h"

#include <fcntl.h>

/* What one file of weights differs in from the plan of a recipe. */
typedef struct change {
    const char *name;
    bool is_dropped;
    clef_dtype dtype;
    unsigned rank;
    uint64_t shape[3];
} change;

typedef struct made_model {
    clef_config config;
    clef_arena arena;
    clef_tensor_demands demands;
    clef_header_tensor *tensors; /* [2 · demands.count] */
    size_t count;
} made_model;

static void plan(made_model *made, const char *recipe_text) {
    clef_error error = {0};
    clef_recipe recipe;
    *made = (made_model){0};
    assert_ok(clef_config_load(fixture("tiny-random/release"), &made->config, &error), &error);
    assert_ok(clef_tensor_demands_list(&made->config, NULL, &made->arena, &made->demands, &error),
              &error);
    assert_ok(clef_recipe_parse(recipe_text, 0, made->config.layer_count, &recipe, &error), &error);
    made->tensors =
        clef_arena_allocate(&made->arena, 2 * made->demands.count, sizeof *made->tensors);
    for (size_t i = 0; i < made->demands.count; i++) {
        const clef_tensor_demand *demand = &made->demands.items[i];
        clef_weight weight = clef_recipe_choose(&recipe, demand);
        clef_header_tensor *tensor = &made->tensors[made->count++];
        *tensor = (clef_header_tensor){
            .name = demand->name, .dtype = CLEF_DTYPE_BF16, .rank = demand->rank};
        memcpy(tensor->shape, demand->shape, demand->rank * sizeof *demand->shape);
        if (weight.group != 0) {
            char name[256];
            tensor->dtype = weight.dtype;
            tensor->shape[1] = clef_weight_row_bytes(weight);
            snprintf(name, sizeof name, "%s.scale", demand->name.bytes);
            made->tensors[made->count++] =
                (clef_header_tensor){.name = clef_arena_copy(&made->arena, clef_text_of(name)),
                                     .dtype = CLEF_DTYPE_F32,
                                     .rank = 2,
                                     .shape = {weight.rows, clef_weight_groups(weight)}};
        }
    }
    clef_recipe_release(&recipe);
}

static void release_made(made_model *made) {
    clef_config_release(&made->config);
    clef_arena_release(&made->arena);
}

static void apply(made_model *made, const change *what) {
    for (size_t i = 0; i < made->count; i++) {
        if (clef_text_equals(made->tensors[i].name, clef_text_of(what->name))) {
            if (what->is_dropped) {
                made->tensors[i] = made->tensors[--made->count];
                return;
            }
            made->tensors[i].dtype = what->dtype;
            made->tensors[i].rank = what->rank;
            memcpy(made->tensors[i].shape, what->shape, sizeof what->shape);
            return;
        }
    }
    /* A name that is not there yet is added. */
    clef_header_tensor *tensor = &made->tensors[made->count++];
    *tensor = (clef_header_tensor){
        .name = clef_text_of(what->name), .dtype = what->dtype, .rank = what->rank};
    memcpy(tensor->shape, what->shape, sizeof what->shape);
}

/* Writes a file with the header of the plan and zeros, and checks it. */
static clef_status check_made(made_model *made, clef_error *error) {
    char directory[256];
    char path[1024];
    clef_new_file file;
    clef_safetensors_writer writer;
    clef_weight_store *store;
    make_directory(directory);
    int folder = open(directory, O_RDONLY | O_DIRECTORY);
    uint64_t bytes = clef_safetensors_layout(made->tensors, made->count);
    assert_ok(clef_new_file_create(folder, directory, "model.safetensors", &file, error), error);
    assert_ok(
        clef_safetensors_writer_begin(&writer, file, made->tensors, made->count, NULL, 0, error),
        error);
    uint64_t end = writer.data_offset + bytes;
    clef_safetensors_writer_abandon(&writer);
    close(folder);
    assert_int_equal(truncate(path_in(directory, "model.safetensors", path), (off_t)end), 0);
    assert_ok(clef_weight_store_open(directory, &store, NULL, error), error);
    clef_status status = clef_tensor_demands_check(&made->demands, directory, store, NULL, error);
    clef_weight_store_close(store);
    remove_directory(directory);
    return status;
}

static void what_recipes_make_fits(void **state) {
    (void)state;
    const char *const recipes[] = {"int8",
                                   "int4",
                                   "mixed",
                                   "{\"group\":32}",
                                   "{\"default\":\"int4\",\"group\":64}",
                                   "{\"default\":\"keep\"}"};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        clef_error error = {0};
        made_model made;
        plan(&made, recipes[i]);
        assert_ok(check_made(&made, &error), &error);
        release_made(&made);
    }
}

#define UP    "model.language_model.layers.2.mlp.up_proj.weight"   /* [200, 96] */
#define DOWN  "model.language_model.layers.2.mlp.down_proj.weight" /* [96, 200] */
#define SCALE ".scale"

static void what_does_not_fit_is_named(void **state) {
    (void)state;
    const struct {
        const char *recipe;
        change change;
        const char *says[4];
    } rows[] = {
        {"int8", {UP SCALE, .is_dropped = true}, {UP SCALE "  is missing", "[200, 3]", "[200, 2]"}},
        {"int8",
         {UP SCALE, .dtype = CLEF_DTYPE_F32, .rank = 2, .shape = {200, 5}},
         {UP SCALE "  is F32 [200, 5]", "F32 [200, 3]", "[200, 1]", "without scales that fit: 1"}},
        {"int4",
         {UP SCALE, .dtype = CLEF_DTYPE_F32, .rank = 2, .shape = {199, 3}},
         {UP SCALE "  is F32 [199, 3]"}},
        {"int4",
         {UP SCALE, .dtype = CLEF_DTYPE_BF16, .rank = 2, .shape = {200, 3}},
         {UP SCALE "  is BF16 [200, 3]"}},
        {"int8",
         {UP SCALE, .dtype = CLEF_DTYPE_F32, .rank = 1, .shape = {600}},
         {UP SCALE "  is F32 [600]"}},
        {"int8",
         {UP SCALE, .dtype = CLEF_DTYPE_F32, .rank = 2, .shape = {200, 0}},
         {UP SCALE "  is F32 [200, 0]"}},
        {"int8",
         {UP, .dtype = CLEF_DTYPE_I8, .rank = 2, .shape = {200, 95}},
         {UP "  is I8 [200, 95], expected I8 [200, 96]", "of a wrong shape: 1"}},
        {"int4",
         {UP, .dtype = CLEF_DTYPE_U8, .rank = 2, .shape = {200, 96}},
         {UP "  is U8 [200, 96], expected U8 [200, 48]"}},
        {"int8",
         {DOWN, .dtype = CLEF_DTYPE_U8, .rank = 2, .shape = {96, 100}},
         {DOWN "  is U8 [96, 100], expected I8 [96, 200]", "a multiple of 32"}},
        {"int8",
         {UP, .dtype = CLEF_DTYPE_I8, .rank = 1, .shape = {19200}},
         {UP "  is I8 [19200], expected I8 [200, 96]"}},
        {"int8",
         {UP, .dtype = CLEF_DTYPE_BF16, .rank = 2, .shape = {200, 96}},
         {"unknown: 1", UP SCALE}},
        {"int8",
         {UP, .dtype = CLEF_DTYPE_I16, .rank = 2, .shape = {200, 96}},
         {UP "  is I16, expected"}},
        {"int8",
         {"model.language_model.norm.weight", .dtype = CLEF_DTYPE_I8, .rank = 1, .shape = {96}},
         {"norm.weight  is I8, expected"}},
        {"int8",
         {"model.language_model.norm.weight.scale", .dtype = CLEF_DTYPE_F32, .rank = 2,
          .shape = {96, 1}},
         {"unknown: 1", "norm.weight.scale"}},
        {"int8",
         {"model.visual.merger.linear_fc1.weight", .dtype = CLEF_DTYPE_I8, .rank = 2,
          .shape = {192, 192}},
         {"model.visual.merger.linear_fc1.weight  is I8, expected"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clef_error error = {0};
        made_model made;
        plan(&made, rows[i].recipe);
        apply(&made, &rows[i].change);
        if (check_made(&made, &error) != CLEF_BAD_FILE) {
            fail_msg("row %zu is taken", i);
        }
        for (size_t j = 0; j < 4 && rows[i].says[j] != NULL; j++) {
            ASSERT_MESSAGE(&error, rows[i].says[j]);
        }
        release_made(&made);
    }
}

/* The same fault in many layers is one line. */
static void layers_share_a_line(void **state) {
    (void)state;
    clef_error error = {0};
    made_model made;
    plan(&made, "int8");
    for (uint32_t layer = 0; layer < made.config.layer_count; layer++) {
        char name[128];
        snprintf(name, sizeof name, "model.language_model.layers.%u.mlp.up_proj.weight.scale",
                 layer);
        apply(&made, &(change){name, .is_dropped = true});
    }
    assert_int_equal(check_made(&made, &error), CLEF_BAD_FILE);
    ASSERT_MESSAGE(&error, "layers.{0-5}.mlp.up_proj.weight.scale  is missing", "(6 tensors)");
    release_made(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_recipes_make_fits),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(layers_share_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
