/* Recipes: which matrix of a model is quantised to what. Only the matrices of the text model's
 * layers, the embeddings and the output matrix ever are; a recipe chooses among them by layer and
 * by name. Looks at names and shapes, never at weights.
 *
 * As JSON: {"group": 64, "rules": [{"layers": "0-15", "tensors": "mlp.*", "type": "int4", "group":
 * 32}, ...], "default": "int8"}. The first rule that fits a matrix decides; `default` (int8 when
 * absent) decides where none does. `layers` is a number or a range, without it all layers and the
 * matrices outside of layers; `tensors` is a name behind the layer's number, with or without
 * ".weight", where * stands for any text, without it all; `type` is "int8", "int4" or "keep";
 * `group` is 32 or 64, without it that of the recipe, without that 64 for int8 and 32 for int4. */
#ifndef CLEF_MODEL_RECIPE_H
#define CLEF_MODEL_RECIPE_H

#include "base/buffer.h"
#include "model/tensor_names.h"
#include "tensor/matrix.h"

typedef enum clef_recipe_type {
    CLEF_RECIPE_INT8,
    CLEF_RECIPE_INT4, /* becomes int8 where the columns are no multiple of 32 */
    CLEF_RECIPE_KEEP, /* stays in the type it has */
} clef_recipe_type;

typedef struct clef_recipe_rule {
    bool has_layers;
    uint32_t first_layer, last_layer; /* inclusive */
    clef_text tensors;
    clef_recipe_type type;
    uint32_t group; /* 0: not said */
} clef_recipe_rule;

/* Zero-initialised is the recipe that makes everything int8. Texts live in the arena or in the text
 * the recipe was read from. */
typedef struct clef_recipe {
    clef_recipe_rule *rules; /* [rule_count], in the arena */
    size_t rule_count;
    clef_recipe_type otherwise; /* "default" */
    uint32_t group;             /* 0: not said */
    clef_arena arena;
} clef_recipe;

/* Reads "int8", "int4", "mixed" (the first half of the layers int8, the second int4; an odd one in
 * the middle int8), or a recipe as JSON. `group`, when not 0, takes the place of the recipe's own.
 * `text` is borrowed until the release. CLEF_USAGE naming the field, what was found and what may
 * stand there; CLEF_OUT_OF_MEMORY. On failure the recipe is released. */
clef_status clef_recipe_parse(const char *text, uint32_t group, uint32_t layer_count,
                              clef_recipe *recipe, clef_error *error);

/* Refuses rules that decide about no matrix of the list: CLEF_USAGE naming the first one. */
clef_status clef_recipe_check(const clef_recipe *recipe, const clef_tensor_demands *demands,
                              clef_error *error);

/* How a tensor is to be stored: rows, columns, dtype and group are set, data and scales are not;
 * group 0: as it is. Embeddings and output matrix are int8 with one scale a row, unless kept. */
clef_weight clef_recipe_choose(const clef_recipe *recipe, const clef_tensor_demand *demand);

/* Appends the recipe as JSON that reads back as the same recipe. */
void clef_recipe_write(const clef_recipe *recipe, clef_buffer *out);

void clef_recipe_release(clef_recipe *recipe);

#endif
