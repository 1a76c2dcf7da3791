/* Models by formula: a named shape, made weights, and then the way of every model, with the same
 * check and the same binding. */
#include "engine/handles.h"

#include <clef/measure.h>

#include "base/system_memory.h"
#include "model/named_shape.h"

#include <stdio.h>

const char *clef_shape_names(void) {
    return clef_named_shape_list();
}

static clef_status make_stores(clef_model *model, bool has_head, clef_error *error) {
    clef_made_weights *made = &model->made;
    clef_status status = clef_made_weights_fill(made, model->runtime->pool, error);
    if (status == CLEF_OK) {
        status = clef_weight_store_over(made->tensors, made->backbone_count, made->backbone_bytes,
                                        &model->backbone_store, error);
    }
    if (status == CLEF_OK && has_head) {
        status = clef_weight_store_over(
            made->tensors + made->backbone_count, made->count - made->backbone_count,
            made->bytes - made->backbone_bytes, &model->head_store, error);
    }
    return status;
}

/* Lists the weights, which says how much memory they take. */
static clef_status plan_weights(clef_model *model, const clef_config *config,
                                const clef_head_config *head, const char *recipe_text,
                                clef_error *error) {
    clef_recipe recipe;
    char what[160];
    clef_status status;
    if (recipe_text == NULL) {
        status = clef_made_weights_plan(config, head, NULL, &model->made, error);
    } else {
        status = clef_recipe_parse(recipe_text, 0, config->layer_count, &recipe, error);
        if (status != CLEF_OK) {
            return status;
        }
        status = clef_made_weights_plan(config, head, &recipe, &model->made, error);
        clef_recipe_release(&recipe);
    }
    if (status != CLEF_OK) {
        return status;
    }
    snprintf(what, sizeof what, "the weights of %u layers of %s", config->layer_count,
             model->directory);
    return clef_system_memory_require(model->made.bytes, what, error);
}

static clef_status make_network(clef_model *model, const clef_shape_options *options,
                                clef_error *error) {
    clef_config config;
    clef_head_config head;
    bool has_head = false;
    clef_status status =
        clef_named_shape_find(model->directory, options->layer_count, options->with_vision, &config,
                              &head, &has_head, error);
    const clef_head_config *used_head = has_head ? &head : NULL;
    if (status == CLEF_OK) {
        status = plan_weights(model, &config, used_head, options->recipe, error);
    }
    if (status == CLEF_OK) {
        status = make_stores(model, has_head, error);
    }
    if (status == CLEF_OK) {
        status = clef_model_bind(model, &config, used_head, error);
    }
    clef_config_release(&config);
    return status;
}

clef_status clef_model_make(clef_runtime *runtime, const char *shape,
                            const clef_shape_options *options, clef_model **out,
                            clef_error *error) {
    clef_shape_options chosen = options == NULL ? (clef_shape_options){0} : *options;
    *out = NULL;
    clef_model *model;
    clef_status status = clef_model_begin(runtime, shape, chosen.precision, &model, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = make_network(model, &chosen, error);
    if (status != CLEF_OK) {
        clef_model_close(model);
        return status;
    }
    *out = model;
    return CLEF_OK;
}
