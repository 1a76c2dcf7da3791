/* The backbone, read beside its formulas: embedding, layers of mixer and MLP on a residual stream,
 * final norm. Arithmetic is in the backend, memory in the workspace and the sequences. */
#include "model/decoder.h"

#include "model/rotary_positions.h"

void clef_decoder_begin(const clef_pass *pass) {
    clef_workspace *workspace = pass->workspace;
    clef_rotary_angles(pass->step.positions, pass->network->rotary_frequencies,
                       pass->network->config.mrope_section,
                       clef_matrix_rows(workspace->cosine, 0, pass->step.rows),
                       clef_matrix_rows(workspace->sine, 0, pass->step.rows));
}

void clef_decoder_layer(const clef_pass *pass, size_t layer) {
    const clef_operations *op = pass->backend->operations;
    const clef_layer_weights *weights = &pass->network->layers[layer];
    float epsilon = pass->network->config.rms_epsilon;
    clef_matrix hidden = clef_matrix_rows(pass->workspace->hidden, 0, pass->step.rows);
    clef_matrix normed = clef_matrix_rows(pass->workspace->normed, 0, pass->step.rows);
    clef_matrix mixed = clef_matrix_rows(pass->workspace->mixed, 0, pass->step.rows);

    /* x += Mixer(RMS(x)) */
    op->rms_norm(pass->backend, hidden, weights->input_norm, epsilon, normed);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "input_layernorm", normed);
    if (weights->is_full_attention) {
        clef_attention_block_run(pass, layer, normed, mixed);
    } else {
        clef_delta_block_run(pass, layer, normed, mixed);
    }
    clef_trace_matrix(pass->trace, "layers", (int)layer, "mixer", mixed);
    op->add(pass->backend, hidden, mixed);

    /* x += MLP(RMS(x)) */
    op->rms_norm(pass->backend, hidden, weights->post_attention_norm, epsilon, normed);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "post_attention_layernorm", normed);
    clef_feed_forward_run(pass, layer, normed, mixed);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "mlp", mixed);
    op->add(pass->backend, hidden, mixed);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "output", hidden);
}

/* Rows of a slice that lie in runs of features take those in place of embeddings. */
static void place_features(const clef_pass *pass, const clef_slice *slice,
                           const clef_features *features) {
    const clef_operations *op = pass->backend->operations;
    size_t end = slice->position + slice->count;
    size_t first = 0; /* feature row of the run's first token */
    for (size_t i = 0; i < features->run_count; first += features->runs[i++].count) {
        const clef_feature_run *run = &features->runs[i];
        size_t from = run->position > slice->position ? run->position : slice->position;
        size_t to = run->position + run->count < end ? run->position + run->count : end;
        if (from < to) {
            size_t row = slice->row + from - slice->position;
            op->copy(
                pass->backend,
                clef_matrix_heads(
                    clef_matrix_rows(features->rows, first + from - run->position, to - from), 1),
                clef_matrix_heads(clef_matrix_rows(pass->workspace->hidden, row, to - from), 1));
        }
    }
}

static void tell_watch(const clef_pass *pass, size_t layer) {
    if (pass->watch != NULL) {
        pass->watch->begin(pass->watch->context, layer);
    }
}

void clef_decoder_run(const clef_pass *pass) {
    const clef_operations *op = pass->backend->operations;
    const clef_network *network = pass->network;
    clef_matrix hidden = clef_matrix_rows(pass->workspace->hidden, 0, pass->step.rows);
    clef_matrix normed = clef_matrix_rows(pass->workspace->normed, 0, pass->step.rows);

    op->embed(pass->backend, network->embedding, pass->step.tokens, hidden);
    for (size_t s = 0; pass->step.features != NULL && s < pass->step.slices.count; s++) {
        if (pass->step.features[s] != NULL) {
            place_features(pass, &pass->step.slices.items[s], pass->step.features[s]);
        }
    }
    clef_trace_matrix(pass->trace, "", -1, "embeddings", hidden);
    clef_decoder_begin(pass);
    for (size_t layer = 0; layer < network->config.layer_count; layer++) {
        tell_watch(pass, layer);
        clef_decoder_layer(pass, layer);
    }
    tell_watch(pass, network->config.layer_count);
    op->rms_norm(pass->backend, hidden, network->norm, network->config.rms_epsilon, normed);
    clef_trace_matrix(pass->trace, "", -1, "last_hidden_state", normed);
}
