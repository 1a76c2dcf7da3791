/* What quantising measures is what the matrices read: the sums of each layer against inputs
 * captured in a whole forward pass, and the outputs of a matrix closer to the exact ones with
 * measured rounding than without. */
#include "support_capture.h"
#include "support_stage.h"

#include "base/memory.h"
#include "engine/quantize_inputs.h"
#include "weights/repack.h"

#include <math.h>
#include <stdio.h>

enum { RECORDS = 3 };

/* By the formulas of a layer: where the input of a matrix shows in the trace. The last of these
 * stands for the output of either mixer. */
static const struct {
    clef_layer_input input;
    const char *trace_name, *other_name;
} inputs[] = {
    {CLEF_LAYER_INPUT_MIXER, "input_layernorm", NULL},
    {CLEF_LAYER_INPUT_FEED_FORWARD, "post_attention_layernorm", NULL},
    {CLEF_LAYER_INPUT_FEED_FORWARD_OUT, "mlp.swiglu", NULL},
    {CLEF_LAYER_INPUT_MIXER_OUT, "linear_attn.gated_norm", "self_attn.gated_output"},
};
#define INPUT_COUNT (sizeof inputs / sizeof *inputs)

typedef struct bench {
    clef_model *model;
    clef_record *records[RECORDS];
    trace_capture captures[RECORDS];
} bench;

static void find_request(void *context, size_t number, clef_text text) {
    static const char *const names[RECORDS] = {"support", "long-state", "length-129"};
    bench *b = context;
    clef_arena arena = {0};
    (void)number;
    const clef_json *line = parse_json(text, &arena);
    for (size_t i = 0; i < RECORDS; i++) {
        if (clef_text_equals(member(line, "name")->text, clef_text_of(names[i]))) {
            clef_text body = member(line, "request")->text;
            clef_error error = {0};
            assert_ok(
                clef_record_encode(b->model, body.bytes, body.length, NULL, &b->records[i], &error),
                &error);
        }
    }
    clef_arena_release(&arena);
}

/* Runs every record whole, seen by a trace. */
static void open_bench(bench *b) {
    *b = (bench){.model = open_tiny_model()};
    size_t columns = b->model->network.config.hidden_size;
    for_each_line(fixture("tiny-random/text/requests.jsonl"), find_request, b);
    for (size_t i = 0; i < RECORDS; i++) {
        assert_non_null(b->records[i]);
        const clef_head_task *task = &b->records[i]->task;
        test_stage stage;
        clef_trace trace = capture_trace(&b->captures[i]);
        float *hidden = clef_allocate(task->token_count * columns, sizeof *hidden);
        assert_non_null(hidden);
        open_stage(&stage, &b->model->network, task->token_count, 1, NULL);
        run_tokens(&stage, task->tokens, task->token_count, task->token_count, &trace, NULL,
                   hidden);
        close_stage(&stage);
        clef_release(hidden);
    }
}

static void close_bench(bench *b) {
    for (size_t i = 0; i < RECORDS; i++) {
        release_capture(&b->captures[i]);
        clef_record_close(b->records[i]);
    }
    clef_model_close(b->model);
}

static const clef_matrix *captured_input(const bench *b, size_t record, uint32_t layer,
                                         size_t input) {
    char name[96];
    snprintf(name, sizeof name, "layers.%u.%s", layer, inputs[input].trace_name);
    const clef_matrix *matrix = captured(&b->captures[record], name);
    if (matrix == NULL && inputs[input].other_name != NULL) {
        snprintf(name, sizeof name, "layers.%u.%s", layer, inputs[input].other_name);
        matrix = captured(&b->captures[record], name);
    }
    assert_non_null(matrix);
    return matrix;
}

static clef_status count_bytes(void *context, uint64_t bytes) {
    *(uint64_t *)context += bytes;
    return CLEF_OK;
}

/* Σ x_i·x_j over all records, in double. products [columns, columns] */
static size_t sum_products(const bench *b, uint32_t layer, size_t input, double *products) {
    size_t columns = captured_input(b, 0, layer, input)->columns;
    memset(products, 0, columns * columns * sizeof *products);
    for (size_t r = 0; r < RECORDS; r++) {
        const clef_matrix *x = captured_input(b, r, layer, input);
        for (size_t row = 0; row < x->rows; row++) {
            const float *values = x->data + row * x->stride;
            for (size_t i = 0; i < columns * columns; i++) {
                products[i] += (double)values[i / columns] * values[i % columns];
            }
        }
    }
    return columns;
}

static void compare_sums(const clef_input_sums *sums, const double *products, size_t columns) {
    double mean = 0, floor = 0, worst = 0;
    assert_non_null(sums);
    assert_int_equal(sums->columns, columns);
    for (size_t i = 0; i < columns; i++) {
        mean += products[i * (columns + 1)] / (double)columns;
    }
    for (size_t i = 0; i < columns; i++) {
        floor += (sums->importance[i] - products[i * (columns + 1)] / mean) / (double)columns;
    }
    assert_true(floor > 0);
    for (size_t i = 0; i < columns * columns; i++) {
        double expected = products[i] / mean + (i / columns == i % columns ? floor : 0);
        worst = fmax(worst, fabs(sums->values[i] - expected) / (1 + fabs(expected)));
    }
    assert_true(worst < 1e-4);
}

static void sums_are_those_of_the_forward_pass(void **state) {
    (void)state;
    bench b;
    clef_error error = {0};
    clef_quantize_inputs *measured;
    uint64_t bytes = 0;
    open_bench(&b);
    const clef_config *config = &b.model->network.config;
    double *products = clef_allocate(400 * 400, sizeof *products);
    assert_non_null(products);
    assert_ok(clef_quantize_inputs_create(b.model, b.records, RECORDS, &measured, &error), &error);
    for (uint32_t layer = 0; layer < config->layer_count; layer++) {
        if (layer == 1) {
            continue; /* run, but not measured */
        }
        assert_ok(clef_quantize_inputs_measure(measured, layer, count_bytes, &bytes, &error),
                  &error);
        for (size_t input = 0; input < INPUT_COUNT; input++) {
            size_t columns = sum_products(&b, layer, input, products);
            compare_sums(clef_quantize_inputs_find(measured, inputs[input].input), products,
                         columns);
        }
    }
    assert_int_equal(bytes, config->layer_count * clef_quantize_inputs_bytes(measured));
    clef_quantize_inputs_destroy(measured);
    clef_release(products);
    close_bench(&b);
}

/* Which input of a layer a matrix reads, told from its name. */
static clef_layer_input expected_input(const char *local) {
    static const struct {
        const char *end;
        clef_layer_input input;
    } ends[] = {
        {"down_proj.weight", CLEF_LAYER_INPUT_FEED_FORWARD_OUT},
        {"gate_proj.weight", CLEF_LAYER_INPUT_FEED_FORWARD},
        {"up_proj.weight", CLEF_LAYER_INPUT_FEED_FORWARD},
        {"out_proj.weight", CLEF_LAYER_INPUT_MIXER_OUT},
        {"o_proj.weight", CLEF_LAYER_INPUT_MIXER_OUT},
        {"q_proj.weight", CLEF_LAYER_INPUT_MIXER},
        {"k_proj.weight", CLEF_LAYER_INPUT_MIXER},
        {"v_proj.weight", CLEF_LAYER_INPUT_MIXER},
        {"in_proj_qkv.weight", CLEF_LAYER_INPUT_MIXER},
        {"in_proj_z.weight", CLEF_LAYER_INPUT_MIXER},
    };
    size_t length = strlen(local);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end_length = strlen(ends[i].end);
        if (length > end_length && strcmp(local + length - end_length, ends[i].end) == 0) {
            return ends[i].input;
        }
    }
    return CLEF_LAYER_INPUT_NONE;
}

static void every_matrix_has_its_input(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_error error = {0};
    clef_tensor_demands demands;
    clef_model *model = open_tiny_model();
    size_t measured = 0;
    assert_ok(clef_tensor_demands_list(&model->network.config, &model->network.head_config, &arena,
                                       &demands, &error),
              &error);
    for (size_t i = 0; i < demands.count; i++) {
        const clef_tensor_demand *demand = &demands.items[i];
        clef_layer_input expected = demand->part == CLEF_TENSOR_PART_LAYER
                                        ? expected_input(demand->local.bytes)
                                        : CLEF_LAYER_INPUT_NONE;
        assert_int_equal(clef_layer_input_of(demand), expected);
        measured += expected != CLEF_LAYER_INPUT_NONE;
    }
    /* Three of the MLP, and four of attention or three of the delta rule. */
    assert_int_equal(measured, 6 * model->network.config.layer_count +
                                   model->network.config.full_attention_layer_count);
    clef_arena_release(&arena);
    clef_model_close(model);
}

/* ---- outputs ---- */

/* Σ |(w - stored)·x|² over the rows of all records, of one row of weights. */
static double output_error(const bench *b, const float *row, const clef_weight *stored) {
    float wide[512];
    double sum = 0;
    clef_weight_widen(*stored, 0, 0, stored->columns, wide);
    for (size_t r = 0; r < RECORDS; r++) {
        const clef_matrix *x = captured_input(b, r, 2, 1);
        for (size_t t = 0; t < x->rows; t++) {
            double difference = 0;
            for (size_t c = 0; c < stored->columns; c++) {
                difference += ((double)row[c] - wide[c]) * x->data[t * x->stride + c];
            }
            sum += difference * difference;
        }
    }
    return sum;
}

/* The up projection of a layer, row by row, rounded both ways. */
static void outputs_come_closer(void **state) {
    (void)state;
    bench b;
    clef_error error = {0};
    clef_quantize_inputs *measured;
    uint64_t bytes = 0;
    double plain = 0, better = 0;
    open_bench(&b);
    assert_ok(clef_quantize_inputs_create(b.model, b.records, RECORDS, &measured, &error), &error);
    assert_ok(clef_quantize_inputs_measure(measured, 2, count_bytes, &bytes, &error), &error);
    const clef_input_sums *sums =
        clef_quantize_inputs_find(measured, CLEF_LAYER_INPUT_FEED_FORWARD);
    clef_weight up = b.model->network.layers[2].up;
    float *scratch = clef_allocate(clef_repack_measured_scratch(up.columns), sizeof *scratch);
    assert_non_null(scratch);
    for (size_t r = 0; r < up.rows; r += 9) {
        float row[512], scales[16];
        uint8_t values[256];
        clef_weight stored = {.data = values,
                              .dtype = CLEF_DTYPE_U8,
                              .rows = 1,
                              .columns = up.columns,
                              .scales = scales,
                              .group = 32};
        clef_weight_widen(up, r, 0, up.columns, row);
        assert_true(clef_repack_row(stored, row, NULL, values, scales));
        plain += output_error(&b, row, &stored);
        assert_true(clef_repack_row(stored, row, sums->importance, values, scales));
        clef_repack_measured(stored, sums, row, 1, values, scales, scratch);
        better += output_error(&b, row, &stored);
    }
    print_message("squared errors of outputs: %.3f of those without measuring\n", better / plain);
    assert_true(better < 0.85 * plain);
    clef_release(scratch);
    clef_quantize_inputs_destroy(measured);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_forward_pass),
        cmocka_unit_test(every_matrix_has_its_input),
        cmocka_unit_test(outputs_come_closer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
