/* The joint head at the sizes of Clef-Flash and Clef 27B, with weights and hidden rows by formula:
 * logits against float64, and equal to the bit however the rows are sliced. The scale of the prior
 * is above its limit of ln 100, so the limit acts. */
#include "support_formula.h"
#include "support_stage.h"
#include "support_vectors.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

#define LOGIT_BOUND 5e-5
#define TASK_LIMIT  16  /* questions or options of a case */
#define NAME_BYTES  128 /* of a tensor's name */

typedef struct one_head {
    const clef_json *description;
    const clef_json *weights;
    clef_arena arena;
    clef_network network;
    clef_weight hidden; /* [tokens, H] */
    uint32_t *tokens;   /* [tokens] rows of the small output table */
    clef_head_task task;
    unsigned char types[TASK_LIMIT];
    size_t option_counts[TASK_LIMIT];
    clef_range question_spans[TASK_LIMIT];
    clef_range option_spans[TASK_LIMIT];
} one_head;

/* ---- weights ---- */

/* scope, name and suffix in one. Returns out. */
static const char *join(char out[NAME_BYTES], const char *scope, const char *name,
                        const char *suffix) {
    int length = snprintf(out, NAME_BYTES, "%s%s%s", scope, name, suffix);
    assert_in_range(length, 1, NAME_BYTES - 1);
    return out;
}

static const clef_json *entry(const one_head *of, const char *scope, const char *name) {
    char key[NAME_BYTES];
    return member(of->weights, join(key, scope, name, ""));
}

static clef_weight weight(one_head *of, const char *scope, const char *name) {
    return formula_weight(entry(of, scope, name), &of->arena);
}

static const float *floats(one_head *of, const char *scope, const char *name) {
    return formula_floats(entry(of, scope, name), &of->arena);
}

static clef_affine affine(one_head *of, const char *scope, const char *name) {
    char inner[NAME_BYTES];
    join(inner, scope, name, ".");
    return (clef_affine){weight(of, inner, "weight"), floats(of, inner, "bias")};
}

static clef_layer_norm_weights norm(one_head *of, const char *scope, const char *name) {
    char inner[NAME_BYTES];
    join(inner, scope, name, ".");
    return (clef_layer_norm_weights){floats(of, inner, "weight"), floats(of, inner, "bias")};
}

static clef_head_attention_weights attention(one_head *of, const char *scope, const char *name) {
    char inner[NAME_BYTES];
    join(inner, scope, name, ".");
    return (clef_head_attention_weights){
        {weight(of, inner, "in_proj_weight"), floats(of, inner, "in_proj_bias")},
        affine(of, inner, "out_proj")};
}

static void make_layers(one_head *of) {
    const clef_head_config *config = &of->network.head_config;
    clef_head_weights *head = &of->network.head;
    char scope[64];
    head->evidence =
        clef_arena_allocate(&of->arena, config->evidence_layer_count, sizeof *head->evidence);
    head->decoder =
        clef_arena_allocate(&of->arena, config->decoder_layer_count, sizeof *head->decoder);
    assert_non_null(head->evidence);
    assert_non_null(head->decoder);
    for (uint32_t i = 0; i < config->evidence_layer_count; i++) {
        snprintf(scope, sizeof scope, "evidence_layers.%u.", i);
        head->evidence[i] = (clef_evidence_layer_weights){
            .query_norm = norm(of, scope, "query_norm"),
            .memory_norm = norm(of, scope, "memory_norm"),
            .feedforward_norm = norm(of, scope, "feedforward_norm"),
            .attention = attention(of, scope, "attention"),
            .expand = affine(of, scope, "feedforward.0"),
            .contract = affine(of, scope, "feedforward.3"),
        };
    }
    for (uint32_t i = 0; i < config->decoder_layer_count; i++) {
        snprintf(scope, sizeof scope, "layers.%u.", i);
        head->decoder[i] = (clef_decoder_layer_weights){
            .norm1 = norm(of, scope, "norm1"),
            .norm2 = norm(of, scope, "norm2"),
            .norm3 = norm(of, scope, "norm3"),
            .self_attention = attention(of, scope, "self_attn"),
            .memory_attention = attention(of, scope, "multihead_attn"),
            .expand = affine(of, scope, "linear1"),
            .contract = affine(of, scope, "linear2"),
        };
    }
}

static void make_weights(one_head *of) {
    of->network.head = (clef_head_weights){
        .hidden_norm = norm(of, "", "hidden_norm"),
        .memory = weight(of, "", "memory_projection.weight"),
        .question = weight(of, "", "question_projection.weight"),
        .option_question = weight(of, "", "option_question_projection.weight"),
        .global = weight(of, "", "global_projection.weight"),
        .option_context = weight(of, "", "option_context_projection.weight"),
        .option_lexical = weight(of, "", "option_lexical_projection.weight"),
        .type_embedding = floats(of, "", "type_embedding.weight"),
        .option_summary_norm = norm(of, "", "option_summary_norm"),
        .field_norm = norm(of, "", "field_norm"),
        .option_norm = norm(of, "", "option_norm"),
        .scorer_expand = affine(of, "", "residual_scorer.0"),
        .scorer_contract = affine(of, "", "residual_scorer.3"),
        .prior_logit_scale = *floats(of, "", "prior_logit_scale"),
        .joint_logit_scale = *floats(of, "", "joint_logit_scale"),
        .residual_gate = *floats(of, "", "residual_gate"),
    };
    make_layers(of);
    of->hidden = formula_weight(member(of->description, "hidden"), &of->arena);
}

/* The output matrix has a row for each of the record's tokens only: token i of the task is row i,
 * made as the row of its real number in the vocabulary. */
static void make_output_table(one_head *of) {
    const clef_json *ids = member(of->description, "token_ids");
    tensor_formula formula = formula_of(member(of->description, "lm_head"));
    size_t columns = formula.columns;
    assert_int_equal(columns, of->network.config.hidden_size);
    assert_int_equal(ids->count, of->hidden.rows);
    uint16_t *table = clef_arena_allocate(&of->arena, ids->count * columns, sizeof *table);
    of->tokens = clef_arena_allocate(&of->arena, ids->count, sizeof *of->tokens);
    assert_non_null(table);
    assert_non_null(of->tokens);
    uint32_t row = 0;
    for (const clef_json *id = ids->first; id != NULL; id = id->next, row++) {
        uint64_t token = (uint64_t)number_of(id);
        assert_true(token < formula.rows);
        fill_formula(&formula, token * columns, columns, table + row * columns);
        of->tokens[row] = row;
    }
    of->network.output = (clef_weight){
        .data = table, .dtype = CLEF_DTYPE_BF16, .rows = ids->count, .columns = columns};
}

static void make_network(one_head *of) {
    const clef_json *c = member(of->description, "config");
    clef_network *network = &of->network;
    network->has_head = true;
    network->config.hidden_size = size_member(c, "hidden_size");
    network->head_config = (clef_head_config){
        .hidden_size = size_member(c, "hidden_size"),
        .width = size_member(c, "width"),
        .evidence_layer_count = size_member(c, "routing_layers"),
        .decoder_layer_count = size_member(c, "layers"),
        .head_count = size_member(c, "heads"),
        .feedforward_size = size_member(c, "feedforward"),
    };
    make_weights(of);
    make_output_table(of);
    clef_state_sizes sizes = {.memory_width = network->head_config.width};
    clef_error error = {0};
    assert_ok(clef_state_layout_create(&sizes, &network->layout, &error), &error);
}

/* ---- the task ---- */

static clef_range range_of(const clef_json *pair) {
    return (clef_range){(size_t)number_of(pair->first), (size_t)number_of(pair->first->next)};
}

static void read_task(one_head *of) {
    clef_head_task *task = &of->task;
    *task = (clef_head_task){.tokens = of->tokens,
                             .token_count = of->hidden.rows,
                             .types = of->types,
                             .option_counts = of->option_counts,
                             .question_spans = of->question_spans,
                             .option_spans = of->option_spans};
    const clef_json *question = member(of->description, "questions")->first;
    for (; question != NULL; question = question->next) {
        const clef_json *options = member(question, "options");
        size_t index = task->question_count++;
        assert_in_range(task->question_count, 1, TASK_LIMIT);
        assert_in_range(task->option_total + options->count, 1, TASK_LIMIT);
        of->types[index] = (unsigned char)size_member(question, "type");
        of->question_spans[index] = range_of(member(question, "span"));
        of->option_counts[index] = options->count;
        for (const clef_json *span = options->first; span != NULL; span = span->next) {
            of->option_spans[task->option_total++] = range_of(span);
        }
    }
}

/* ---- running ---- */

static void decide(one_head *of, size_t step_rows, float *logits) {
    clef_error error = {0};
    test_stage stage;
    open_stage(&stage, &of->network, step_rows, 0, NULL);
    clef_head_reading reading;
    clef_head_reading *readings[] = {&reading};
    assert_ok(clef_head_reading_create(&of->network, &of->task, &reading, &error), &error);
    clef_matrix normed = stage.workspace.normed;
    for (size_t first = 0; first < of->hidden.rows; first += step_rows) {
        size_t left = of->hidden.rows - first;
        size_t rows = left < step_rows ? left : step_rows;
        clef_pass pass = begin_step(&stage, of->tokens + first, rows, 0, NULL);
        for (size_t row = 0; row < rows; row++) {
            clef_weight from = clef_weight_rows(of->hidden, first + row, 1);
            clef_widen(from.dtype, from.data, from.columns, normed.data + row * normed.stride);
        }
        clef_head_observe(&pass, readings, stage.parts);
        end_step(&stage);
    }
    assert_ok(clef_head_decide(&of->network, stage.backend, &reading, stage.sequence->pages, NULL,
                               logits, &error),
              &error);
    clef_head_reading_release(&reading);
    close_stage(&stage);
}

static void check_head(const char *name) {
    one_head of = {0};
    of.description = load_case(name, &of.arena);
    of.weights = member(of.description, "weights");
    make_network(&of);
    read_task(&of);
    float whole[TASK_LIMIT], sliced[TASK_LIMIT];
    decide(&of, of.task.token_count, whole);
    decide(&of, CLEF_GRID, sliced);
    assert_memory_equal(sliced, whole, of.task.option_total * sizeof *whole);

    double worst = 0;
    size_t index = 0;
    const clef_json *question = member(of.description, "logits_float64")->first;
    for (; question != NULL; question = question->next) {
        for (const clef_json *logit = question->first; logit != NULL; logit = logit->next) {
            assert_true(index < of.task.option_total);
            double difference = fabs(whole[index++] - number_of(logit));
            worst = isnan(difference) ? INFINITY : fmax(worst, difference);
        }
    }
    assert_int_equal(index, of.task.option_total);
    print_message("%s: logits off by %.2g at most\n", name, worst);
    clef_state_layout_release(&of.network.layout);
    clef_arena_release(&of.arena);
    assert_within(name, worst, LOGIT_BOUND);
}

static void test_flash(void **state) {
    (void)state;
    check_head("flash-head");
}

static void test_27b(void **state) {
    (void)state;
    check_head("27b-head");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flash),
        cmocka_unit_test(test_27b),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
