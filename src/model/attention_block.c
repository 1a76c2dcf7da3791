/* Gated full attention of one layer: grouped-query heads with q/k norm, interleaved M-RoPE and an
 * output gate that q_proj computes beside the queries. */
#include "model/decoder.h"

void clef_attention_block_run(const clef_pass *pass, size_t layer, clef_matrix x, clef_matrix out) {
    const clef_operations *op = pass->backend->operations;
    const clef_config *config = &pass->network->config;
    const clef_attention_weights *weights = &pass->network->layers[layer].attention;
    const clef_layer_state *state = &pass->network->layout.layers[layer];
    clef_workspace *workspace = pass->workspace;
    size_t rows = pass->step.rows;
    size_t heads = config->attention_head_count;
    size_t key_heads = config->key_value_head_count;
    size_t size = config->head_size;
    clef_matrix cosine = clef_matrix_rows(workspace->cosine, 0, rows);
    clef_matrix sine = clef_matrix_rows(workspace->sine, 0, rows);

    clef_workspace_begin_block(workspace);
    clef_matrix both = clef_workspace_take(workspace, rows, heads * 2 * size);
    clef_matrix key = clef_workspace_take(workspace, rows, key_heads * size);
    clef_matrix value = clef_workspace_take(workspace, rows, key_heads * size);
    clef_matrix query = clef_workspace_take(workspace, rows, heads * size);
    clef_matrix mixed = clef_workspace_take(workspace, rows, heads * size);

    /* Per head: `size` query values, then `size` gate values. */
    clef_linear_part inputs[] = {
        {weights->query, NULL, both}, {weights->key, NULL, key}, {weights->value, NULL, value}};
    op->linear(pass->backend, x, inputs, 3);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "self_attn.q_proj", both);
    clef_heads raw_query = {both.data, rows, both.stride, heads, 2 * size, size};
    clef_heads gate = {both.data + size, rows, both.stride, heads, 2 * size, size};
    clef_heads query_heads = clef_matrix_heads(query, heads);
    clef_heads key_view = clef_matrix_heads(key, key_heads);

    /* Keys are stored after norm and rotation. */
    op->norm_rotate(pass->backend, raw_query, weights->query_norm, config->rms_epsilon, cosine,
                    sine, query_heads);
    op->norm_rotate(pass->backend, key_view, weights->key_norm, config->rms_epsilon, cosine, sine,
                    key_view);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "self_attn.q_rotated", query);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "self_attn.k_rotated", key);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "self_attn.v", value);
    op->store_rows(pass->backend, pass->step.slices, key, state->key_offset);
    op->store_rows(pass->backend, pass->step.slices, value, state->value_offset);

    op->attention(pass->backend, pass->step.slices, query_heads, key_heads, state->key_offset,
                  state->value_offset, clef_matrix_heads(mixed, heads));
    op->sigmoid_gate(pass->backend, clef_matrix_heads(mixed, heads), gate);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "self_attn.gated_output", mixed);
    clef_linear(pass->backend, mixed, weights->out, NULL, out);
}
