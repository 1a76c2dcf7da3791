/* Gated DeltaNet of one layer: projections, short convolution, normalised queries and keys, the
 * delta rule over the sequences' matrices, a gated norm. */
#include "model/snapshot.h"

#include <math.h>

/* In rounds, as the delta rule below: each up to the next snapshots. */
static void convolve(const clef_pass *pass, const clef_delta_weights *weights,
                     const clef_layer_state *state, clef_matrix raw, clef_matrix out) {
    size_t taps = pass->network->config.convolution_taps;
    clef_slices slices;
    for (size_t round = 0; (slices = clef_step_round(&pass->step, round)).count > 0; round++) {
        pass->backend->operations->short_convolution(
            pass->backend, slices, raw, weights->convolution, taps, state->tail_offset, out);
        clef_step_copy(&pass->step, round, state->tail_offset, (taps - 1) * raw.columns);
    }
}

void clef_delta_block_run(const clef_pass *pass, size_t layer, clef_matrix x, clef_matrix out) {
    const clef_operations *op = pass->backend->operations;
    const clef_config *config = &pass->network->config;
    const clef_delta_weights *weights = &pass->network->layers[layer].delta;
    const clef_layer_state *state = &pass->network->layout.layers[layer];
    clef_workspace *workspace = pass->workspace;
    size_t rows = pass->step.rows;
    clef_delta_shape shape = {config->delta_key_head_count, config->delta_value_head_count,
                              config->delta_key_size, config->delta_value_size};
    size_t key_columns = shape.key_heads * shape.key_size;
    size_t value_columns = shape.value_heads * shape.value_size;
    const float epsilon = 1e-6f; /* of the l2 norm; fixed in the reference */

    clef_workspace_begin_block(workspace);
    clef_matrix raw = clef_workspace_take(workspace, rows, config->delta_channel_count);
    clef_matrix qkv = clef_workspace_take(workspace, rows, config->delta_channel_count);
    clef_matrix z = clef_workspace_take(workspace, rows, value_columns);
    clef_matrix mixed = clef_workspace_take(workspace, rows, value_columns);
    clef_matrix b = clef_workspace_take(workspace, rows, shape.value_heads);
    clef_matrix a = clef_workspace_take(workspace, rows, shape.value_heads);

    clef_linear_part inputs[] = {{weights->qkv, NULL, raw},
                                 {weights->z, NULL, z},
                                 {weights->b, NULL, b},
                                 {weights->a, NULL, a}};
    op->linear(pass->backend, x, inputs, 4);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.in_proj_qkv", raw);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.z", z);

    /* silu(convolution over time), then q = l2(q)/√DK and k = l2(k) per key head. */
    convolve(pass, weights, state, raw, qkv);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.conv_silu", qkv);
    clef_matrix query = clef_matrix_columns(qkv, 0, key_columns);
    clef_matrix key = clef_matrix_columns(qkv, key_columns, key_columns);
    clef_matrix value = clef_matrix_columns(qkv, 2 * key_columns, value_columns);
    op->l2_norm(pass->backend, clef_matrix_heads(query, shape.key_heads), epsilon,
                1.0f / sqrtf((float)shape.key_size));
    op->l2_norm(pass->backend, clef_matrix_heads(key, shape.key_heads), epsilon, 1.0f);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.q_normed", query);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.k_normed", key);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.v", value);

    /* β = sigmoid(b), g = -exp(A_log)·softplus(a + dt_bias). */
    op->delta_gates(pass->backend, a, b, weights->a_log, weights->dt_bias);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.g", a);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.beta", b);

    size_t matrices = shape.value_heads * shape.key_size * shape.value_size;
    clef_slices slices;
    for (size_t round = 0; (slices = clef_step_round(&pass->step, round)).count > 0; round++) {
        op->delta_rule(pass->backend, slices, shape, query, key, value, a, b, state->matrix_offset,
                       mixed);
        clef_step_copy(&pass->step, round, state->matrix_offset, matrices);
    }
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.delta_output", mixed);
    op->gated_norm(pass->backend, clef_matrix_heads(mixed, shape.value_heads), weights->norm,
                   config->rms_epsilon, clef_matrix_heads(z, shape.value_heads));
    clef_trace_matrix(pass->trace, "layers", (int)layer, "linear_attn.gated_norm", mixed);
    clef_linear(pass->backend, mixed, weights->out, NULL, out);
}
