/* Recipes: which matrix gets what, the first rule that fits, and a message for every mistake. */
#include "../weights/weight_fixture.h"

#include "model/recipe.h"

typedef struct listed {
    clef_config config;
    clef_arena arena;
    clef_tensor_demands demands;
} listed;

static void list_tensors(const char *directory, listed *l) {
    clef_error error = {0};
    *l = (listed){0};
    assert_ok(clef_config_load(fixture(directory), &l->config, &error), &error);
    assert_ok(clef_tensor_demands_list(&l->config, NULL, &l->arena, &l->demands, &error), &error);
}

static void release(listed *l) {
    clef_config_release(&l->config);
    clef_arena_release(&l->arena);
}

/* "int4/32", "int8/64", "int8/row" or "keep" for one tensor. */
static const char *chosen(const clef_recipe *recipe, const listed *l, const char *name,
                          char out[32]) {
    for (size_t i = 0; i < l->demands.count; i++) {
        if (clef_text_equals(l->demands.items[i].name, clef_text_of(name))) {
            clef_weight weight = clef_recipe_choose(recipe, &l->demands.items[i]);
            const char *type = weight.dtype == CLEF_DTYPE_U8 ? "int4" : "int8";
            if (weight.group == 0) {
                snprintf(out, 32, "keep");
            } else if (weight.group == weight.columns) {
                snprintf(out, 32, "%s/row", type);
            } else {
                snprintf(out, 32, "%s/%zu", type, weight.group);
            }
            return out;
        }
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static void parse(const char *text, uint32_t group, const listed *l, clef_recipe *recipe) {
    clef_error error = {0};
    assert_ok(clef_recipe_parse(text, group, l->config.layer_count, recipe, &error), &error);
    assert_ok(clef_recipe_check(recipe, &l->demands, &error), &error);
}

#define LAYER(n, rest) "model.language_model.layers." #n "." rest
#define ASSERT_CHOICE(recipe, l, name, expected)                                                   \
    do {                                                                                           \
        char found_choice[32];                                                                     \
        assert_string_equal(chosen((recipe), (l), (name), found_choice), (expected));              \
    } while (0)

static void names_stand_for_recipes(void **state) {
    (void)state;
    const struct {
        const char *recipe;
        uint32_t group;
        const char *first, *middle, *second, *last;
    } rows[] = {
        {"int8", 0, "int8/64", "int8/64", "int8/64", "int8/64"},
        {"int8", 32, "int8/32", "int8/32", "int8/32", "int8/32"},
        {"int4", 0, "int4/32", "int4/32", "int4/32", "int4/32"},
        {"int4", 64, "int4/64", "int4/64", "int4/64", "int4/64"},
        {"mixed", 0, "int8/64", "int8/64", "int4/32", "int4/32"},
        {"mixed", 64, "int8/64", "int8/64", "int4/64", "int4/64"},
    };
    listed l;
    list_tensors("configs/clef-flash", &l);
    assert_int_equal(l.config.layer_count, 32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clef_recipe recipe;
        parse(rows[i].recipe, rows[i].group, &l, &recipe);
        ASSERT_CHOICE(&recipe, &l, LAYER(0, "mlp.up_proj.weight"), rows[i].first);
        ASSERT_CHOICE(&recipe, &l, LAYER(15, "self_attn.o_proj.weight"), rows[i].middle);
        ASSERT_CHOICE(&recipe, &l, LAYER(16, "linear_attn.in_proj_qkv.weight"), rows[i].second);
        ASSERT_CHOICE(&recipe, &l, LAYER(31, "mlp.down_proj.weight"), rows[i].last);
        ASSERT_CHOICE(&recipe, &l, "lm_head.weight", "int8/row");
        ASSERT_CHOICE(&recipe, &l, "model.language_model.embed_tokens.weight", "int8/row");
        ASSERT_CHOICE(&recipe, &l, LAYER(0, "linear_attn.in_proj_a.weight"), "keep");
        ASSERT_CHOICE(&recipe, &l, LAYER(0, "linear_attn.in_proj_b.weight"), "keep");
        ASSERT_CHOICE(&recipe, &l, LAYER(0, "linear_attn.conv1d.weight"), "keep");
        ASSERT_CHOICE(&recipe, &l, LAYER(0, "linear_attn.A_log"), "keep");
        ASSERT_CHOICE(&recipe, &l, "model.language_model.norm.weight", "keep");
        ASSERT_CHOICE(&recipe, &l, "model.visual.blocks.0.attn.qkv.weight", "keep");
        clef_recipe_release(&recipe);
    }
    release(&l);
}

/* 200 columns are no multiple of 32. */
static void four_bits_need_whole_blocks(void **state) {
    (void)state;
    listed l;
    clef_recipe recipe;
    list_tensors("tiny-random/release", &l);
    parse("int4", 0, &l, &recipe);
    ASSERT_CHOICE(&recipe, &l, LAYER(0, "mlp.down_proj.weight"), "int8/64");
    ASSERT_CHOICE(&recipe, &l, LAYER(0, "mlp.up_proj.weight"), "int4/32");
    clef_recipe_release(&recipe);
    release(&l);
}

static void the_first_rule_that_fits_decides(void **state) {
    (void)state;
    const char *const text =
        " {\"group\": 64, \"rules\": [\n"
        "{\"layers\": \"0-3\", \"tensors\": \"mlp.*\", \"type\": \"keep\"},\n"
        "{\"tensors\": \"mlp.down_proj\", \"type\": \"int4\", \"group\": 32},\n"
        "{\"layers\": \"31\", \"type\": \"int8\"},\n"
        "{\"tensors\": \"*_proj.weight\", \"type\": \"int4\"},\n"
        "{\"tensors\": \"lm_head\", \"type\": \"keep\"}], \"default\": \"int8\"}";
    listed l;
    clef_recipe recipe, again;
    clef_buffer written = {0};
    list_tensors("configs/clef-flash", &l);
    parse(text, 0, &l, &recipe);
    /* What it writes of itself is the same recipe. */
    clef_recipe_write(&recipe, &written);
    parse(written.bytes, 0, &l, &again);
    for (int round = 0; round < 2; round++) {
        const clef_recipe *r = round == 0 ? &recipe : &again;
        ASSERT_CHOICE(r, &l, LAYER(3, "mlp.up_proj.weight"), "keep");
        ASSERT_CHOICE(r, &l, LAYER(3, "mlp.down_proj.weight"), "keep");
        ASSERT_CHOICE(r, &l, LAYER(4, "mlp.down_proj.weight"), "int4/32");
        ASSERT_CHOICE(r, &l, LAYER(31, "mlp.down_proj.weight"), "int4/32");
        ASSERT_CHOICE(r, &l, LAYER(31, "mlp.up_proj.weight"), "int8/64");
        ASSERT_CHOICE(r, &l, LAYER(4, "mlp.up_proj.weight"), "int4/64");
        ASSERT_CHOICE(r, &l, LAYER(4, "linear_attn.in_proj_qkv.weight"), "int8/64");
        ASSERT_CHOICE(r, &l, LAYER(4, "linear_attn.out_proj.weight"), "int4/64");
        ASSERT_CHOICE(r, &l, "lm_head.weight", "keep");
        ASSERT_CHOICE(r, &l, "model.language_model.embed_tokens.weight", "int8/row");
    }
    clef_buffer_release(&written);
    clef_recipe_release(&again);
    clef_recipe_release(&recipe);
    release(&l);
}

static void mistakes_are_named(void **state) {
    (void)state;
    const struct {
        const char *recipe;
        const char *says[3];
    } rows[] = {
        {"int3", {"\"int3\"", "int8, int4 or mixed"}},
        {"", {"neither int8"}},
        {"{\"rules\": [}", {"not valid JSON", "byte 11"}},
        {"{\"groups\": 64}", {"unknown field \"groups\"", "group, rules and default"}},
        {"{\"group\": 16}", {"\"group\" is 16", "32 or 64"}},
        {"{\"group\": \"64\"}", {"\"group\" is \"64\"", "32 or 64"}},
        {"{\"default\": \"int2\"}", {"\"default\" is \"int2\"", "\"keep\""}},
        {"{\"default\": null}", {"\"default\" is null"}},
        {"{\"rules\": {}}", {"\"rules\" is an object", "a list"}},
        {"{\"rules\": [7]}", {"rules[0] is a number", "an object"}},
        {"{\"rules\": [{}]}", {"rules[0] has no \"type\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"tensor\": \"x\"}]}",
         {"unknown field \"tensor\" in rules[0]", "layers, tensors, type and group"}},
        {"{\"rules\": [{\"type\": \"int8\"}, {\"type\": \"f16\"}]}", {"rules[1].type is \"f16\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"group\": 48}]}", {"rules[0].group is 48"}},
        {"{\"rules\": [{\"type\": \"int8\", \"tensors\": \"\"}]}", {"rules[0].tensors is \"\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": \"0-32\"}]}",
         {"rules[0].layers is \"0-32\"", "\"0-31\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": \"3-2\"}]}", {"\"3-2\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": \"1-\"}]}", {"\"1-\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": \"1-2x\"}]}", {"\"1-2x\""}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": \"99999999999999\"}]}", {"9999"}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": 3}]}", {"rules[0].layers is 3"}},
        {"{\"rules\": [{\"type\": \"int8\", \"tensors\": \"mpl.*\"}]}",
         {"rules[0], tensors \"mpl.*\"", "fits no matrix"}},
        {"{\"rules\": [{\"type\": \"int4\", \"tensors\": \"linear_attn.in_proj_a\"}]}",
         {"fits no matrix"}},
        {"{\"rules\": [{\"type\": \"int8\", \"layers\": \"0\", \"tensors\": \"self_attn.*\"}]}",
         {"rules[0], tensors \"self_attn.*\"", "fits no matrix"}},
        {"{\"rules\": [{\"type\": \"int8\"}, {\"type\": \"int4\", \"tensors\": \"mlp.*\"}]}",
         {"rules[1], tensors \"mlp.*\"", "the rules before it"}},
    };
    listed l;
    list_tensors("configs/clef-flash", &l);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clef_error error = {0};
        clef_recipe recipe;
        clef_status status =
            clef_recipe_parse(rows[i].recipe, 0, l.config.layer_count, &recipe, &error);
        if (status == CLEF_OK) {
            status = clef_recipe_check(&recipe, &l.demands, &error);
            clef_recipe_release(&recipe);
        }
        if (status != CLEF_USAGE) {
            fail_msg("%s: status %d", rows[i].recipe, status);
        }
        for (size_t j = 0; j < 3 && rows[i].says[j] != NULL; j++) {
            ASSERT_MESSAGE(&error, rows[i].says[j]);
        }
        assert_int_not_equal(clef_recipe_parse("int8", 16, 4, &recipe, NULL), CLEF_OK);
    }
    release(&l);
}

static void patterns(void **state) {
    (void)state;
    const struct {
        const char *pattern;
        bool fits; /* "mlp.down_proj.weight" */
    } rows[] = {
        {"*", true},
        {"mlp.down_proj.weight", true},
        {"mlp.down_proj", true},
        {"mlp.down", false},
        {"*.weight", true},
        {"*down*", true},
        {"**d*n**", true},
        {"m*p.*_proj", true},
        {"m*x*", false},
        {"mlp.*.bias", false},
        {"down_proj", false},
        {"*proj*proj*", false},
    };
    listed l;
    list_tensors("configs/clef-flash", &l);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        char found[32];
        clef_recipe recipe;
        clef_error error = {0};
        snprintf(text, sizeof text,
                 "{\"rules\": [{\"tensors\": \"%s\", \"type\": \"int4\"}], \"default\": \"keep\"}",
                 rows[i].pattern);
        assert_ok(clef_recipe_parse(text, 0, 32, &recipe, &error), &error);
        chosen(&recipe, &l, LAYER(0, "mlp.down_proj.weight"), found);
        if (strcmp(found, rows[i].fits ? "int4/32" : "keep") != 0) {
            fail_msg("%s gives %s", rows[i].pattern, found);
        }
        clef_recipe_release(&recipe);
    }
    release(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_for_recipes),
        cmocka_unit_test(four_bits_need_whole_blocks),
        cmocka_unit_test(the_first_rule_that_fits_decides),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
