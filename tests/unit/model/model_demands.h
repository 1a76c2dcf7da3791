/* A configuration read from a directory, with the list of tensors it demands. */
#ifndef CLEF_TEST_MODEL_DEMANDS_H
#define CLEF_TEST_MODEL_DEMANDS_H

#include "../weights/weight_fixture.h"

#include "model/tensor_names.h"

typedef struct model {
    clef_config config;
    clef_head_config head;
    bool has_head;
    clef_arena arena;
    clef_tensor_demands demands;
} model;

static void load_model(const char *directory, model *loaded) {
    clef_error error = {0};
    bool is_absent = false;
    *loaded = (model){0};
    assert_ok(clef_config_load(directory, &loaded->config, &error), &error);
    clef_status status = clef_head_config_load(directory, loaded->config.hidden_size, &loaded->head,
                                               &is_absent, &error);
    loaded->has_head = status == CLEF_OK;
    assert_true(loaded->has_head || is_absent);
    assert_ok(clef_tensor_demands_list(&loaded->config, loaded->has_head ? &loaded->head : NULL,
                                       &loaded->arena, &loaded->demands, &error),
              &error);
}

static void release_model(model *loaded) {
    clef_config_release(&loaded->config);
    clef_arena_release(&loaded->arena);
}

static const clef_tensor_demand *find_demand(const model *loaded, const char *name) {
    for (size_t i = 0; i < loaded->demands.count; i++) {
        if (clef_text_equals(loaded->demands.items[i].name, clef_text_of(name))) {
            return &loaded->demands.items[i];
        }
    }
    return NULL;
}

#endif
