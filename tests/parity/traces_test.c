/* Whole requests of the tiny model, tensor by tensor: every recorded tensor has its counterpart in
 * our forward pass, and none is farther away than its family allows. The same request in steps of
 * 64 rows, on all CPUs instead of one, gives the same bits. */
#include "support_capture.h"
#include "support_questions.h"
#include "support_stage.h"
#include "support_vectors.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* How far two fp32 engines may be apart, relative to a tensor's largest value: about three times
 * what is measured over all levels of kernels. One layer's own roundings are some 5e-7 (layers.0.);
 * every layer that reads them adds its own and passes on the others. A name belongs to the first
 * family it begins with. */
typedef struct family {
    const char *prefix;
    double bound;
} family;

static const family families[] = {
    {"embeddings", 0}, /* rows of a table, copied */
    {"layers.0.", 2e-6},
    {"layers.1.", 8e-6},
    {"layers.2.linear_attn.", 1.5e-5},
    {"layers.2.", 3e-5}, /* the block's own input, output and MLP */
    {"layers.3.self_attn.", 3e-5},
    {"layers.3.", 4e-5}, /* likewise */
    {"layers.4.", 3e-5},
    {"layers.5.", 6e-5}, /* all layers */
    {"last_hidden_state", 5e-5},
    {"head.", 5e-5}, /* reads them */
};
#define FAMILY_COUNT (sizeof families / sizeof families[0])

/* Absolute. The reference itself is up to 9e-5 from float64. */
#define LOGIT_BOUND 1e-4

typedef struct recorded_request {
    const char *name;
    clef_safetensors *file;
    uint32_t *tokens;
    recorded_questions questions;
    clef_head_task task;
    const clef_network *network;
} recorded_request;

/* ---- the request ---- */

static void read_line(void *context, size_t number, clef_text text) {
    recorded_request *request = context;
    clef_arena arena = {0};
    const clef_json *line = parse_json(text, &arena);
    (void)number;
    if (clef_text_equals(member(line, "name")->text, clef_text_of(request->name))) {
        read_questions(line, &request->questions);
    }
    clef_arena_release(&arena);
}

static void open_request(recorded_request *request, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "tiny-random/text/trace-%s.safetensors", name);
    *request = (recorded_request){.name = name, .file = open_vectors(path)};
    const clef_stored_tensor *ids = vector_named(request->file, "input_ids");
    request->tokens = tokens_of(ids);
    char lines[1024];
    snprintf(lines, sizeof lines, "%s", fixture("tiny-random/text/requests.jsonl"));
    for_each_line(lines, read_line, request);
    request->task = task_of(&request->questions, request->tokens, element_count(ids));
    assert_true(request->task.question_count > 0);
}

static void close_request(recorded_request *request) {
    clef_release(request->tokens);
    clef_safetensors_close(request->file);
}

/* ---- our side ---- */

typedef struct computed_request {
    trace_capture capture;
    float *hidden; /* [tokens, H] */
    float logits[OPTION_LIMIT];
    float *final_state; /* of layer 2, [NV, DK, DV] */
} computed_request;

static size_t state_floats(const clef_config *config) {
    return (size_t)config->delta_value_head_count * config->delta_key_size *
           config->delta_value_size;
}

static void compute_request(const recorded_request *request, const char *level, size_t step_rows,
                            unsigned thread_count, computed_request *computed) {
    const clef_network *network = request->network;
    size_t count = request->task.token_count;
    size_t state_bytes = state_floats(&network->config) * sizeof(float);
    clef_error error = {0};
    *computed = (computed_request){0};
    computed->hidden = clef_allocate(count * network->config.hidden_size, sizeof(float));
    computed->final_state = clef_allocate(state_bytes, 1);
    assert_non_null(computed->hidden);
    assert_non_null(computed->final_state);
    clef_trace trace = capture_trace(&computed->capture);
    test_stage stage;
    open_stage(&stage, network, step_rows, thread_count, level);
    clef_head_reading reading;
    assert_ok(clef_head_reading_create(network, &request->task, &reading, &error), &error);
    run_tokens(&stage, request->tokens, count, step_rows, &trace, &reading, computed->hidden);
    assert_ok(clef_head_decide(network, stage.backend, &reading, stage.sequence->pages, &trace,
                               computed->logits, &error),
              &error);
    memcpy(computed->final_state, stage.sequence->fixed + network->layout.layers[2].matrix_offset,
           state_bytes);
    clef_head_reading_release(&reading);
    close_stage(&stage);
}

static void release_computed(computed_request *computed) {
    release_capture(&computed->capture);
    clef_release(computed->hidden);
    clef_release(computed->final_state);
}

/* ---- comparing ---- */

typedef struct comparison {
    clef_model *model;
    double worst[FAMILY_COUNT];
    double worst_logit;
    size_t failure_count; /* all are told before the test fails */
} comparison;

/* The gate lies beside the query: per head `size` columns of query, then `size` of gate. */
static distance compare_gate(const recorded_request *request, const computed_request *computed,
                             const int64_t *rows, const clef_stored_tensor *recorded) {
    const clef_matrix *both = captured(&computed->capture, "layers.3.self_attn.q_proj");
    size_t heads = (size_t)recorded->shape[1];
    size_t size = (size_t)recorded->shape[2];
    assert_non_null(both);
    assert_int_equal(both->rows, request->task.token_count);
    assert_int_equal(both->columns, 2 * heads * size);
    distance of = {0, 0};
    for (size_t i = 0; i < (size_t)recorded->shape[0]; i++) {
        const float *row = both->data + (rows == NULL ? i : (size_t)rows[i]) * both->stride;
        for (size_t head = 0; head < heads; head++) {
            of = farther(of, compare_floats(row + (2 * head + 1) * size,
                                            floats_of(recorded) + (i * heads + head) * size, size));
        }
    }
    return of;
}

/* A matrix of our trace. Recorded rows may be a selection of the tokens'. */
static distance compare_captured(const recorded_request *request, const computed_request *computed,
                                 const char *name, const int64_t *rows,
                                 const clef_stored_tensor *recorded) {
    const clef_matrix *matrix = captured(&computed->capture, name);
    if (matrix == NULL) {
        fail_msg("%s: our forward pass shows no matrix of that name", name);
    }
    bool is_selected = matrix->rows == request->task.token_count;
    return compare_rows(*matrix, is_selected ? rows : NULL, recorded);
}

static void judge(comparison *with, const char *name, double value, double bound) {
    if (!(value <= bound)) {
        print_error("%s: off by %.3g, at most %.3g allowed\n", name, value, bound);
        with->failure_count++;
    }
}

static void note(comparison *with, const char *name, double value) {
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        if (strncmp(name, families[i].prefix, strlen(families[i].prefix)) == 0) {
            with->worst[i] = fmax(with->worst[i], value);
            judge(with, name, value, families[i].bound);
            return;
        }
    }
    fail_msg("%s belongs to no family", name);
}

static void compare_tensor(comparison *with, const recorded_request *request,
                           const computed_request *computed, const clef_stored_tensor *recorded) {
    char name[96];
    snprintf(name, sizeof name, "%.*s", (int)recorded->name.length, recorded->name.bytes);
    const clef_stored_tensor *selected = clef_safetensors_find(request->file, CLEF_TEXT("rows"));
    const int64_t *rows = selected == NULL ? NULL : integers_of(selected);
    /* The two that are no result. */
    if (strcmp(name, "input_ids") == 0 || strcmp(name, "rows") == 0) {
        return;
    }
    if (strcmp(name, "head.logits") == 0) {
        assert_int_equal(element_count(recorded), request->task.option_total);
        distance of =
            compare_floats(computed->logits, floats_of(recorded), request->task.option_total);
        with->worst_logit = fmax(with->worst_logit, of.difference);
        judge(with, name, of.difference, LOGIT_BOUND);
    } else if (strcmp(name, "layers.2.linear_attn.final_state") == 0) {
        size_t count = state_floats(&request->network->config);
        assert_int_equal(element_count(recorded), count);
        note(with, name,
             relative(compare_floats(computed->final_state, floats_of(recorded), count)));
    } else if (strcmp(name, "layers.3.self_attn.gate") == 0) {
        note(with, name, relative(compare_gate(request, computed, rows, recorded)));
    } else {
        note(with, name, relative(compare_captured(request, computed, name, rows, recorded)));
    }
}

static void compare_request(comparison *with, const char *name, const char *level) {
    recorded_request request;
    computed_request whole, sliced;
    open_request(&request, name);
    request.network = &with->model->network;
    size_t count = request.task.token_count;
    compute_request(&request, level, count, 1, &whole);
    for (size_t i = 0; i < clef_safetensors_count(request.file); i++) {
        compare_tensor(with, &request, &whole, clef_safetensors_at(request.file, i));
    }
    assert_int_equal(with->failure_count, 0);
    compute_request(&request, level, CLEF_GRID, 0, &sliced);
    size_t hidden_size = request.network->config.hidden_size;
    assert_memory_equal(sliced.hidden, whole.hidden, count * hidden_size * sizeof(float));
    assert_memory_equal(sliced.logits, whole.logits, request.task.option_total * sizeof(float));
    release_computed(&whole);
    release_computed(&sliced);
    close_request(&request);
}

static void compare_level(void *context, const char *level) {
    comparison *with = context;
    memset(with->worst, 0, sizeof with->worst);
    with->worst_logit = 0;
    compare_request(with, "support", level);
    compare_request(with, "long-state", level);
    compare_request(with, "length-129", level);
    print_message("%s:\n", level);
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        print_message("    %-24s %.2g\n", families[i].prefix, with->worst[i]);
    }
    print_message("    %-24s %.2g absolute\n", "logits", with->worst_logit);
}

static void test_traces(void **state) {
    (void)state;
    comparison with = {.model = open_tiny_model()};
    for_each_level(compare_level, &with);
    clef_model_close(with.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
