/* The MLP of one layer: down(silu(gate x) ⊙ up x). */
#include "model/decoder.h"

void clef_feed_forward_run(const clef_pass *pass, size_t layer, clef_matrix x, clef_matrix out) {
    const clef_operations *op = pass->backend->operations;
    const clef_layer_weights *weights = &pass->network->layers[layer];
    size_t rows = pass->step.rows;
    size_t columns = pass->network->config.intermediate_size;

    clef_workspace_begin_block(pass->workspace);
    clef_matrix gate = clef_workspace_take(pass->workspace, rows, columns);
    clef_matrix up = clef_workspace_take(pass->workspace, rows, columns);
    clef_linear_part inputs[] = {{weights->gate, NULL, gate}, {weights->up, NULL, up}};
    op->linear(pass->backend, x, inputs, 2);
    op->swiglu(pass->backend, gate, up);
    clef_trace_matrix(pass->trace, "layers", (int)layer, "mlp.swiglu", gate);
    clef_linear(pass->backend, gate, weights->down, NULL, out);
}
