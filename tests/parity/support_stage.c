/* Steps of one sequence, one slice each. */
#include "support_stage.h"

#include "base/machine.h"
#include "base/memory.h"

#include <stdio.h>

clef_model *open_tiny_model(void) {
    clef_error error = {0};
    clef_runtime *runtime = NULL;
    clef_model *model = NULL;
    assert_ok(clef_runtime_create(NULL, &runtime, &error), &error);
    clef_model_options options = {.precision = CLEF_PRECISION_F32};
    assert_ok(clef_model_open(runtime, fixture("tiny-random/release"), &options, &model, &error),
              &error);
    clef_runtime_close(runtime);
    return model;
}

void open_stage(test_stage *stage, const clef_network *network, size_t row_limit,
                unsigned thread_count, const char *level) {
    clef_error error = {0};
    *stage = (struct test_stage){.network = network};
    unsigned threads = thread_count == 0 ? clef_machine_cpus() : thread_count;
    assert_ok(clef_cpu_backend_create(threads_of(threads), level, &stage->backend, &error), &error);
    assert_ok(clef_workspace_create(network, row_limit, &stage->workspace, &error), &error);
    clef_page_pool_init(&stage->pool, network->layout.page_floats);
    assert_ok(clef_sequence_create(&network->layout, &stage->pool, &stage->sequence, &error),
              &error);
    stage->positions = clef_allocate(3 * row_limit, sizeof *stage->positions);
    stage->parts = clef_allocate(row_limit + 1, sizeof *stage->parts);
    assert_non_null(stage->positions);
    assert_non_null(stage->parts);
}

void close_stage(test_stage *stage) {
    clef_release(stage->parts);
    clef_release(stage->positions);
    clef_sequence_destroy(stage->sequence);
    clef_page_pool_release(&stage->pool);
    clef_workspace_release(&stage->workspace);
    clef_backend_destroy(stage->backend);
}

clef_pass begin_step(test_stage *stage, const uint32_t *tokens, size_t rows, size_t shift,
                     const clef_trace *trace) {
    clef_error error = {0};
    size_t position = stage->sequence->position;
    assert_in_range(rows, 1, stage->workspace.row_limit);
    assert_ok(clef_sequence_reserve(stage->sequence, position + rows, &error), &error);
    stage->slice = clef_sequence_slice(stage->sequence, 0, rows);
    for (size_t axis = 0; axis < 3; axis++) {
        for (size_t row = 0; row < rows; row++) {
            stage->positions[axis * rows + row] = (int32_t)(position + shift + row);
        }
    }
    return (clef_pass){.network = stage->network,
                       .backend = stage->backend,
                       .workspace = &stage->workspace,
                       .step = {.rows = rows,
                                .tokens = tokens,
                                .positions = stage->positions,
                                .slices = {&stage->slice, 1}},
                       .trace = trace};
}

void end_step(test_stage *stage) {
    stage->sequence->position += stage->slice.count;
}

void run_tokens(test_stage *stage, const uint32_t *tokens, size_t count, size_t step_rows,
                const clef_trace *trace, clef_head_reading *reading, float *hidden) {
    clef_matrix normed = stage->workspace.normed;
    for (size_t first = 0; first < count; first += step_rows) {
        size_t rows = count - first < step_rows ? count - first : step_rows;
        clef_pass pass = begin_step(stage, tokens + first, rows, 0, trace);
        clef_decoder_run(&pass);
        for (size_t row = 0; row < rows; row++) {
            memcpy(hidden + (first + row) * normed.columns, normed.data + row * normed.stride,
                   normed.columns * sizeof *hidden);
        }
        if (reading != NULL) {
            clef_head_observe(&pass, &reading, stage->parts);
        }
        end_step(stage);
    }
}

void for_each_level(void (*test)(void *context, const char *level), void *context) {
    clef_backend *backend = NULL;
    clef_error error = {0};
    assert_ok(clef_cpu_backend_create(NULL, NULL, &backend, &error), &error);
    for (const char *next = backend->levels; *next != '\0';) {
        char level[64];
        size_t length = strcspn(next, " ");
        snprintf(level, sizeof level, "%.*s", (int)length, next);
        test(context, level);
        next += length + strspn(next + length, " ");
    }
    clef_backend_destroy(backend);
}
