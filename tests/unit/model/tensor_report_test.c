/* The message of the check: what it says without files, for huge models, and for weights of another
 * model. */
#include "model_demands.h"

#include <inttypes.h>

/* Counts the tensors a line of the message tells, by writing out its braces: every name must be
 * demanded with the shape that the line shows. */
static size_t expand_line(const model *loaded, const char *line, size_t length) {
    char name[512];
    size_t name_length = (size_t)(strstr(line, "  ") - line);
    assert_true(name_length < sizeof name && name_length < length);
    snprintf(name, sizeof name, "%.*s", (int)name_length, line);
    char *open = strchr(name, '{');
    char *pair = strstr(name, "{weight,bias}");
    size_t found = 0;
    for (int32_t layer = -1; layer < 64; layer++) {
        for (int kind = 0; kind < 2; kind++) {
            char whole[512];
            char rest[512];
            char list[512] = "";
            snprintf(whole, sizeof whole, "%s", name);
            if (pair != NULL) {
                snprintf(whole + (pair - name), sizeof whole - (size_t)(pair - name), "%s",
                         kind == 0 ? "weight" : "bias");
            } else if (kind == 1) {
                continue;
            }
            bool has_layers = open != NULL && open != pair;
            if (has_layers != (layer >= 0)) {
                continue;
            }
            if (has_layers) {
                char *close = strchr(whole, '}');
                snprintf(list, sizeof list, ",%.*s", (int)(close - whole - (open - name) - 1),
                         whole + (open - name) + 1);
                snprintf(rest, sizeof rest, "%s", close + 1);
                bool is_in = false;
                for (char *item = strtok(list, ","); item != NULL; item = strtok(NULL, ",")) {
                    int low = atoi(item);
                    const char *dash = strchr(item, '-');
                    is_in =
                        is_in || (layer >= low && layer <= (dash == NULL ? low : atoi(dash + 1)));
                }
                if (!is_in) {
                    continue;
                }
                snprintf(whole + (open - name), sizeof whole - (size_t)(open - name), "%d%s", layer,
                         rest);
            }
            const clef_tensor_demand *demand = find_demand(loaded, whole);
            if (demand == NULL) {
                fail_msg("the message names %s, which is not demanded", whole);
            }
            char shape[CLEF_SHAPE_TEXT_BYTES];
            clef_shape_text(demand->rank, demand->shape, shape, sizeof shape);
            assert_non_null(memmem(line + name_length, length - name_length, shape, strlen(shape)));
            found++;
        }
    }
    return found;
}

static void without_files_every_tensor_is_told(void **state) {
    (void)state;
    const char *const names[] = {"configs/clef", "configs/clef-flash", "configs/base-0.8b",
                                 "tiny-random/release"};
    for (int i = 0; i < 4; i++) {
        model loaded;
        clef_error error = {0};
        load_model(fixture(names[i]), &loaded);
        assert_int_equal(
            clef_tensor_demands_check(&loaded.demands, "some/model", NULL, NULL, &error),
            CLEF_BAD_FILE);
        assert_string_equal(error.place, "some/model");
        assert_true(strlen(error.message) <= 7500);
        /* The files come first, then the tensors. */
        const char *file = strstr(error.message, "\nmissing file: model.safetensors, or "
                                                 "model.safetensors.index.json");
        const char *head = strstr(error.message, "\nmissing file: joint_head.safetensors");
        const char *list = strstr(error.message, "\nmissing tensors:");
        assert_true(file != NULL && list != NULL && file < list);
        assert_true(loaded.has_head ? head > file && head < list : head == NULL);
        size_t told = 0;
        const char *line = strchr(list + 1, '\n');
        while (line != NULL) {
            const char *begin = line + 1;
            line = strchr(begin, '\n');
            size_t length = line == NULL ? strlen(begin) : (size_t)(line - begin);
            assert_int_equal(strncmp(begin, "  ", 2), 0);
            told += expand_line(&loaded, begin + 2, length - 2);
        }
        assert_int_equal(told, loaded.demands.count);
        release_model(&loaded);
    }
}

static void the_message_stays_short_for_huge_models(void **state) {
    (void)state;
    model loaded;
    load_model(fixture("tiny-random/release"), &loaded);
    clef_config_release(&loaded.config);
    clef_text text = load_file(fixture("tiny-random/release/config.json"));
    clef_buffer changed = {0};
    const char *layers = "\"num_hidden_layers\": 6";
    const char *types = "\"layer_types\"";
    const char *at = memmem(text.bytes, text.length, layers, strlen(layers));
    const char *kinds = memmem(text.bytes, text.length, types, strlen(types));
    assert_true(at != NULL && kinds != NULL && kinds < at);
    clef_buffer_append(&changed, text.bytes, (size_t)(kinds - text.bytes));
    clef_buffer_append_string(&changed, "\"ignored\"");
    clef_buffer_append(&changed, kinds + strlen(types), (size_t)(at - kinds) - strlen(types));
    clef_buffer_append_string(&changed, "\"num_hidden_layers\": 1024");
    clef_buffer_append_string(&changed, at + strlen(layers));
    clef_error error = {0};
    assert_ok(clef_config_parse("x", clef_buffer_text(&changed), &loaded.config, &error), &error);
    loaded.head.evidence_layer_count = 1024;
    loaded.head.decoder_layer_count = 1024;
    assert_ok(clef_tensor_demands_list(&loaded.config, &loaded.head, &loaded.arena, &loaded.demands,
                                       &error),
              &error);
    assert_true(loaded.demands.count > 40000);
    assert_int_equal(clef_tensor_demands_check(&loaded.demands, "m", NULL, NULL, &error),
                     CLEF_BAD_FILE);
    assert_true(strlen(error.message) <= 7500);
    ASSERT_MESSAGE(&error, ",...}", "layers.{0-1023}.mlp.up_proj.weight", "\n  ... and ", " more");
    clef_buffer_release(&changed);
    release_text(text);
    release_model(&loaded);
}

/* Weights of another model: hundreds of misfits of every kind still make one bounded message. */
static void weights_of_another_model(void **state) {
    (void)state;
    model loaded;
    clef_weight_store *backbone;
    clef_error error = {0};
    load_model(fixture("configs/clef-flash"), &loaded);
    assert_ok(clef_weight_store_open(CLEF_MODELS "/clef-tiny", &backbone, NULL, &error), &error);
    assert_int_equal(clef_tensor_demands_check(&loaded.demands, "m", backbone, NULL, &error),
                     CLEF_BAD_FILE);
    assert_true(strlen(error.message) <= 7500);
    ASSERT_MESSAGE(&error, "wrong shapes:", "missing tensors:",
                   "layers.{0-3}.mlp.up_proj.weight  is [512, 192], expected [12288, 4096]  (4 "
                   "tensors)",
                   "missing file: joint_head.safetensors (122 tensors)", "more");
    assert_null(strstr(error.message, "missing file: model.safetensors"));
    clef_weight_store_close(backbone);
    release_model(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_files_every_tensor_is_told),
        cmocka_unit_test(the_message_stays_short_for_huge_models),
        cmocka_unit_test(weights_of_another_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
