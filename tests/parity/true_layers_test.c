/* One decoder layer of each kind at the sizes of Clef-Flash and Clef 27B, with weights by formula:
 * mixer, MLP and residual stream of recorded rows, and the delta rule's final state. A
 * full-attention layer runs once more as if its 96 tokens stood at the far end of a long record,
 * where the fp32 product position·frequency decides the angle; only their rotary positions move,
 * there are no keys before them. */
#include "support_formula.h"
#include "support_stage.h"
#include "support_vectors.h"

#include "base/memory.h"
#include "model/rotary_positions.h"

#include <math.h>
#include <stdio.h>

/* Absolute; the values have a standard deviation of about one. */
#define LAYER_BOUND 2e-5

typedef struct one_layer {
    const clef_json *description;
    clef_safetensors *vectors;
    clef_arena arena;
    clef_network network;
    clef_layer_weights layer;
    bool is_full_attention;
    clef_weight input; /* [tokens, H] */
    double worst;
} one_layer;

/* ---- a network of one layer ---- */

static void read_config(one_layer *of) {
    const clef_json *c = member(of->description, "config");
    const clef_json *rope = member(c, "rope_parameters");
    clef_config *config = &of->network.config;
    *config = (clef_config){
        .hidden_size = size_member(c, "hidden_size"),
        .layer_count = 1,
        .intermediate_size = size_member(c, "intermediate_size"),
        .attention_head_count = size_member(c, "num_attention_heads"),
        .key_value_head_count = size_member(c, "num_key_value_heads"),
        .head_size = size_member(c, "head_dim"),
        .rope_theta = number_member(rope, "rope_theta"),
        .rms_epsilon = (float)number_member(c, "rms_norm_eps"),
        .delta_key_head_count = size_member(c, "linear_num_key_heads"),
        .delta_value_head_count = size_member(c, "linear_num_value_heads"),
        .delta_key_size = size_member(c, "linear_key_head_dim"),
        .delta_value_size = size_member(c, "linear_value_head_dim"),
        .convolution_taps = size_member(c, "linear_conv_kernel_dim"),
        .is_full_attention = &of->is_full_attention,
        .full_attention_layer_count = of->is_full_attention,
    };
    config->rotary_size =
        (uint32_t)(config->head_size * number_member(rope, "partial_rotary_factor"));
    config->delta_channel_count = 2 * config->delta_key_head_count * config->delta_key_size +
                                  config->delta_value_head_count * config->delta_value_size;
    const clef_json *section = member(rope, "mrope_section")->first;
    for (size_t axis = 0; axis < 3; axis++, section = section->next) {
        config->mrope_section[axis] = (uint32_t)number_of(section);
    }
}

static clef_weight weight(one_layer *of, const char *name) {
    return formula_weight(member(member(of->description, "weights"), name), &of->arena);
}

static const float *floats(one_layer *of, const char *name) {
    return formula_floats(member(member(of->description, "weights"), name), &of->arena);
}

static void make_weights(one_layer *of) {
    of->layer = (clef_layer_weights){
        .is_full_attention = of->is_full_attention,
        .input_norm = floats(of, "input_layernorm.weight"),
        .post_attention_norm = floats(of, "post_attention_layernorm.weight"),
        .gate = weight(of, "mlp.gate_proj.weight"),
        .up = weight(of, "mlp.up_proj.weight"),
        .down = weight(of, "mlp.down_proj.weight"),
    };
    if (of->is_full_attention) {
        of->layer.attention = (clef_attention_weights){
            .query = weight(of, "self_attn.q_proj.weight"),
            .key = weight(of, "self_attn.k_proj.weight"),
            .value = weight(of, "self_attn.v_proj.weight"),
            .out = weight(of, "self_attn.o_proj.weight"),
            .query_norm = floats(of, "self_attn.q_norm.weight"),
            .key_norm = floats(of, "self_attn.k_norm.weight"),
        };
    } else {
        of->layer.delta = (clef_delta_weights){
            .qkv = weight(of, "linear_attn.in_proj_qkv.weight"),
            .z = weight(of, "linear_attn.in_proj_z.weight"),
            .b = weight(of, "linear_attn.in_proj_b.weight"),
            .a = weight(of, "linear_attn.in_proj_a.weight"),
            .out = weight(of, "linear_attn.out_proj.weight"),
            .convolution = floats(of, "linear_attn.conv1d.weight"),
            .a_log = floats(of, "linear_attn.A_log"),
            .dt_bias = floats(of, "linear_attn.dt_bias"),
            .norm = floats(of, "linear_attn.norm.weight"),
        };
    }
    of->input = formula_weight(member(of->description, "input"), &of->arena);
}

static void make_network(one_layer *of) {
    clef_network *network = &of->network;
    const clef_config *config = &network->config;
    read_config(of);
    make_weights(of);
    network->layers = &of->layer;
    network->rotary_frequencies =
        clef_arena_allocate(&of->arena, config->rotary_size / 2, sizeof(float));
    assert_non_null(network->rotary_frequencies);
    clef_rotary_frequencies(config->rope_theta, config->rotary_size / 2,
                            network->rotary_frequencies);
    clef_state_sizes sizes = {
        .layer_count = 1,
        .is_full_attention = &of->is_full_attention,
        .delta = {config->delta_key_head_count, config->delta_value_head_count,
                  config->delta_key_size, config->delta_value_size},
        .convolution_rows = config->convolution_taps - 1,
        .convolution_channels = config->delta_channel_count,
        .key_value_columns = (size_t)config->key_value_head_count * config->head_size,
    };
    clef_error error = {0};
    assert_ok(clef_state_layout_create(&sizes, &network->layout, &error), &error);
}

/* ---- comparing ---- */

typedef struct layer_watch {
    one_layer *of;
    const char *prefix; /* of the recorded names */
    size_t compared;
} layer_watch;

static void note(one_layer *of, const char *name, distance found) {
    print_message("    %-34s %.2g\n", name, found.difference);
    of->worst = fmax(of->worst, found.difference);
}

/* The float64 mixer shows which of two roundings is off, should the fp32 one ever differ. */
static distance compare_doubles(clef_matrix computed, const int64_t *rows,
                                const clef_stored_tensor *recorded) {
    const double *expected = doubles_of(recorded);
    distance of = {0, 0};
    for (size_t i = 0; i < (size_t)recorded->shape[0]; i++) {
        const float *row = computed.data + (size_t)rows[i] * computed.stride;
        for (size_t c = 0; c < computed.columns; c++) {
            double difference = fabs(row[c] - expected[i * computed.columns + c]);
            of.difference = isnan(difference) ? INFINITY : fmax(of.difference, difference);
        }
    }
    return of;
}

static void record(void *context, const char *part, int layer, const char *name,
                   clef_matrix matrix) {
    layer_watch *watch = context;
    bool is_mixer = strcmp(name, "mixer") == 0;
    (void)part;
    (void)layer;
    if (!is_mixer && strcmp(name, "mlp") != 0 && strcmp(name, "output") != 0) {
        return;
    }
    const int64_t *rows = integers_of(vector_named(watch->of->vectors, "rows"));
    char recorded[64];
    snprintf(recorded, sizeof recorded, "%s%s", watch->prefix, name);
    note(watch->of, recorded,
         compare_rows(matrix, rows, vector_named(watch->of->vectors, recorded)));
    if (is_mixer) {
        snprintf(recorded, sizeof recorded, "%smixer_float64", watch->prefix);
        note(watch->of, recorded,
             compare_doubles(matrix, rows, vector_named(watch->of->vectors, recorded)));
    }
    watch->compared++;
}

/* The state after all tokens: the first value head, and row 0 of the last one. */
static void compare_final_state(one_layer *of, const clef_sequence *sequence) {
    const clef_config *config = &of->network.config;
    size_t floats_per_head = (size_t)config->delta_key_size * config->delta_value_size;
    const float *state = sequence->fixed + of->network.layout.layers[0].matrix_offset;
    const clef_stored_tensor *head = vector_named(of->vectors, "final_state_head_0");
    const clef_stored_tensor *row = vector_named(of->vectors, "final_state_last_head_row_0");
    assert_int_equal(element_count(head), floats_per_head);
    assert_int_equal(element_count(row), config->delta_value_size);
    note(of, "final_state_head_0", compare_floats(state, floats_of(head), floats_per_head));
    note(of, "final_state_last_head_row_0",
         compare_floats(state + (config->delta_value_head_count - 1) * floats_per_head,
                        floats_of(row), config->delta_value_size));
}

static void run_layer(one_layer *of, const char *prefix, size_t shift) {
    layer_watch watch = {.of = of, .prefix = prefix};
    clef_trace trace = {record, &watch};
    test_stage stage;
    open_stage(&stage, &of->network, of->input.rows, 0, NULL);
    clef_pass pass = begin_step(&stage, NULL, of->input.rows, shift, &trace);
    clef_matrix hidden = stage.workspace.hidden;
    for (size_t row = 0; row < of->input.rows; row++) {
        clef_weight from = clef_weight_rows(of->input, row, 1);
        clef_widen(from.dtype, from.data, from.columns, hidden.data + row * hidden.stride);
    }
    clef_decoder_begin(&pass);
    clef_decoder_layer(&pass, 0);
    end_step(&stage);
    assert_int_equal(watch.compared, 3);
    if (!of->is_full_attention) {
        compare_final_state(of, stage.sequence);
    }
    close_stage(&stage);
}

static void check_layer(const char *name, bool is_full_attention) {
    one_layer of = {.is_full_attention = is_full_attention};
    char path[64];
    snprintf(path, sizeof path, "layers/%s.safetensors", name);
    of.vectors = open_vectors(path);
    of.description = load_case(name, &of.arena);
    make_network(&of);
    const clef_json *position = member(of.description, "first_positions")->first;
    for (; position != NULL; position = position->next) {
        size_t shift = (size_t)number_of(position);
        char prefix[32] = "";
        if (shift != 0) {
            snprintf(prefix, sizeof prefix, "at_%zu.", shift);
        }
        run_layer(&of, prefix, shift);
    }
    print_message("%s: %.2g at most\n", name, of.worst);
    clef_state_layout_release(&of.network.layout);
    clef_arena_release(&of.arena);
    clef_safetensors_close(of.vectors);
    assert_within(name, of.worst, LAYER_BOUND);
}

static void test_flash_delta(void **state) {
    (void)state;
    check_layer("flash-gdn", false);
}

static void test_flash_attention(void **state) {
    (void)state;
    check_layer("flash-full", true);
}

static void test_27b_delta(void **state) {
    (void)state;
    check_layer("27b-gdn", false);
}

static void test_27b_attention(void **state) {
    (void)state;
    check_layer("27b-full", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flash_delta),
        cmocka_unit_test(test_flash_attention),
        cmocka_unit_test(test_27b_delta),
        cmocka_unit_test(test_27b_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
