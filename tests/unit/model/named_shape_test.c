/* Named shapes say what the published configurations say, all but vocabulary and token ids. */
#include "model/named_shape.h"

#include "support.h"

static void assert_says(const clef_error *error, const char *words) {
    if (strstr(error->message, words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, error->message);
    }
}

static void assert_same_shape(const char *name, const char *directory, bool wants_head) {
    clef_error error = {0};
    clef_config made, read;
    clef_head_config made_head, read_head;
    bool has_head = !wants_head;
    assert_ok(clef_named_shape_find(name, 0, true, &made, &made_head, &has_head, &error), &error);
    assert_ok(clef_config_load(directory, &read, &error), &error);
    assert_int_equal(made.hidden_size, read.hidden_size);
    assert_int_equal(made.layer_count, read.layer_count);
    assert_int_equal(made.intermediate_size, read.intermediate_size);
    assert_int_equal(made.attention_head_count, read.attention_head_count);
    assert_int_equal(made.key_value_head_count, read.key_value_head_count);
    assert_int_equal(made.head_size, read.head_size);
    assert_int_equal(made.rotary_size, read.rotary_size);
    assert_memory_equal(made.mrope_section, read.mrope_section, sizeof made.mrope_section);
    assert_true(made.rope_theta == read.rope_theta);
    assert_true(made.rms_epsilon == read.rms_epsilon);
    assert_int_equal(made.delta_key_head_count, read.delta_key_head_count);
    assert_int_equal(made.delta_value_head_count, read.delta_value_head_count);
    assert_int_equal(made.delta_key_size, read.delta_key_size);
    assert_int_equal(made.delta_value_size, read.delta_value_size);
    assert_int_equal(made.delta_channel_count, read.delta_channel_count);
    assert_int_equal(made.convolution_taps, read.convolution_taps);
    assert_memory_equal(made.is_full_attention, read.is_full_attention,
                        read.layer_count * sizeof(bool));
    assert_int_equal(made.full_attention_layer_count, read.full_attention_layer_count);
    assert_int_equal(made.has_tied_embeddings, read.has_tied_embeddings);
    assert_int_equal(made.context_length, read.context_length);
    assert_int_equal(made.vocabulary_size, CLEF_NAMED_SHAPE_VOCABULARY);
    assert_true(made.has_vision && read.has_vision);
    assert_memory_equal(&made.vision, &read.vision, sizeof read.vision);
    assert_int_equal(has_head, wants_head);
    if (wants_head) {
        assert_ok(clef_head_config_load(directory, read.hidden_size, &read_head, NULL, &error),
                  &error);
        assert_memory_equal(&made_head, &read_head, sizeof read_head);
    }
    clef_config_release(&made);
    clef_config_release(&read);
}

static void shapes_are_those_of_the_files(void **state) {
    (void)state;
    assert_same_shape("qwen3.5-0.8b", CLEF_FIXTURES "/configs/base-0.8b", false);
    assert_same_shape("clef-flash", CLEF_FIXTURES "/configs/clef-flash", true);
    assert_same_shape("clef", CLEF_FIXTURES "/configs/clef", true);
}

static void first_layers(void **state) {
    static const bool expected[] = {false, false, false, true, false};
    clef_error error = {0};
    clef_config config;
    clef_head_config head;
    bool has_head;
    (void)state;
    assert_ok(clef_named_shape_find("clef", 5, false, &config, &head, &has_head, &error), &error);
    assert_int_equal(config.layer_count, 5);
    assert_false(config.has_vision); /* not asked for */
    assert_int_equal(config.full_attention_layer_count, 1);
    assert_memory_equal(config.is_full_attention, expected, sizeof expected);
    clef_config_release(&config);
}

static void refused(void **state) {
    clef_error error = {0};
    clef_config config;
    clef_head_config head;
    bool has_head;
    (void)state;
    assert_int_equal(clef_named_shape_find("clef-big", 0, false, &config, &head, &has_head, &error),
                     CLEF_USAGE);
    assert_says(&error, "clef-big");
    assert_says(&error, "qwen3.5-0.8b clef-flash clef");
    assert_int_equal(clef_named_shape_find("clef", 65, false, &config, &head, &has_head, &error),
                     CLEF_USAGE);
    assert_says(&error, "65");
    assert_says(&error, "has 64");
    clef_config_release(&config); /* a failed one owns nothing */
}

static void list_names_every_shape(void **state) {
    const char *name = clef_named_shape_list();
    size_t count = 0;
    (void)state;
    while (name[0] != '\0') {
        char one[64];
        clef_error error = {0};
        clef_config config;
        clef_head_config head;
        bool has_head;
        size_t length = strcspn(name, " ");
        assert_true(length < sizeof one);
        memcpy(one, name, length);
        one[length] = '\0';
        assert_ok(clef_named_shape_find(one, 1, false, &config, &head, &has_head, &error), &error);
        clef_config_release(&config);
        name += length + strspn(name + length, " ");
        count++;
    }
    assert_int_equal(count, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_those_of_the_files),
        cmocka_unit_test(first_layers),
        cmocka_unit_test(refused),
        cmocka_unit_test(list_names_every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
