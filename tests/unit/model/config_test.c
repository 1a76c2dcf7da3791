/* config.json and joint_head_config.json: the published shapes, and every value that is refused
 * with the field, the value and what is expected. */
#include "../weights/weight_fixture.h"

#include "model/config.h"
#include "model/head_config.h"

static clef_text clef_json_text; /* tests/fixtures/configs/clef/config.json */
static clef_text tiny_json_text; /* tests/fixtures/tiny-random/release/config.json */
static const uint32_t clef_hidden = 5120;

static int load_texts(void **state) {
    (void)state;
    clef_json_text = load_file(fixture("configs/clef/config.json"));
    tiny_json_text = load_file(fixture("tiny-random/release/config.json"));
    return 0;
}

static int release_texts(void **state) {
    (void)state;
    release_text(clef_json_text);
    release_text(tiny_json_text);
    return 0;
}

/* The text with the first `from` replaced; the test fails when there is none. */
static char *replace(clef_text text, const char *from, const char *to) {
    const char *found = memmem(text.bytes, text.length, from, strlen(from));
    if (found == NULL) {
        fail_msg("the configuration has no %s", from);
    }
    clef_buffer out = {0};
    size_t before = (size_t)(found - text.bytes);
    clef_buffer_append(&out, text.bytes, before);
    clef_buffer_append_string(&out, to);
    clef_buffer_append(&out, found + strlen(from), text.length - before - strlen(from));
    size_t length;
    return clef_buffer_take(&out, &length);
}

static void expect_parts(const clef_error *error, const char *part, const char *other) {
    if (strstr(error->message, part) == NULL || strstr(error->message, other) == NULL) {
        fail_msg("expected \"%s\" and \"%s\" in: %s", part, other, error->message);
    }
}

/* ---- published shapes ---- */

static void reads_clef(void **state) {
    (void)state;
    clef_config config;
    clef_error error = {0};
    assert_ok(clef_config_load(fixture("configs/clef"), &config, &error), &error);
    assert_int_equal(config.hidden_size, 5120);
    assert_int_equal(config.layer_count, 64);
    assert_int_equal(config.intermediate_size, 17408);
    assert_int_equal(config.vocabulary_size, 248320);
    assert_int_equal(config.attention_head_count, 24);
    assert_int_equal(config.key_value_head_count, 4);
    assert_int_equal(config.head_size, 256);
    assert_int_equal(config.rotary_size, 64);
    assert_int_equal(config.mrope_section[0], 11);
    assert_int_equal(config.mrope_section[1], 11);
    assert_int_equal(config.mrope_section[2], 10);
    assert_true(config.rope_theta == 1e7);
    assert_true(config.rms_epsilon == 1e-6f);
    assert_int_equal(config.delta_key_head_count, 16);
    assert_int_equal(config.delta_value_head_count, 48);
    assert_int_equal(config.delta_key_size, 128);
    assert_int_equal(config.delta_value_size, 128);
    assert_int_equal(config.delta_channel_count, 10240);
    assert_int_equal(config.convolution_taps, 4);
    assert_int_equal(config.full_attention_layer_count, 16);
    for (uint32_t i = 0; i < config.layer_count; i++) {
        assert_int_equal(config.is_full_attention[i], i % 4 == 3);
    }
    assert_false(config.has_tied_embeddings);
    assert_int_equal(config.context_length, 262144);
    assert_int_equal(config.bos_token_id, 248044);
    assert_int_equal(config.eos_token_count, 1);
    assert_int_equal(config.eos_token_ids[0], 248044);
    assert_int_equal(config.image_token_id, 248056);
    assert_int_equal(config.video_token_id, 248057);
    assert_int_equal(config.vision_start_token_id, 248053);
    assert_int_equal(config.vision_end_token_id, 248054);
    clef_config_release(&config);
    assert_null(config.is_full_attention);
}

static void reads_the_vision_part_of_clef(void **state) {
    (void)state;
    clef_config config;
    clef_error error = {0};
    assert_ok(clef_config_load(fixture("configs/clef"), &config, &error), &error);
    assert_true(config.has_vision);
    assert_int_equal(config.vision.depth, 27);
    assert_int_equal(config.vision.hidden_size, 1152);
    assert_int_equal(config.vision.head_count, 16);
    assert_int_equal(config.vision.intermediate_size, 4304);
    assert_int_equal(config.vision.patch_size, 16);
    assert_int_equal(config.vision.temporal_patch_size, 2);
    assert_int_equal(config.vision.spatial_merge_size, 2);
    assert_int_equal(config.vision.position_count, 2304);
    assert_int_equal(config.vision.position_side, 48);
    assert_int_equal(config.vision.in_channels, 3);
    assert_int_equal(config.vision.out_hidden_size, 5120);
    clef_config_release(&config);
}

static void reads_every_published_shape(void **state) {
    (void)state;
    const struct {
        const char *name;
        uint32_t hidden, layers, heads, channels;
        bool is_tied;
    } models[] = {{"configs/clef-flash", 4096, 32, 16, 8192, false},
                  {"configs/base-4b", 2560, 32, 16, 8192, true},
                  {"configs/base-2b", 2048, 24, 8, 6144, true},
                  {"configs/base-0.8b", 1024, 24, 8, 6144, true},
                  {"tiny-random/release", 96, 6, 6, 208, false}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        clef_config config;
        clef_error error = {0};
        assert_ok(clef_config_load(fixture(models[i].name), &config, &error), &error);
        assert_int_equal(config.hidden_size, models[i].hidden);
        assert_int_equal(config.layer_count, models[i].layers);
        assert_int_equal(config.attention_head_count, models[i].heads);
        assert_int_equal(config.delta_channel_count, models[i].channels);
        assert_int_equal(config.has_tied_embeddings, models[i].is_tied);
        assert_int_equal(config.bos_token_id, CLEF_TOKEN_NONE);
        clef_config_release(&config);
    }
}

static void reads_a_model_of_awkward_size(void **state) {
    (void)state;
    clef_config config;
    clef_error error = {0};
    assert_ok(clef_config_parse("x", tiny_json_text, &config, &error), &error);
    assert_int_equal(config.head_size, 32);
    assert_int_equal(config.rotary_size, 16);
    assert_int_equal(config.delta_key_size, 16);
    assert_int_equal(config.delta_value_size, 24);
    assert_int_equal(config.full_attention_layer_count, 1);
    assert_true(config.is_full_attention[3]);
    assert_int_equal(config.vision.intermediate_size, 100);
    clef_config_release(&config);
}

/* ---- what may be absent or otherwise ---- */

typedef struct change {
    const char *from, *to;
} change;

static void expect_accepted(const char *from, const char *to, clef_config *config) {
    char *text = replace(clef_json_text, from, to);
    clef_error error = {0};
    assert_ok(clef_config_parse("x", clef_text_of(text), config, &error), &error);
    clef_release(text);
}

static void accepts_absent_optional_members(void **state) {
    (void)state;
    const change changes[] = {
        {"\"output_gate_type\": \"swish\",", ""},
        {"\"output_gate_type\": \"swish\",", "\"output_gate_type\": \"silu\","},
        {"\"output_gate_type\": \"swish\",", "\"output_gate_type\": null,"},
        {"\"attn_output_gate\": true,", ""},
        {"\"attention_bias\": false,", ""},
        {"\"hidden_act\": \"silu\",", ""},
        {"\"mrope_interleaved\": true,", ""},
        {"\"language_model_only\": false,", ""},
        {"\"vocab_size\": 248320", "\"mlp_only_layers\": [], \"vocab_size\": 248320"},
        {"\"vocab_size\": 248320", "\"unknown\": {\"a\": [1]}, \"vocab_size\": 248320"},
        {"\"vocab_size\": 248320", "\"quantization_config\": null, \"vocab_size\": 248320"},
        {"\"rope_type\": \"default\"", "\"other\": 1"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        clef_config config;
        expect_accepted(changes[i].from, changes[i].to, &config);
        assert_int_equal(config.hidden_size, 5120);
        clef_config_release(&config);
    }
}

static void takes_the_rotary_factor_from_either_place(void **state) {
    (void)state;
    char *outer = replace(clef_json_text, "\"partial_rotary_factor\": 0.25,", "");
    char *inner = replace(clef_json_text, "\"partial_rotary_factor\": 0.25,\n      \"rope_theta\"",
                          "\"rope_theta\"");
    const char *const texts[] = {outer, inner};
    for (int i = 0; i < 2; i++) {
        clef_config config;
        clef_error error = {0};
        assert_ok(clef_config_parse("x", clef_text_of(texts[i]), &config, &error), &error);
        assert_int_equal(config.rotary_size, 64);
        clef_config_release(&config);
    }
    clef_release(outer);
    clef_release(inner);
}

static void derives_layers_from_the_interval(void **state) {
    (void)state;
    char *text = replace(tiny_json_text, "\"layer_types\"", "\"layer_kinds\"");
    clef_config config;
    clef_error error = {0};
    assert_ok(clef_config_parse("x", clef_text_of(text), &config, &error), &error);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(config.is_full_attention[i], i == 3);
    }
    clef_config_release(&config);
    clef_release(text);
}

static void reads_lists_of_end_tokens(void **state) {
    (void)state;
    clef_config config;
    expect_accepted("\"eos_token_id\": 248044", "\"eos_token_id\": [248046, 7]", &config);
    assert_int_equal(config.eos_token_count, 2);
    assert_int_equal(config.eos_token_ids[0], 248046);
    assert_int_equal(config.eos_token_ids[1], 7);
    clef_config_release(&config);
    expect_accepted("\"eos_token_id\": 248044", "\"eos_token_id\": null", &config);
    assert_int_equal(config.eos_token_count, 0);
    clef_config_release(&config);
}

static void a_model_may_have_no_vision(void **state) {
    (void)state;
    char *text = replace(clef_json_text, "\"vision_config\"", "\"other_config\"");
    char *bare = replace(clef_text_of(text), "\"image_token_id\": 248056,", "");
    clef_config config;
    clef_error error = {0};
    assert_ok(clef_config_parse("x", clef_text_of(bare), &config, &error), &error);
    assert_false(config.has_vision);
    assert_int_equal(config.vision.depth, 0);
    assert_int_equal(config.image_token_id, CLEF_TOKEN_NONE);
    clef_config_release(&config);
    clef_release(bare);
    clef_release(text);
}

/* ---- refusals ---- */

/* A change of Clef's file, and what the message must say: the field with the value found, and a
 * word of what is expected. */
static const struct {
    const char *from, *to, *field, *expected;
} refusals[] = {
    {"\"model_type\": \"qwen3_5\"", "\"model_type\": \"qwen3_5_moe\"",
     "model_type is \"qwen3_5_moe\"", "\"qwen3_5\""},
    {"\"model_type\": \"qwen3_5\"", "\"other\": 1", "model_type is missing", "\"qwen3_5\""},
    {"\"qwen3_5_text\"", "\"llama\"", "text_config.model_type is \"llama\"", "\"qwen3_5_text\""},
    {"\"language_model_only\": false", "\"language_model_only\": true",
     "language_model_only is true", "false"},
    {"\"text_config\": {", "\"text_config\": 3, \"x\": {", "text_config is 3", "object"},
    {"\"text_config\": {", "\"x\": {", "text_config is missing", "object"},
    {"\"image_token_id\"",
     "\"quantization_config\": {\"quant_method\": \"fp8\"}, \"image_token_id\"",
     "quantization_config is an object", "not supported"},
    {"\"attention_bias\": false",
     "\"attention_bias\": false, \"quantization_config\": {\"bits\": 4}",
     "text_config.quantization_config", "not supported"},
    {"\"attention_bias\": false", "\"attention_bias\": true", "text_config.attention_bias is true",
     "false"},
    {"\"attention_bias\": false", "\"attention_bias\": 0", "attention_bias is 0", "false"},
    {"\"attn_output_gate\": true", "\"attn_output_gate\": false", "attn_output_gate is false",
     "true"},
    {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", "text_config.hidden_act is \"gelu\"",
     "\"silu\""},
    {"\"output_gate_type\": \"swish\"", "\"output_gate_type\": \"sigmoid\"",
     "output_gate_type is \"sigmoid\"", "\"swish\" or \"silu\""},
    {"\"attention_bias\": false", "\"mlp_only_layers\": [1]", "mlp_only_layers is a list of 1",
     "empty list"},
    {"\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"",
     "rope_parameters.rope_type is \"yarn\"", "\"default\""},
    {"\"mrope_interleaved\": true", "\"mrope_interleaved\": false", "mrope_interleaved is false",
     "true"},
    {"\"attention_bias\": false", "\"rope_scaling\": {\"factor\": 4}",
     "text_config.rope_scaling is an object", "not supported"},
    {"\"rope_parameters\": {", "\"rope\": {", "text_config.rope_parameters is missing", "object"},
    {"\"rope_theta\": 10000000", "\"rope_theta\": 0", "rope_theta is 0", "above 1"},
    {"\"rope_theta\": 10000000", "\"rope_theta\": 1e400", "rope_theta is 1e400", "at most"},
    {"\"rope_theta\": 10000000", "\"rope_theta\": \"big\"", "rope_theta is \"big\"", "number"},
    {"\"partial_rotary_factor\": 0.25,\n      \"rope_theta\"",
     "\"partial_rotary_factor\": 0.5,\n      \"rope_theta\"",
     "text_config.partial_rotary_factor is 0.25", "rope_parameters.partial_rotary_factor"},
    {"\"head_dim\": 256", "\"head_dim\": 10", "partial_rotary_factor is 0.25", "head_dim 10"},
    {"\"head_dim\": 256", "\"head_dim\": 12", "partial_rotary_factor is 0.25", "even"},
    {"\"head_dim\": 256", "\"head_dim\": 128", "mrope_section is [11, 11, 10], sum 32", "16"},
    {"        11,\n        11,\n        10", "        11,\n        11,\n        11",
     "mrope_section is [11, 11, 11], sum 33", "32"},
    {"        11,\n        11,\n        10", "        22,\n        10",
     "mrope_section is a list of 2", "three"},
    {"        11,\n        11,\n        10", "        -1,\n        23,\n        10",
     "mrope_section[0] is -1", "three whole numbers"},
    {"        11,\n        11,\n        10", "        4294967328,\n        0,\n        0",
     "mrope_section[0] is 4294967328", "32"},
    {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 0", "rms_norm_eps is 0", "above 0"},
    {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1e-60", "rms_norm_eps is 1e-60", "fp32"},
    {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": -1e-06", "rms_norm_eps is -1e-06", "above 0"},
    {"\"num_attention_heads\": 24", "\"num_attention_heads\": 25", "num_attention_heads is 25",
     "multiple of num_key_value_heads, which is 4"},
    {"\"linear_num_value_heads\": 48", "\"linear_num_value_heads\": 40",
     "linear_num_value_heads is 40", "multiple of linear_num_key_heads, which is 16"},
    {"\"hidden_size\": 5120", "\"hidden_size\": 0", "text_config.hidden_size is 0",
     "from 1 to 1048576"},
    {"\"hidden_size\": 5120", "\"hidden_size\": 1048577", "hidden_size is 1048577", "1048576"},
    {"\"hidden_size\": 5120", "\"hidden_size\": -5120", "hidden_size is -5120", "whole number"},
    {"\"hidden_size\": 5120", "\"hidden_size\": 5120.0", "hidden_size is 5120.0", "whole number"},
    {"\"hidden_size\": 5120", "\"hidden_size\": \"5120\"", "hidden_size is \"5120\"",
     "whole number"},
    {"\"hidden_size\": 5120", "\"hidden_size\": null", "hidden_size is null", "whole number"},
    {"\"hidden_size\": 5120", "\"size\": 5120", "hidden_size is missing", "whole number"},
    {"\"hidden_size\": 5120", "\"hidden_size\": 99999999999999999999", "99999999999999999999",
     "whole number"},
    {"\"num_hidden_layers\": 64", "\"num_hidden_layers\": 1025", "num_hidden_layers is 1025",
     "1024"},
    {"\"num_hidden_layers\": 64", "\"num_hidden_layers\": 63", "layer_types is a list of 64",
     "list of 63"},
    {"\"layer_types\": [", "\"layer_types\": [\"full_attention\",", "layer_types is a list of 65",
     "list of 64"},
    {"\"linear_attention\"", "\"sliding_attention\"", "layer_types[0] is \"sliding_attention\"",
     "\"full_attention\""},
    {"\"linear_attention\"", "1", "layer_types[0] is 1", "\"linear_attention\""},
    {"\"layer_types\": [", "\"layer_types\": {}, \"x\": [", "layer_types is an object", "list"},
    {"\"vocab_size\": 248320", "\"vocab_size\": 0", "vocab_size is 0", "from 1"},
    {"\"linear_conv_kernel_dim\": 4", "\"linear_conv_kernel_dim\": 1",
     "linear_conv_kernel_dim is 1", "from 2 to 16"},
    {"\"linear_conv_kernel_dim\": 4", "\"linear_conv_kernel_dim\": 17",
     "linear_conv_kernel_dim is 17", "16"},
    {"\"max_position_embeddings\": 262144", "\"max_position_embeddings\": 16777217",
     "max_position_embeddings is 16777217", "16777216"},
    {"\"head_dim\": 256", "\"head_dim\": 513", "head_dim is 513", "from 1 to 512"},
    {"\"linear_key_head_dim\": 128", "\"linear_key_head_dim\": 513", "linear_key_head_dim is 513",
     "from 1 to 512"},
    {"\"linear_value_head_dim\": 128", "\"linear_value_head_dim\": 513",
     "linear_value_head_dim is 513", "from 1 to 512"},
    {"\"eos_token_id\": 248044", "\"eos_token_id\": 248320", "eos_token_id is 248320",
     "below vocab_size 248320"},
    {"\"eos_token_id\": 248044", "\"eos_token_id\": [1,2,3,4,5,6,7,8,9]",
     "eos_token_id is a list of 9", "at most 8"},
    {"\"eos_token_id\": 248044", "\"eos_token_id\": [1,-2]", "eos_token_id is -2", "token id"},
    {"\"bos_token_id\": 248044", "\"bos_token_id\": 248320", "bos_token_id is 248320",
     "from 0 to 248319"},
    {"\"image_token_id\": 248056", "\"image_token_id\": 300000", "image_token_id is 300000",
     "from 0 to 248319"},
    {"\"video_token_id\": 248057", "\"video_token\": 248057", "video_token_id is missing",
     "vision_config"},
    {"\"vision_end_token_id\": 248054", "\"vision_end_token_id\": \"x\"",
     "vision_end_token_id is \"x\"", "token id"},
    {"\"vision_config\": {", "\"vision_config\": [], \"x\": {", "vision_config is a list of 0",
     "object"},
    {"\"depth\": 27", "\"depth\": 0", "vision_config.depth is 0", "from 1"},
    {"\"num_heads\": 16", "\"num_heads\": 17", "vision_config.num_heads is 17", "1152"},
    {"\"num_heads\": 16", "\"num_heads\": 2", "num_heads is 2", "at most 512 of hidden_size 1152"},
    {"\"num_heads\": 16", "\"num_heads\": 192", "num_heads is 192", "multiples of 4"},
    {"\"num_position_embeddings\": 2304", "\"num_position_embeddings\": 2303",
     "num_position_embeddings is 2303", "square"},
    {"\"in_channels\": 3", "\"in_channels\": 4", "in_channels is 4", "3"},
    {"\"out_hidden_size\": 5120", "\"out_hidden_size\": 4096", "out_hidden_size is 4096", "5120"},
    {"gelu_pytorch_tanh", "relu", "vision_config.hidden_act is \"relu\"", "gelu_pytorch_tanh"},
    {"\"deepstack_visual_indexes\": []", "\"deepstack_visual_indexes\": [8]",
     "deepstack_visual_indexes is a list of 1", "empty list"},
    {"\"spatial_merge_size\": 2", "\"spatial_merge_size\": 1024", "spatial_merge_size is 1024",
     "from 1 to 8"},
    {"\"patch_size\": 16", "\"patch_size\": 1025", "patch_size is 1025", "1024"},
    {"\"temporal_patch_size\": 2", "\"temporal_patch_size\": 1024, \"patch_size\": 1024",
     "patch_size is 1024", "at most"},
    {"\"tie_word_embeddings\": false,\n    \"use_cache\"",
     "\"tie_word_embeddings\": 0, \"use_cache\"", "text_config.tie_word_embeddings is 0",
     "true or false"},
};

static void refuses_values_by_field_and_value(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char *text = replace(clef_json_text, refusals[i].from, refusals[i].to);
        clef_config config;
        clef_error error = {0};
        clef_status status =
            clef_config_parse("dir/config.json", clef_text_of(text), &config, &error);
        if (status == CLEF_OK) {
            fail_msg("accepted: %s", refusals[i].to);
        }
        assert_int_equal(status, CLEF_BAD_FILE);
        assert_string_equal(error.place, "dir/config.json");
        assert_int_equal(strncmp(error.message, "config.json: ", 13), 0);
        expect_parts(&error, refusals[i].field, refusals[i].expected);
        assert_null(config.is_full_attention);
        assert_int_equal(config.hidden_size, 0);
        clef_release(text);
    }
}

/* G10: the flag inside and outside must agree; one of them is enough. */
static void g10_tie_flags(void **state) {
    (void)state;
    const char *inner = "\"tie_word_embeddings\": false,\n    \"use_cache\"";
    const char *outer = "\"tie_word_embeddings\": false,\n  \"transformers_version\"";
    const struct {
        const char *inner, *outer;
        int outcome; /* the flag, or -1 for an error */
    } cases[] = {{"false", "false", 0}, {"true", "true", 1}, {"true", "false", -1},
                 {"false", "true", -1}, {NULL, "true", 1},   {"true", NULL, 1},
                 {NULL, "false", 0},    {"null", "true", 1}, {NULL, NULL, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char to[128];
        snprintf(to, sizeof to, "\"%s\": %s, \"use_cache\"",
                 cases[i].inner == NULL ? "x" : "tie_word_embeddings",
                 cases[i].inner == NULL ? "0" : cases[i].inner);
        char *half = replace(clef_json_text, inner, to);
        snprintf(to, sizeof to, "\"%s\": %s, \"transformers_version\"",
                 cases[i].outer == NULL ? "x" : "tie_word_embeddings",
                 cases[i].outer == NULL ? "0" : cases[i].outer);
        char *text = replace(clef_text_of(half), outer, to);
        clef_config config;
        clef_error error = {0};
        clef_status status = clef_config_parse("x", clef_text_of(text), &config, &error);
        if (cases[i].outcome < 0) {
            assert_int_equal(status, CLEF_BAD_FILE);
            expect_parts(&error, "tie_word_embeddings", "expected");
        } else {
            assert_ok(status, &error);
            assert_int_equal(config.has_tied_embeddings, cases[i].outcome);
            clef_config_release(&config);
        }
        clef_release(half);
        clef_release(text);
    }
}

static void refuses_what_is_no_configuration(void **state) {
    (void)state;
    const char *const texts[] = {"",     "[]",   "3",     "{",  "{\"a\":1,}",
                                 "null", "\xFF", "{} {}", "{}", "{\"model_type\":\"qwen3_5\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clef_config config;
        clef_error error = {0};
        assert_int_equal(clef_config_parse("c", clef_text_of(texts[i]), &config, &error),
                         CLEF_BAD_FILE);
        assert_string_equal(error.place, "c");
        assert_int_equal(clef_config_parse("c", clef_text_of(texts[i]), &config, NULL),
                         CLEF_BAD_FILE);
    }
}

/* Every truncation of a real file is an error and never more. */
static void refuses_every_truncation(void **state) {
    (void)state;
    size_t end = clef_json_text.length;
    while (clef_json_text.bytes[end - 1] != '}') {
        end--;
    }
    for (size_t length = 0; length < end; length++) {
        clef_config config;
        clef_error error = {0};
        char *copy = malloc(length + 1);
        assert_non_null(copy);
        memcpy(copy, clef_json_text.bytes, length);
        assert_int_equal(clef_config_parse("c", (clef_text){copy, length}, &config, &error),
                         CLEF_BAD_FILE);
        free(copy);
    }
}

static void names_a_missing_file(void **state) {
    (void)state;
    clef_config config;
    clef_error error = {0};
    assert_int_equal(clef_config_load(fixture("configs"), &config, &error), CLEF_BAD_FILE);
    expect_parts(&error, "config.json", "missing");
    assert_string_equal(error.place, fixture("configs/config.json"));
}

/* ---- joint head ---- */

static void reads_the_head_of_clef(void **state) {
    (void)state;
    clef_head_config head;
    clef_error error = {0};
    bool is_absent = true;
    assert_ok(
        clef_head_config_load(fixture("configs/clef"), clef_hidden, &head, &is_absent, &error),
        &error);
    assert_false(is_absent);
    assert_int_equal(head.hidden_size, 5120);
    assert_int_equal(head.width, 1024);
    assert_int_equal(head.evidence_layer_count, 2);
    assert_int_equal(head.decoder_layer_count, 4);
    assert_int_equal(head.head_count, 16);
    assert_int_equal(head.feedforward_size, 4096);
}

static void a_base_model_has_no_head(void **state) {
    (void)state;
    clef_head_config head;
    clef_error error = {0};
    bool is_absent = false;
    assert_int_equal(
        clef_head_config_load(fixture("configs/base-2b"), 2048, &head, &is_absent, &error),
        CLEF_BAD_FILE);
    assert_true(is_absent);
    expect_parts(&error, "joint_head_config.json", "missing");
}

static void a_dangling_head_is_not_absent(void **state) {
    (void)state;
    char directory[256];
    char path[1024];
    make_directory(directory);
    assert_int_equal(symlink("gone", path_in(directory, "joint_head_config.json", path)), 0);
    clef_head_config head;
    clef_error error = {0};
    bool is_absent = true;
    assert_int_equal(clef_head_config_load(directory, 16, &head, &is_absent, &error),
                     CLEF_BAD_FILE);
    assert_false(is_absent);
    expect_parts(&error, "dangling", "gone");
    remove_directory(directory);
}

static void refuses_heads_by_field_and_value(void **state) {
    (void)state;
    clef_text text = load_file(fixture("configs/clef/joint_head_config.json"));
    const struct {
        const char *from, *to, *field, *expected;
    } cases[] = {
        {"\"hidden_size\": 5120", "\"hidden_size\": 4096", "hidden_size is 4096",
         "hidden_size, which is 5120"},
        {"\"width\": 1024", "\"width\": 0", "width is 0", "from 1"},
        {"\"width\": 1024", "\"width\": 1023", "heads is 16", "divides width 1023"},
        {"\"width\": 1024", "\"width\": 1e3", "width is 1e3", "whole number"},
        {"\"heads\": 16", "\"heads\": 48", "heads is 48", "divides width 1024"},
        {"\"routing_layers\": 2", "\"routing_layers\": 4000", "routing_layers is 4000", "1024"},
        {"\"layers\": 4", "\"layer\": 4", "layers is missing", "whole number"},
        {"\"feedforward\": 4096", "\"feedforward\": true", "feedforward is true", "whole number"},
        {"{", "[{", "not valid JSON", "]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *changed = replace(text, cases[i].from, cases[i].to);
        clef_head_config head;
        clef_error error = {0};
        assert_int_equal(clef_head_config_parse("dir/head.json", clef_text_of(changed), clef_hidden,
                                                &head, &error),
                         CLEF_BAD_FILE);
        assert_string_equal(error.place, "dir/head.json");
        expect_parts(&error, cases[i].field, cases[i].expected);
        assert_int_equal(head.width, 0);
        clef_release(changed);
    }
    release_text(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_clef),
        cmocka_unit_test(reads_the_vision_part_of_clef),
        cmocka_unit_test(reads_every_published_shape),
        cmocka_unit_test(reads_a_model_of_awkward_size),
        cmocka_unit_test(accepts_absent_optional_members),
        cmocka_unit_test(takes_the_rotary_factor_from_either_place),
        cmocka_unit_test(derives_layers_from_the_interval),
        cmocka_unit_test(reads_lists_of_end_tokens),
        cmocka_unit_test(a_model_may_have_no_vision),
        cmocka_unit_test(refuses_values_by_field_and_value),
        cmocka_unit_test(g10_tie_flags),
        cmocka_unit_test(refuses_what_is_no_configuration),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(names_a_missing_file),
        cmocka_unit_test(reads_the_head_of_clef),
        cmocka_unit_test(a_base_model_has_no_head),
        cmocka_unit_test(a_dangling_head_is_not_absent),
        cmocka_unit_test(refuses_heads_by_field_and_value),
    };
    return cmocka_run_group_tests(tests, load_texts, release_texts);
}
