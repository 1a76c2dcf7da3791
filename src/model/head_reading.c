/* Reading: the share of the joint head that follows the tokens. Means of spans are running sums in
 * double, in order of positions, so slices may cut a span anywhere. */
#include "model/joint_head.h"

#include "base/memory.h"

static size_t span_count(const clef_head_task *task) {
    return task->question_count + task->option_total + 1;
}

static clef_range span_at(const clef_head_task *task, size_t index) {
    if (index < task->question_count) {
        return task->question_spans[index];
    }
    index -= task->question_count;
    if (index < task->option_total) {
        return task->option_spans[index];
    }
    return (clef_range){task->token_count - 1, task->token_count};
}

clef_status clef_head_reading_create(const clef_network *network, const clef_head_task *task,
                                     clef_head_reading *reading, clef_error *error) {
    *reading = (clef_head_reading){.task = *task, .hidden_size = network->config.hidden_size};
    reading->totals =
        clef_allocate(span_count(task) * reading->hidden_size, sizeof *reading->totals);
    if (reading->totals == NULL) {
        return clef_fail_memory(error,
                                span_count(task) * reading->hidden_size * sizeof *reading->totals,
                                "the spans of a record");
    }
    return CLEF_OK;
}

uint64_t clef_head_reading_bytes(const clef_network *network, size_t questions, size_t options) {
    uint64_t spans = (uint64_t)questions + options + 1;
    return network->has_head ? spans * network->config.hidden_size * sizeof(double) : 0;
}

void clef_head_reading_restart(clef_head_reading *reading) {
    size_t count = span_count(&reading->task) * reading->hidden_size;
    memset(reading->totals, 0, count * sizeof *reading->totals);
}

void clef_head_reading_release(clef_head_reading *reading) {
    clef_release(reading->totals);
    *reading = (clef_head_reading){0};
}

/* Parts of the spans that lie in a slice. Returns how many there are. */
static size_t list_parts(const clef_head_reading *reading, const clef_slice *slice,
                         clef_span_part *parts) {
    size_t position = slice->position;
    size_t rows = slice->count;
    size_t count = 0;
    for (size_t i = 0; i < span_count(&reading->task); i++) {
        clef_range span = span_at(&reading->task, i);
        size_t begin = span.begin > position ? span.begin : position;
        size_t end = span.end < position + rows ? span.end : position + rows;
        if (begin < end) {
            parts[count++] = (clef_span_part){.row = slice->row + begin - position,
                                              .count = end - begin,
                                              .total = reading->totals + i * reading->hidden_size};
        }
    }
    return count;
}

void clef_head_observe(const clef_pass *pass, clef_head_reading *const *readings,
                       clef_span_part *parts) {
    const clef_operations *op = pass->backend->operations;
    const clef_network *network = pass->network;
    const clef_head_weights *weights = &network->head;
    size_t rows = pass->step.rows;
    const float epsilon = 1e-5f; /* LayerNorm of the head */

    clef_workspace_begin_block(pass->workspace);
    clef_matrix hidden = clef_matrix_rows(pass->workspace->normed, 0, rows);
    clef_matrix normed = clef_workspace_take(pass->workspace, rows, network->config.hidden_size);
    clef_matrix memory = clef_workspace_take(pass->workspace, rows, network->head_config.width);

    /* n_t = LN(x_t), M = n · memory_projectionᵀ. */
    op->layer_norm(pass->backend, hidden, weights->hidden_norm.weight, weights->hidden_norm.bias,
                   epsilon, normed);
    clef_linear(pass->backend, normed, weights->memory, NULL, memory);
    clef_trace_matrix(pass->trace, "head", -1, "hidden_norm", normed);
    clef_trace_matrix(pass->trace, "head", -1, "memory", memory);
    op->store_rows(pass->backend, pass->step.slices, memory, network->layout.memory_offset);

    size_t count = 0;
    for (size_t s = 0; s < pass->step.slices.count; s++) {
        const clef_slice *slice = &pass->step.slices.items[s];
        if (readings[s] != NULL) {
            count += list_parts(readings[s], slice, parts + count);
        }
    }
    op->sum_spans(pass->backend, normed, parts, count);
}
