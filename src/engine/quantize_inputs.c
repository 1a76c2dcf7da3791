/* A record is one sequence and goes through a layer in steps of its own. Layer by layer, all
 * records; so each weight is read once, and the sums of a layer can be forgotten with it. Inputs
 * are seen through the trace of the forward pass. */
#include "engine/quantize_inputs.h"

#include "base/memory.h"
#include "base/system_memory.h"
#include "engine/input_tally.h"
#include "engine/session.h"
#include "model/decoder.h"
#include "state/sequence.h"

#include <inttypes.h>
#include <stdio.h>

/* Where an input shows in the trace, and the matrices that read it. */
typedef struct input_row {
    const char *trace_name;
    clef_layer_input input;
    const char *matrices[6]; /* without ".weight", up to a NULL */
} input_row;

static const input_row input_rows[] = {
    {"input_layernorm",
     CLEF_LAYER_INPUT_MIXER,
     {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "linear_attn.in_proj_qkv",
      "linear_attn.in_proj_z"}},
    {"self_attn.gated_output", CLEF_LAYER_INPUT_MIXER_OUT, {"self_attn.o_proj"}},
    {"linear_attn.gated_norm", CLEF_LAYER_INPUT_MIXER_OUT, {"linear_attn.out_proj"}},
    {"post_attention_layernorm", CLEF_LAYER_INPUT_FEED_FORWARD, {"mlp.gate_proj", "mlp.up_proj"}},
    {"mlp.swiglu", CLEF_LAYER_INPUT_FEED_FORWARD_OUT, {"mlp.down_proj"}},
};
#define ROW_COUNT (sizeof input_rows / sizeof *input_rows)

clef_layer_input clef_layer_input_of(const clef_tensor_demand *demand) {
    size_t suffix = sizeof ".weight" - 1;
    if (demand->part != CLEF_TENSOR_PART_LAYER || demand->local.length < suffix) {
        return CLEF_LAYER_INPUT_NONE;
    }
    clef_text name = {demand->local.bytes, demand->local.length - suffix};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (const char *const *matrix = input_rows[i].matrices; *matrix != NULL; matrix++) {
            if (clef_text_equals(name, clef_text_of(*matrix))) {
                return input_rows[i].input;
            }
        }
    }
    return CLEF_LAYER_INPUT_NONE;
}

struct clef_quantize_inputs {
    clef_model *model;           /* borrowed */
    clef_record *const *records; /* borrowed; [record_count] */
    size_t record_count;
    size_t token_count, longest; /* of all records; of one */
    size_t row_limit;
    clef_backend *backend;
    clef_workspace workspace;
    clef_page_pool pool;
    clef_sequence *sequence; /* of the record that runs */
    int32_t *positions;      /* [3, row_limit] */
    float *hidden;           /* [token_count, H], before layer number next_layer */
    uint32_t next_layer;
    clef_input_tally tallies[CLEF_LAYER_INPUT_COUNT];
    bool is_good[CLEF_LAYER_INPUT_COUNT];
    clef_tally_scratch scratch;
};

static size_t hidden_size(const clef_quantize_inputs *inputs) {
    return inputs->model->network.config.hidden_size;
}

static size_t input_columns(const clef_config *config, clef_layer_input input) {
    size_t attention = (size_t)config->attention_head_count * config->head_size;
    size_t delta = (size_t)config->delta_value_head_count * config->delta_value_size;
    switch (input) {
    case CLEF_LAYER_INPUT_MIXER:
    case CLEF_LAYER_INPUT_FEED_FORWARD:
        return config->hidden_size;
    case CLEF_LAYER_INPUT_MIXER_OUT:
        return attention > delta ? attention : delta;
    case CLEF_LAYER_INPUT_FEED_FORWARD_OUT:
        return config->intermediate_size;
    case CLEF_LAYER_INPUT_NONE:
    case CLEF_LAYER_INPUT_COUNT:
        break;
    }
    return 0;
}

/* ---- creation ---- */

static clef_status check_records(clef_quantize_inputs *inputs, clef_error *error) {
    const clef_config *config = &inputs->model->network.config;
    for (size_t i = 0; i < inputs->record_count; i++) {
        const clef_head_task *task = &inputs->records[i]->task;
        if (task->token_count > config->context_length) {
            return clef_fail(error, CLEF_USAGE,
                             "record %zu to measure with has %zu tokens, over the model's context "
                             "of %" PRIu32,
                             i, task->token_count, config->context_length);
        }
        for (size_t t = 0; t < task->token_count; t++) {
            if (task->tokens[t] >= config->vocabulary_size) {
                return clef_fail(error, CLEF_USAGE,
                                 "record %zu to measure with has token %" PRIu32
                                 ", the model knows %" PRIu32 ": it was encoded for another model",
                                 i, task->tokens[t], config->vocabulary_size);
            }
        }
        inputs->token_count += task->token_count;
        inputs->longest = task->token_count > inputs->longest ? task->token_count : inputs->longest;
    }
    return CLEF_OK;
}

static clef_status require_memory(const clef_quantize_inputs *inputs, clef_error *error) {
    const clef_network *network = &inputs->model->network;
    uint64_t floats = (uint64_t)inputs->token_count * network->config.hidden_size;
    floats += clef_workspace_floats(network, inputs->row_limit);
    floats += clef_tally_scratch_floats(clef_network_widest_input(network), inputs->row_limit);
    for (int i = CLEF_LAYER_INPUT_NONE + 1; i < CLEF_LAYER_INPUT_COUNT; i++) {
        floats += clef_input_tally_floats(input_columns(&network->config, (clef_layer_input)i));
    }
    uint64_t bytes = floats * sizeof(float);
    bytes += clef_state_layout_bytes(&network->layout, inputs->longest);
    char what[80];
    snprintf(what, sizeof what, "measuring with %zu records of %zu tokens", inputs->record_count,
             inputs->token_count);
    return clef_system_memory_require(bytes, what, error);
}

static clef_status take_memory(clef_quantize_inputs *inputs, clef_error *error) {
    const clef_network *network = &inputs->model->network;
    size_t floats = inputs->token_count * hidden_size(inputs);
    inputs->hidden = clef_allocate_aligned(floats, sizeof *inputs->hidden);
    inputs->positions = clef_allocate(3 * inputs->row_limit, sizeof *inputs->positions);
    clef_status status = CLEF_OK;
    if (inputs->hidden == NULL || inputs->positions == NULL) {
        status = clef_fail_memory(error, floats * sizeof(float), "the hidden rows of the records");
    }
    for (int i = CLEF_LAYER_INPUT_NONE + 1; i < CLEF_LAYER_INPUT_COUNT && status == CLEF_OK; i++) {
        status = clef_input_tally_create(input_columns(&network->config, (clef_layer_input)i),
                                         &inputs->tallies[i], error);
    }
    if (status == CLEF_OK) {
        status = clef_tally_scratch_create(clef_network_widest_input(network), inputs->row_limit,
                                           &inputs->scratch, error);
    }
    if (status == CLEF_OK) {
        status = clef_workspace_create(network, inputs->row_limit, &inputs->workspace, error);
    }
    if (status == CLEF_OK) {
        status = clef_sequence_create(&network->layout, &inputs->pool, &inputs->sequence, error);
    }
    return status == CLEF_OK ? clef_sequence_reserve(inputs->sequence, inputs->longest, error)
                             : status;
}

static void embed_records(clef_quantize_inputs *inputs) {
    float *hidden = inputs->hidden;
    for (size_t i = 0; i < inputs->record_count; i++) {
        const clef_head_task *task = &inputs->records[i]->task;
        clef_matrix out = {hidden, task->token_count, hidden_size(inputs), hidden_size(inputs)};
        inputs->backend->operations->embed(inputs->backend, inputs->model->network.embedding,
                                           task->tokens, out);
        hidden += task->token_count * hidden_size(inputs);
    }
}

clef_status clef_quantize_inputs_create(clef_model *model, clef_record *const *records,
                                        size_t record_count, clef_quantize_inputs **out,
                                        clef_error *error) {
    *out = NULL;
    clef_quantize_inputs *inputs = clef_allocate(1, sizeof *inputs);
    if (inputs == NULL) {
        return clef_fail_memory(error, sizeof *inputs, "measured inputs");
    }
    inputs->model = model;
    inputs->records = records;
    inputs->record_count = record_count;
    clef_page_pool_init(&inputs->pool, model->network.layout.page_floats);
    clef_status status = check_records(inputs, error);
    if (status == CLEF_OK) {
        size_t rows = (inputs->longest + CLEF_GRID - 1) / CLEF_GRID * CLEF_GRID;
        inputs->row_limit = rows < clef_session_rows(0) ? rows : clef_session_rows(0);
        status = require_memory(inputs, error);
    }
    if (status == CLEF_OK) {
        status = clef_cpu_backend_create(model->runtime->pool, model->runtime->level,
                                         &inputs->backend, error);
    }
    if (status == CLEF_OK) {
        status = take_memory(inputs, error);
    }
    if (status != CLEF_OK) {
        clef_quantize_inputs_destroy(inputs);
        return status;
    }
    embed_records(inputs);
    *out = inputs;
    return CLEF_OK;
}

void clef_quantize_inputs_destroy(clef_quantize_inputs *inputs) {
    if (inputs == NULL) {
        return;
    }
    for (int i = 0; i < CLEF_LAYER_INPUT_COUNT; i++) {
        clef_input_tally_release(&inputs->tallies[i]);
    }
    clef_tally_scratch_release(&inputs->scratch);
    clef_sequence_destroy(inputs->sequence);
    clef_page_pool_release(&inputs->pool);
    clef_workspace_release(&inputs->workspace);
    clef_backend_destroy(inputs->backend);
    clef_release(inputs->positions);
    clef_release(inputs->hidden);
    clef_release(inputs);
}

uint64_t clef_quantize_inputs_tokens(const clef_quantize_inputs *inputs) {
    return inputs->token_count;
}

uint64_t clef_quantize_inputs_bytes(const clef_quantize_inputs *inputs) {
    return (uint64_t)inputs->token_count * hidden_size(inputs) * sizeof(float);
}

/* ---- measuring ---- */

/* clef_trace.record */
static void see_matrix(void *context, const char *part, int layer, const char *name,
                       clef_matrix matrix) {
    clef_quantize_inputs *inputs = context;
    (void)part;
    (void)layer;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(name, input_rows[i].trace_name) == 0) {
            clef_input_tally_add(&inputs->tallies[input_rows[i].input], inputs->backend, matrix,
                                 &inputs->scratch);
        }
    }
}

/* The state before a record, as far as this layer reads it; keys and values are written first. */
static void clear_state(clef_quantize_inputs *inputs, uint32_t layer) {
    const clef_config *config = &inputs->model->network.config;
    const clef_layer_state *state = &inputs->model->network.layout.layers[layer];
    size_t matrices =
        (size_t)config->delta_value_head_count * config->delta_key_size * config->delta_value_size;
    size_t tail = (size_t)(config->convolution_taps - 1) * config->delta_channel_count;
    inputs->sequence->position = 0;
    if (!state->is_full_attention) {
        float *fixed = inputs->sequence->fixed;
        memset(fixed + state->matrix_offset, 0, matrices * sizeof *fixed);
        memset(fixed + state->tail_offset, 0, tail * sizeof *fixed);
    }
}

static void copy_rows(clef_matrix from, clef_matrix to) {
    for (size_t row = 0; row < from.rows; row++) {
        memcpy(to.data + row * to.stride, from.data + row * from.stride,
               from.columns * sizeof *to.data);
    }
}

/* One record through one layer; its hidden rows are replaced. */
static void run_record(clef_quantize_inputs *inputs, uint32_t layer, clef_matrix hidden,
                       const clef_trace *trace) {
    clef_workspace *workspace = &inputs->workspace;
    clear_state(inputs, layer);
    for (size_t begin = 0; begin < hidden.rows;) {
        size_t left = hidden.rows - begin;
        size_t rows = left < inputs->row_limit ? left : inputs->row_limit;
        clef_slice slice = clef_sequence_slice(inputs->sequence, 0, rows);
        clef_pass pass = {
            .network = &inputs->model->network,
            .backend = inputs->backend,
            .workspace = workspace,
            .step = {.rows = rows, .positions = inputs->positions, .slices = {&slice, 1}},
            .trace = trace};
        clef_session_fill_positions(pass.step.slices, rows, inputs->positions);
        clef_decoder_begin(&pass);
        clef_matrix part = clef_matrix_rows(hidden, begin, rows);
        copy_rows(part, clef_matrix_rows(workspace->hidden, 0, rows));
        clef_decoder_layer(&pass, layer);
        copy_rows(clef_matrix_rows(workspace->hidden, 0, rows), part);
        inputs->sequence->position += rows;
        begin += rows;
    }
}

static clef_status run_layer(clef_quantize_inputs *inputs, uint32_t layer, const clef_trace *trace,
                             clef_inputs_progress *progress, void *context) {
    size_t columns = hidden_size(inputs);
    float *data = inputs->hidden;
    clef_status status = CLEF_OK;
    for (size_t i = 0; i < inputs->record_count && status == CLEF_OK; i++) {
        size_t rows = inputs->records[i]->task.token_count;
        run_record(inputs, layer, (clef_matrix){data, rows, columns, columns}, trace);
        data += rows * columns;
        status = progress(context, rows * columns * sizeof *data);
    }
    return status;
}

/* The layers of a model differ in what comes out of their mixers. */
static void restart_tallies(clef_quantize_inputs *inputs, uint32_t layer) {
    const clef_config *config = &inputs->model->network.config;
    inputs->tallies[CLEF_LAYER_INPUT_MIXER_OUT].sums.columns =
        config->is_full_attention[layer]
            ? (size_t)config->attention_head_count * config->head_size
            : (size_t)config->delta_value_head_count * config->delta_value_size;
    for (int i = CLEF_LAYER_INPUT_NONE + 1; i < CLEF_LAYER_INPUT_COUNT; i++) {
        clef_input_tally_restart(&inputs->tallies[i]);
    }
}

clef_status clef_quantize_inputs_measure(clef_quantize_inputs *inputs, uint32_t layer,
                                         clef_inputs_progress *progress, void *context,
                                         clef_error *error) {
    const clef_trace trace = {see_matrix, inputs};
    clef_status status = CLEF_OK;
    if (layer + 1 == inputs->next_layer) {
        return CLEF_OK;
    }
    if (layer < inputs->next_layer) {
        return clef_fail(error, CLEF_INTERNAL,
                         "layer %" PRIu32 " was measured before layer %" PRIu32,
                         inputs->next_layer - 1, layer);
    }
    restart_tallies(inputs, layer);
    while (status == CLEF_OK && inputs->next_layer <= layer) {
        uint32_t next = inputs->next_layer++;
        status = run_layer(inputs, next, next == layer ? &trace : NULL, progress, context);
    }
    for (int i = CLEF_LAYER_INPUT_NONE + 1; i < CLEF_LAYER_INPUT_COUNT && status == CLEF_OK; i++) {
        clef_tally_result result = clef_input_tally_finish(&inputs->tallies[i]);
        inputs->is_good[i] = result == CLEF_TALLY_GOOD;
        if (result == CLEF_TALLY_NOT_FINITE) {
            status = clef_fail(error, CLEF_INTERNAL,
                               "what layer %" PRIu32 " reads of the records is not finite", layer);
        }
    }
    return status;
}

const clef_input_sums *clef_quantize_inputs_find(const clef_quantize_inputs *inputs,
                                                 clef_layer_input input) {
    return inputs->is_good[input] ? &inputs->tallies[input].sums : NULL;
}
