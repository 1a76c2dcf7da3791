/* Measuring: models by formula have the numbers they should, runs account for all of their time and
 * work, and what nobody can honour is refused in words. */
#include "engine_support.h"

#include <clef/measure.h>

#include "base/memory.h"

#include <math.h>

static void assert_says(const clef_error *error, const char *words) {
    if (strstr(error->message, words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, error->message);
    }
}

static clef_model *make_model(uint32_t threads, const char *recipe, uint32_t layers) {
    clef_error error = {0};
    clef_model *model = NULL;
    clef_runtime *runtime = open_runtime(threads, NULL);
    clef_shape_options options = {.layer_count = layers, .recipe = recipe};
    assert_ok(clef_model_make(runtime, "qwen3.5-0.8b", &options, &model, &error), &error);
    clef_runtime_close(runtime);
    return model;
}

/* ---- weights by formula ---- */

static void assert_variance(clef_weight weight, const char *what) {
    float row[8192];
    double squares = 0, sum = 0;
    size_t rows = 0;
    assert_true(weight.columns <= 8192);
    for (size_t r = 0; r < weight.rows; r += 7, rows++) {
        clef_weight_widen(weight, r, 0, weight.columns, row);
        for (size_t c = 0; c < weight.columns; c++) {
            squares += (double)row[c] * row[c];
            sum += row[c];
        }
    }
    double count = (double)rows * (double)weight.columns;
    double scaled = squares / count * (double)weight.columns; /* 1 by the formula */
    double mean = sum / count * sqrt((double)weight.columns);
    if (!(fabs(scaled - 1) < 0.15) || !(fabs(mean) < 0.15)) {
        fail_msg("%s: variance times columns is %g, mean of standard deviations %g", what, scaled,
                 mean);
    }
}

static void weights_have_the_variance_of_the_formula(void **state) {
    static const struct {
        const char *recipe;
        clef_dtype dtype;
        const char *precision;
    } kinds[] = {{NULL, CLEF_DTYPE_BF16, NULL},
                 {"int8", CLEF_DTYPE_I8, "int8"},
                 {"int4", CLEF_DTYPE_U8, "int4"}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        clef_model *model = make_model(0, kinds[i].recipe, 1);
        const clef_layer_weights *layer = &model->network.layers[0];
        clef_model_facts facts;
        clef_model_describe(model, &facts);
        assert_int_equal(facts.layer_count, 1);
        assert_int_equal(facts.token_count, 0);
        if (kinds[i].precision != NULL) {
            assert_string_equal(facts.precision, kinds[i].precision);
        }
        assert_int_equal(layer->down.dtype, kinds[i].dtype);
        assert_variance(layer->down, "down");
        assert_variance(layer->gate, "gate");
        assert_variance(layer->delta.qkv, "qkv");
        assert_variance(layer->delta.b, "b");
        assert_variance(model->network.embedding, "embedding");
        clef_model_close(model);
    }
}

static void threads_change_no_weight(void **state) {
    (void)state;
    clef_model *one = make_model(1, "int4", 1);
    clef_model *three = make_model(3, "int4", 1);
    assert_int_equal(one->made.bytes, three->made.bytes);
    assert_int_equal(one->made.count, three->made.count);
    for (size_t i = 0; i < one->made.count; i++) {
        const clef_stored_tensor *a = &one->made.tensors[i];
        const clef_stored_tensor *b = &three->made.tensors[i];
        assert_int_equal(a->bytes, b->bytes);
        assert_memory_equal(a->data, b->data, a->bytes);
    }
    clef_model_close(one);
    clef_model_close(three);
}

static void a_made_model_reads_no_text(void **state) {
    clef_error error = {0};
    clef_record *record = NULL;
    (void)state;
    clef_model *model = make_model(1, NULL, 1);
    assert_int_equal(clef_record_encode(model, "{}", 2, NULL, &record, &error), CLEF_USAGE);
    assert_null(record);
    assert_says(&error, "qwen3.5-0.8b");
    clef_model_close(model);
}

static void shapes_that_are_refused(void **state) {
    static const struct {
        const char *shape;
        clef_shape_options options;
        const char *words;
    } cases[] = {{"clef-flush", {0}, "clef-flush"},
                 {"clef-flash", {.layer_count = 33}, "it has 32"},
                 {"clef-flash", {.recipe = "int3"}, "int3"}};
    (void)state;
    clef_runtime *runtime = open_runtime(1, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_error error = {0};
        clef_model *model = NULL;
        assert_int_equal(
            clef_model_make(runtime, cases[i].shape, &cases[i].options, &model, &error),
            CLEF_USAGE);
        assert_null(model);
        assert_says(&error, cases[i].words);
    }
    clef_runtime_close(runtime);
}

/* ---- runs ---- */

static uint64_t sum_parts(const clef_measured *measured) {
    uint64_t sum = 0;
    for (int part = 0; part < CLEF_PART_COUNT; part++) {
        sum += measured->part_ns[part];
    }
    return sum;
}

static clef_measured run_measure(clef_model *model, clef_measure_options options) {
    clef_error error = {0};
    clef_measure *measure = NULL;
    clef_measured first, second;
    assert_ok(clef_measure_create(model, &options, &measure, &error), &error);
    assert_ok(clef_measure_run(measure, &first, &error), &error);
    assert_ok(clef_measure_run(measure, &second, &error), &error);
    assert_true(first.total_ns > 0 && second.total_ns > 0);
    assert_int_equal(sum_parts(&first), first.total_ns);
    assert_int_equal(sum_parts(&second), second.total_ns);
    assert_int_equal(first.step_count, second.step_count);
    assert_true(first.matrix_operations == second.matrix_operations);
    clef_measure_close(measure);
    return second;
}

/* Elements of the layers' matrices, from the facts of the model alone. */
static double count_weights(const clef_model_facts *f) {
    double full = f->full_attention_layer_count;
    double delta = (double)f->layer_count - full;
    double query = (double)f->attention_head_count * f->head_size;
    double key = (double)f->key_value_head_count * f->head_size;
    double delta_key = (double)f->delta_key_head_count * f->delta_key_size;
    double delta_value = (double)f->delta_value_head_count * f->delta_value_size;
    double columns = full * (3 * query + 2 * key) +
                     delta * (2 * delta_key + 3 * delta_value + 2.0 * f->delta_value_head_count) +
                     3.0 * f->layer_count * f->intermediate_size;
    return columns * f->hidden_size;
}

static void work_is_that_of_the_formulas(void **state) {
    clef_model_facts facts;
    (void)state;
    clef_model *model = open_model_with(trained_model(), 1, NULL);
    clef_model_describe(model, &facts);
    clef_measured found = run_measure(
        model,
        (clef_measure_options){.sequence_count = 3, .token_count = 100, .rows_per_step = 128});
    double full = facts.full_attention_layer_count;
    double delta = facts.layer_count - full;
    assert_int_equal(found.token_count, 300);
    assert_true(found.matrix_operations == 2 * 300 * count_weights(&facts));
    assert_true(found.delta_operations == 300 * delta * 7 * facts.delta_value_head_count *
                                              facts.delta_key_size * facts.delta_value_size);
    assert_true(found.attention_operations ==
                3 * (100 * 101 / 2) * full * 4 * facts.attention_head_count * facts.head_size);
    /* 300 rows in steps of 128 at most; slices end on the grid, so one more may be needed. */
    assert_in_range(found.step_count, 3, 4);
    assert_true(found.weight_bytes == 2 * count_weights(&facts) * (double)found.step_count);
    assert_true(found.part_ns[CLEF_PART_MATRIX_PRODUCTS] > 0);
    assert_true(found.part_ns[CLEF_PART_DELTA_RULE] > 0);
    assert_true(found.part_ns[CLEF_PART_ATTENTION] > 0);
    assert_true(found.part_ns[CLEF_PART_HEAD] > 0);
    assert_true(found.part_ns[CLEF_PART_REST] > 0);
    clef_model_close(model);
}

static void pictures_go_through_the_tower_alone(void **state) {
    (void)state;
    clef_model *model = open_model_with(random_model(), 2, NULL);
    const clef_vision_config *c = &model->network.config.vision;
    double merged = 4.0 * c->hidden_size;
    double block = c->hidden_size * (4.0 * c->hidden_size + 2.0 * c->intermediate_size);
    clef_measured found =
        run_measure(model, (clef_measure_options){.patch_count = 160, .rows_per_step = 64});
    assert_int_equal(found.token_count, 40);
    assert_int_equal(found.step_count, 3);
    assert_true(found.matrix_operations == 2 * (160 * (1536.0 * c->hidden_size + c->depth * block) +
                                                40 * merged * (merged + c->out_hidden_size)));
    assert_true(found.attention_operations == 4.0 * c->hidden_size * c->depth * 160 * 160);
    assert_true(found.part_ns[CLEF_PART_ATTENTION] > 0);
    assert_true(found.part_ns[CLEF_PART_DELTA_RULE] == 0);
    assert_true(found.part_ns[CLEF_PART_HEAD] == 0);
    clef_measured one =
        run_measure(model, (clef_measure_options){.patch_count = 160, .layer_count = 1});
    assert_true(found.matrix_operations - one.matrix_operations == 2 * 160 * block);
    clef_model_close(model);
}

static void fewer_layers_and_few_tokens(void **state) {
    (void)state;
    clef_model *model = open_model_with(trained_model(), 1, NULL);
    clef_measured all = run_measure(model, (clef_measure_options){.token_count = 1});
    clef_measured two =
        run_measure(model, (clef_measure_options){.token_count = 1, .layer_count = 2});
    assert_int_equal(all.step_count, 1);
    assert_true(two.matrix_operations < all.matrix_operations);
    assert_true(two.part_ns[CLEF_PART_ATTENTION] == 0); /* the first three are delta layers */
    clef_model_close(model);
}

static void every_made_kind_runs(void **state) {
    static const struct {
        const char *recipe;
        clef_peak peak;
    } kinds[] = {{NULL, CLEF_PEAK_F32}, {"int8", CLEF_PEAK_INT8}, {"int4", CLEF_PEAK_INT8}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        clef_error error = {0};
        clef_measure *measure = NULL;
        clef_model *model = make_model(0, kinds[i].recipe, 4);
        clef_measured found = run_measure(model, (clef_measure_options){.token_count = 3});
        assert_true(found.part_ns[CLEF_PART_ATTENTION] > 0);
        assert_true(found.part_ns[CLEF_PART_HEAD] == 0); /* this shape has none */
        if (kinds[i].recipe != NULL) {
            assert_ok(clef_measure_create(model, NULL, &measure, &error), &error);
            assert_int_equal(clef_measure_peak(measure), kinds[i].peak);
            clef_measure_close(measure);
        }
        clef_model_close(model);
    }
}

static void runs_that_are_refused(void **state) {
    static const struct {
        clef_measure_options options;
        clef_status status;
        const char *words;
    } cases[] = {
        {{.sequence_count = 65537}, CLEF_USAGE, "65537 sequences"},
        {{.token_count = 4000000000u}, CLEF_USAGE, "4000000000 tokens"},
        {{.rows_per_step = 65537}, CLEF_USAGE, "65537 rows"},
        {{.layer_count = 1000}, CLEF_USAGE, "1000 layers"},
        {{.patch_count = 6}, CLEF_USAGE, "6 patches"},
        {{.patch_count = 65540}, CLEF_USAGE, "65540 patches"},
        {{.patch_count = 4, .layer_count = 1000}, CLEF_USAGE, "1000 blocks"},
        {{.patch_count = 4, .rows_per_step = 65537}, CLEF_USAGE, "65537 rows"},
    };
    (void)state;
    clef_model *model = open_model_with(trained_model(), 1, NULL);
    clef_measure *measure = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clef_error error = {0};
        assert_int_equal(clef_measure_create(model, &cases[i].options, &measure, &error),
                         cases[i].status);
        assert_null(measure);
        assert_says(&error, cases[i].words);
    }
    /* Every sequence as long as the context: more than any machine of tests has. */
    clef_error error = {0};
    clef_model_facts facts;
    clef_model_describe(model, &facts);
    clef_measure_options huge = {.sequence_count = 65536, .token_count = facts.context_length};
    assert_int_equal(clef_measure_create(model, &huge, &measure, &error), CLEF_OUT_OF_MEMORY);
    assert_says(&error, "bytes are available");
    clef_model_close(model);
}

/* ---- the meter ---- */

static void dot_products_are_held_against_fp32_at_least(void **state) {
    (void)state;
    clef_error error = {0};
    clef_meter *meter = NULL;
    clef_runtime *runtime = open_runtime(1, "reference");
    assert_ok(clef_meter_create(runtime, &meter, &error), &error);
    clef_runtime_close(runtime); /* the meter keeps it */
    assert_true(clef_meter_bytes(meter) > 0);
    for (int peak = 0; peak < CLEF_PEAK_COUNT; peak++) {
        assert_true(clef_meter_peak(meter, (clef_peak)peak) == 0);
    }
    clef_meter_sample(meter, CLEF_PEAK_INT8);
    assert_true(clef_meter_peak(meter, CLEF_PEAK_F32) > 0);
    assert_true(clef_meter_peak(meter, CLEF_PEAK_INT8) >= clef_meter_peak(meter, CLEF_PEAK_F32));
    assert_true(clef_meter_peak(meter, CLEF_PEAK_READ) == 0);
    clef_meter_close(meter);
    clef_meter_close(NULL);
    clef_measure_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_have_the_variance_of_the_formula),
        cmocka_unit_test(threads_change_no_weight),
        cmocka_unit_test(a_made_model_reads_no_text),
        cmocka_unit_test(shapes_that_are_refused),
        cmocka_unit_test(work_is_that_of_the_formulas),
        cmocka_unit_test(pictures_go_through_the_tower_alone),
        cmocka_unit_test(fewer_layers_and_few_tokens),
        cmocka_unit_test(every_made_kind_runs),
        cmocka_unit_test(runs_that_are_refused),
        cmocka_unit_test(dot_products_are_held_against_fp32_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
