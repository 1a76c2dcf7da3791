/* What a model, a session and a record take of memory, by formula: the sizes are those that their
 * makers allocate, and tests hold the sums against what a process really takes. */
#include "engine/handles.h"

#include "engine/session.h"
#include "model/workspace.h"

/* The record that an estimate is for. */
enum { QUESTIONS = 4, OPTIONS = 16 };

/* A thread's panels and chunks, and what it touches of its stack. */
#define THREAD_BYTES (512u << 10)

/* A tensor in the lists and tables of its store. */
#define TENSOR_BYTES (sizeof(clef_stored_tensor) + 4 * sizeof(void *))

static uint64_t store_bytes(const clef_weight_store *store) {
    return store == NULL ? 0 : clef_weight_store_count(store) * (uint64_t)TENSOR_BYTES;
}

/* Inputs of products that are rounded first; with fp32 products the room is taken but never
 * touched. */
static uint64_t rounded_bytes(const clef_network *network, size_t rows) {
    uint64_t elements = (uint64_t)rows * clef_network_widest_input(network);
    switch (network->layers[0].down.arithmetic) {
    case CLEF_ARITHMETIC_BF16:
        return elements * sizeof(uint16_t);
    case CLEF_ARITHMETIC_INT8:
        return elements + elements / network->layers[0].down.group * sizeof(float);
    case CLEF_ARITHMETIC_F32:
        break;
    }
    return 0;
}

uint64_t clef_model_session_bytes(const clef_model *model, size_t rows) {
    const clef_network *network = &model->network;
    uint64_t lists = rows * (4 * sizeof(uint32_t) + sizeof(clef_span_part));
    return clef_workspace_floats(network, rows) * (uint64_t)sizeof(float) +
           rounded_bytes(network, rows) + lists +
           (uint64_t)clef_thread_pool_size(model->runtime->pool) * THREAD_BYTES;
}

void clef_model_estimate(const clef_model *model, uint32_t rows_per_step, uint32_t tokens,
                         clef_memory_estimate *estimate) {
    const clef_network *network = &model->network;
    *estimate = (clef_memory_estimate){.mapped_bytes = clef_model_mapped_bytes(model),
                                       .model_bytes = network->arena.used_bytes +
                                                      store_bytes(model->backbone_store) +
                                                      store_bytes(model->head_store)};
    if (model->tokenizer != NULL) {
        estimate->model_bytes += clef_tokenizer_memory(model->tokenizer);
    }
    if (!model->is_tokenizer_only) {
        /* A record shorter than a step leaves the other rows untouched. */
        size_t rows = clef_session_rows(rows_per_step);
        size_t used = ((size_t)tokens + CLEF_GRID - 1) / CLEF_GRID * CLEF_GRID;
        estimate->scratch_bytes = clef_model_session_bytes(model, used < rows ? used : rows) +
                                  clef_head_decide_bytes(network, tokens, QUESTIONS, OPTIONS);
        estimate->sequence_bytes = clef_state_layout_bytes(&network->layout, tokens) +
                                   clef_head_reading_bytes(network, QUESTIONS, OPTIONS);
    }
}
