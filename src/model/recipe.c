/* Reading recipes strictly: a field nobody knows, a type nobody knows or a rule that decides
 * nothing is a mistake of whoever wrote it, and is named. */
#include "model/recipe.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const type_names[] = {
    [CLEF_RECIPE_INT8] = "int8",
    [CLEF_RECIPE_INT4] = "int4",
    [CLEF_RECIPE_KEEP] = "keep",
};
#define TYPE_COUNT (sizeof type_names / sizeof *type_names)

/* Values are shown in messages up to this length. */
#define SHOWN_BYTES 60

/* "rules[2].type" into out; index SIZE_MAX: the recipe itself. */
static const char *field_name(size_t index, const char *field, char out[64]) {
    if (index == SIZE_MAX) {
        snprintf(out, 64, "\"%s\"", field);
    } else {
        snprintf(out, 64, "rules[%zu].%s", index, field);
    }
    return out;
}

static int shown_bytes(clef_text text) {
    size_t length = text.length < SHOWN_BYTES ? text.length : SHOWN_BYTES;
    return (int)clef_utf8_valid_prefix(text.bytes, length);
}

static const char *kind_of(const clef_json *value) {
    static const char *const kinds[] = {
        [CLEF_JSON_NULL] = "null",        [CLEF_JSON_FALSE] = "false",
        [CLEF_JSON_TRUE] = "true",        [CLEF_JSON_NUMBER] = "a number",
        [CLEF_JSON_STRING] = "a text",    [CLEF_JSON_ARRAY] = "a list",
        [CLEF_JSON_OBJECT] = "an object",
    };
    return kinds[value->type];
}

static clef_status fail_value(size_t index, const char *field, const clef_json *value,
                              const char *expected, clef_error *error) {
    char name[64];
    field_name(index, field, name);
    if (value->type == CLEF_JSON_STRING || value->type == CLEF_JSON_NUMBER) {
        const char *quote = value->type == CLEF_JSON_STRING ? "\"" : "";
        return clef_fail(error, CLEF_USAGE, "recipe: %s is %s%.*s%s; expected %s", name, quote,
                         shown_bytes(value->text), value->text.bytes, quote, expected);
    }
    return clef_fail(error, CLEF_USAGE, "recipe: %s is %s; expected %s", name, kind_of(value),
                     expected);
}

/* Refuses members that are not in `known`, a list of names ended by NULL. */
static clef_status check_fields(const clef_json *object, size_t index, const char *const *known,
                                const char *list, clef_error *error) {
    for (const clef_json *member = object->first; member != NULL; member = member->next) {
        bool is_known = false;
        for (size_t i = 0; known[i] != NULL; i++) {
            is_known = is_known || clef_text_equals(member->key, clef_text_of(known[i]));
        }
        if (!is_known) {
            char place[64] = "";
            if (index != SIZE_MAX) {
                snprintf(place, sizeof place, " in rules[%zu]", index);
            }
            return clef_fail(error, CLEF_USAGE, "recipe: unknown field \"%.*s\"%s; known are %s",
                             shown_bytes(member->key), member->key.bytes, place, list);
        }
    }
    return CLEF_OK;
}

/* ---- fields ---- */

static clef_status read_type(const clef_json *value, size_t index, const char *field,
                             clef_recipe_type *type, clef_error *error) {
    for (size_t i = 0; i < TYPE_COUNT && value->type == CLEF_JSON_STRING; i++) {
        if (clef_text_equals(value->text, clef_text_of(type_names[i]))) {
            *type = (clef_recipe_type)i;
            return CLEF_OK;
        }
    }
    return fail_value(index, field, value, "\"int8\", \"int4\" or \"keep\"", error);
}

static clef_status read_group(const clef_json *value, size_t index, uint32_t *group,
                              clef_error *error) {
    uint64_t number;
    if (value == NULL) {
        return CLEF_OK;
    }
    if (!clef_json_unsigned(value, &number) || (number != 32 && number != 64)) {
        return fail_value(index, "group", value, "32 or 64", error);
    }
    *group = (uint32_t)number;
    return CLEF_OK;
}

/* Reads digits at *text and moves behind them; false without any, or above 2^31. */
static bool read_number(clef_text *text, uint32_t *number) {
    size_t length = 0;
    *number = 0;
    while (length < text->length && text->bytes[length] >= '0' && text->bytes[length] <= '9') {
        if (*number > UINT32_MAX / 20) {
            return false;
        }
        *number = *number * 10 + (uint32_t)(text->bytes[length] - '0');
        length++;
    }
    text->bytes += length;
    text->length -= length;
    return length > 0;
}

/* "3" or "0-15". */
static bool parse_layers(clef_text text, clef_recipe_rule *rule) {
    if (!read_number(&text, &rule->first_layer)) {
        return false;
    }
    rule->last_layer = rule->first_layer;
    if (text.length > 0 && text.bytes[0] == '-') {
        text = (clef_text){text.bytes + 1, text.length - 1};
        if (!read_number(&text, &rule->last_layer)) {
            return false;
        }
    }
    return text.length == 0 && rule->first_layer <= rule->last_layer;
}

static clef_status read_layers(const clef_json *value, size_t index, uint32_t layer_count,
                               clef_recipe_rule *rule, clef_error *error) {
    char expected[96];
    if (value == NULL) {
        return CLEF_OK;
    }
    rule->has_layers = true;
    if (value->type != CLEF_JSON_STRING || !parse_layers(value->text, rule) ||
        rule->last_layer >= layer_count) {
        snprintf(expected, sizeof expected,
                 "a layer or a range of the %" PRIu32 " layers, as in \"0-%" PRIu32 "\"",
                 layer_count, layer_count - 1);
        return fail_value(index, "layers", value, expected, error);
    }
    return CLEF_OK;
}

static clef_status read_rule(const clef_json *value, size_t index, uint32_t layer_count,
                             clef_recipe_rule *rule, clef_error *error) {
    static const char *const known[] = {"layers", "tensors", "type", "group", NULL};
    if (value->type != CLEF_JSON_OBJECT) {
        return clef_fail(error, CLEF_USAGE, "recipe: rules[%zu] is %s; expected an object", index,
                         kind_of(value));
    }
    clef_status status =
        check_fields(value, index, known, "layers, tensors, type and group", error);
    if (status == CLEF_OK) {
        status = read_layers(clef_json_member(value, "layers"), index, layer_count, rule, error);
    }
    const clef_json *tensors = clef_json_member(value, "tensors");
    rule->tensors = CLEF_TEXT("*");
    if (status == CLEF_OK && tensors != NULL) {
        rule->tensors = tensors->text;
        if (tensors->type != CLEF_JSON_STRING || tensors->text.length == 0) {
            status = fail_value(index, "tensors", tensors, "a name such as \"mlp.*\"", error);
        }
    }
    const clef_json *type = clef_json_member(value, "type");
    if (status == CLEF_OK && type == NULL) {
        status = clef_fail(error, CLEF_USAGE, "recipe: rules[%zu] has no \"type\"", index);
    }
    if (status == CLEF_OK) {
        status = read_type(type, index, "type", &rule->type, error);
    }
    if (status == CLEF_OK) {
        status = read_group(clef_json_member(value, "group"), index, &rule->group, error);
    }
    return status;
}

static clef_status make_rules(clef_recipe *recipe, size_t count, clef_error *error) {
    recipe->rules = clef_arena_allocate(&recipe->arena, count, sizeof *recipe->rules);
    return recipe->rules == NULL
               ? clef_fail_memory(error, count * sizeof *recipe->rules, "the rules of a recipe")
               : CLEF_OK;
}

static clef_status read_rules(const clef_json *rules, uint32_t layer_count, clef_recipe *recipe,
                              clef_error *error) {
    if (rules == NULL) {
        return CLEF_OK;
    }
    if (rules->type != CLEF_JSON_ARRAY) {
        return fail_value(SIZE_MAX, "rules", rules, "a list", error);
    }
    clef_status status = make_rules(recipe, rules->count, error);
    for (const clef_json *rule = rules->first; rule != NULL && status == CLEF_OK;
         rule = rule->next) {
        status = read_rule(rule, recipe->rule_count, layer_count,
                           &recipe->rules[recipe->rule_count], error);
        recipe->rule_count++;
    }
    return status;
}

/* ---- whole recipes ---- */

static clef_status read_recipe(clef_text text, uint32_t layer_count, clef_recipe *recipe,
                               clef_error *error) {
    static const char *const known[] = {"group", "rules", "default", NULL};
    clef_json *root;
    clef_error fault = {0};
    clef_status status = clef_json_parse(text, &recipe->arena, &root, &fault);
    if (status == CLEF_OUT_OF_MEMORY) {
        return clef_fail(error, status, "%s", fault.message);
    }
    if (status != CLEF_OK) {
        return clef_fail(error, CLEF_USAGE, "the recipe is not valid JSON (byte %" PRIu64 "): %s",
                         fault.offset, fault.message);
    }
    if (root->type != CLEF_JSON_OBJECT) {
        return clef_fail(error, CLEF_USAGE, "the recipe is %s; expected an object", kind_of(root));
    }
    status = check_fields(root, SIZE_MAX, known, "group, rules and default", error);
    if (status == CLEF_OK) {
        status = read_group(clef_json_member(root, "group"), SIZE_MAX, &recipe->group, error);
    }
    const clef_json *otherwise = clef_json_member(root, "default");
    if (status == CLEF_OK && otherwise != NULL) {
        status = read_type(otherwise, SIZE_MAX, "default", &recipe->otherwise, error);
    }
    if (status == CLEF_OK) {
        status = read_rules(clef_json_member(root, "rules"), layer_count, recipe, error);
    }
    return status;
}

/* The sensitive layers are the early ones. */
static clef_status make_mixed(uint32_t layer_count, clef_recipe *recipe, clef_error *error) {
    uint32_t half = layer_count - layer_count / 2;
    if (half == layer_count) {
        return CLEF_OK;
    }
    clef_status status = make_rules(recipe, 1, error);
    if (status == CLEF_OK) {
        recipe->rule_count = 1;
        recipe->rules[0] = (clef_recipe_rule){.has_layers = true,
                                              .first_layer = half,
                                              .last_layer = layer_count - 1,
                                              .tensors = CLEF_TEXT("*"),
                                              .type = CLEF_RECIPE_INT4};
    }
    return status;
}

clef_status clef_recipe_parse(const char *text, uint32_t group, uint32_t layer_count,
                              clef_recipe *recipe, clef_error *error) {
    *recipe = (clef_recipe){0};
    clef_status status = CLEF_OK;
    size_t blanks = strspn(text, " \t\r\n");
    if (group != 0 && group != 32 && group != 64) {
        return clef_fail(error, CLEF_USAGE, "groups of %" PRIu32 " columns; expected 32 or 64",
                         group);
    }
    if (strcmp(text, "int8") == 0) {
        recipe->otherwise = CLEF_RECIPE_INT8;
    } else if (strcmp(text, "int4") == 0) {
        recipe->otherwise = CLEF_RECIPE_INT4;
    } else if (strcmp(text, "mixed") == 0) {
        status = make_mixed(layer_count, recipe, error);
    } else if (text[blanks] == '{') {
        status = read_recipe(clef_text_of(text), layer_count, recipe, error);
    } else {
        status = clef_fail(error, CLEF_USAGE,
                           "the recipe \"%.*s\" is neither int8, int4 or mixed nor JSON",
                           shown_bytes(clef_text_of(text)), text);
    }
    if (status != CLEF_OK) {
        clef_recipe_release(recipe);
        return status;
    }
    recipe->group = group != 0 ? group : recipe->group;
    return CLEF_OK;
}

void clef_recipe_release(clef_recipe *recipe) {
    clef_arena_release(&recipe->arena);
    *recipe = (clef_recipe){0};
}

/* ---- choosing ---- */

/* The small products that gate the delta rule stay exact: they are few and steer everything. */
static bool is_quantisable(const clef_tensor_demand *demand) {
    return demand->rank == 2 &&
           (demand->part == CLEF_TENSOR_PART_TEXT || demand->part == CLEF_TENSOR_PART_LAYER) &&
           !clef_text_equals(demand->local, CLEF_TEXT("linear_attn.in_proj_a.weight")) &&
           !clef_text_equals(demand->local, CLEF_TEXT("linear_attn.in_proj_b.weight"));
}

/* `*` stands for any text. Linear but for the last star, which moves on when the rest does not fit.
 */
static bool fits_pattern(clef_text pattern, clef_text name) {
    size_t p = 0, n = 0, star = SIZE_MAX, star_n = 0;
    while (n < name.length) {
        if (p < pattern.length && pattern.bytes[p] == '*') {
            star = p++;
            star_n = n;
        } else if (p < pattern.length && pattern.bytes[p] == name.bytes[n]) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++star_n;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.bytes[p] == '*') {
        p++;
    }
    return p == pattern.length;
}

static bool fits_rule(const clef_recipe_rule *rule, const clef_tensor_demand *demand) {
    if (!is_quantisable(demand)) {
        return false;
    }
    if (rule->has_layers && (demand->layer < 0 || (uint32_t)demand->layer < rule->first_layer ||
                             (uint32_t)demand->layer > rule->last_layer)) {
        return false;
    }
    size_t suffix = sizeof ".weight" - 1; /* every matrix that is quantised ends in it */
    return fits_pattern(rule->tensors, demand->local) ||
           fits_pattern(rule->tensors,
                        (clef_text){demand->local.bytes, demand->local.length - suffix});
}

/* Index of the rule that decides; rule_count when none does. */
static size_t find_rule(const clef_recipe *recipe, const clef_tensor_demand *demand) {
    size_t i = 0;
    while (i < recipe->rule_count && !fits_rule(&recipe->rules[i], demand)) {
        i++;
    }
    return i;
}

clef_status clef_recipe_check(const clef_recipe *recipe, const clef_tensor_demands *demands,
                              clef_error *error) {
    for (size_t i = 0; i < recipe->rule_count; i++) {
        const clef_recipe_rule *rule = &recipe->rules[i];
        bool fits_any = false, decides = false;
        for (size_t j = 0; j < demands->count && !decides; j++) {
            fits_any = fits_any || fits_rule(rule, &demands->items[j]);
            decides = find_rule(recipe, &demands->items[j]) == i;
        }
        if (!decides) {
            return clef_fail(error, CLEF_USAGE, "recipe: rules[%zu], tensors \"%.*s\", %s", i,
                             shown_bytes(rule->tensors), rule->tensors.bytes,
                             fits_any ? "decides nothing: the rules before it fit all its matrices"
                                      : "fits no matrix that can be quantised");
        }
    }
    return CLEF_OK;
}

clef_weight clef_recipe_choose(const clef_recipe *recipe, const clef_tensor_demand *demand) {
    clef_weight weight = {0};
    if (!is_quantisable(demand)) {
        return weight;
    }
    size_t index = find_rule(recipe, demand);
    const clef_recipe_rule *rule = index < recipe->rule_count ? &recipe->rules[index] : NULL;
    clef_recipe_type type = rule == NULL ? recipe->otherwise : rule->type;
    uint32_t group = rule != NULL && rule->group != 0 ? rule->group : recipe->group;
    weight.rows = (size_t)demand->shape[0];
    weight.columns = (size_t)demand->shape[1];
    if (type == CLEF_RECIPE_KEEP) {
        return weight;
    }
    bool is_table = demand->part == CLEF_TENSOR_PART_TEXT;
    bool is_int4 = type == CLEF_RECIPE_INT4 && weight.columns % 32 == 0 && !is_table;
    weight.dtype = is_int4 ? CLEF_DTYPE_U8 : CLEF_DTYPE_I8;
    weight.group = is_table ? weight.columns : group != 0 ? group : is_int4 ? 32 : 64;
    return weight;
}

/* ---- writing ---- */

static void write_rule(const clef_recipe_rule *rule, clef_buffer *out) {
    clef_buffer_append_byte(out, '{');
    if (rule->has_layers) {
        clef_buffer_append_format(out, "\"layers\":\"%" PRIu32 "-%" PRIu32 "\",", rule->first_layer,
                                  rule->last_layer);
    }
    clef_buffer_append_string(out, "\"tensors\":");
    clef_json_write_string(out, rule->tensors);
    clef_buffer_append_format(out, ",\"type\":\"%s\"", type_names[rule->type]);
    if (rule->group != 0) {
        clef_buffer_append_format(out, ",\"group\":%" PRIu32, rule->group);
    }
    clef_buffer_append_byte(out, '}');
}

void clef_recipe_write(const clef_recipe *recipe, clef_buffer *out) {
    clef_buffer_append_byte(out, '{');
    if (recipe->group != 0) {
        clef_buffer_append_format(out, "\"group\":%" PRIu32 ",", recipe->group);
    }
    clef_buffer_append_string(out, "\"rules\":[");
    for (size_t i = 0; i < recipe->rule_count; i++) {
        clef_buffer_append_string(out, i == 0 ? "" : ",");
        write_rule(&recipe->rules[i], out);
    }
    clef_buffer_append_format(out, "],\"default\":\"%s\"}", type_names[recipe->otherwise]);
}
