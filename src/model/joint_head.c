/* Deciding: options read the memory (evidence layers), fields read each other and the memory
 * (decoder layers), and every option is scored against its field. Numbers in comments are the steps
 * of the head's description, in its order. */
#include "model/joint_head.h"

#include "model/head_attention.h"

#include <math.h>

#define NORM_EPSILON 1e-5f /* LayerNorm of the head */

/* Everything of one decision; matrices live in the arena. */
typedef struct decision {
    clef_head_run run;
    const clef_head_task *task;
    clef_matrix question_vectors; /* [Q, H] qv */
    clef_matrix last;             /* [1, H] glob */
    clef_matrix lexical;          /* [K, H] l */
    clef_matrix options;          /* [K, W] R */
    clef_matrix fields;           /* [Q, W] f */
} decision;

/* Means of the spans [first, first + rows) as rows. */
static clef_matrix span_means(decision *d, const clef_head_reading *reading, size_t first,
                              const clef_range *spans, size_t rows) {
    clef_matrix means = clef_head_matrix(&d->run, rows, reading->hidden_size);
    for (size_t i = 0; means.data != NULL && i < rows; i++) {
        const double *total = reading->totals + (first + i) * reading->hidden_size;
        double count = spans == NULL ? 1 : (double)(spans[i].end - spans[i].begin);
        for (size_t c = 0; c < reading->hidden_size; c++) {
            means.data[i * means.stride + c] = (float)(total[c] / count);
        }
    }
    return means;
}

static clef_matrix lexical_means(decision *d) {
    const clef_network *network = d->run.network;
    const clef_head_task *task = d->task;
    clef_matrix means = clef_head_matrix(&d->run, task->option_total, network->output.columns);
    for (size_t j = 0; means.data != NULL && j < task->option_total; j++) {
        clef_range span = task->option_spans[j];
        d->run.backend->operations->mean_rows(d->run.backend, network->output,
                                              task->tokens + span.begin, span.end - span.begin,
                                              means.data + j * means.stride);
    }
    return means;
}

/* 6. R = c·option_context + l·option_lexical + qv·option_question. */
static void build_options(decision *d, clef_matrix contexts) {
    clef_head_run *run = &d->run;
    const clef_operations *op = run->backend->operations;
    const clef_head_weights *weights = &run->network->head;
    size_t width = run->network->head_config.width;
    d->options = clef_head_matrix(run, d->task->option_total, width);
    clef_matrix part = clef_head_matrix(run, d->task->option_total, width);
    clef_matrix asked = clef_head_matrix(run, d->task->question_count, width);
    if (run->status != CLEF_OK) {
        return;
    }
    clef_linear(run->backend, contexts, weights->option_context, NULL, d->options);
    clef_linear(run->backend, d->lexical, weights->option_lexical, NULL, part);
    op->add(run->backend, d->options, part);
    clef_linear(run->backend, d->question_vectors, weights->option_question, NULL, asked);
    for (size_t i = 0, first = 0; i < d->task->question_count; i++) {
        size_t count = d->task->option_counts[i];
        /* Stride 0: the question's one row is added to each of its options. */
        clef_matrix row = {asked.data + i * asked.stride, count, width, 0};
        op->add(run->backend, clef_matrix_rows(d->options, first, count), row);
        first += count;
    }
    clef_trace_matrix(run->trace, "head", -1, "option_queries", d->options);
}

/* 7. Options read the memory, each for itself. */
static void run_evidence_layer(decision *d, size_t layer, clef_matrix normed, clef_matrix out) {
    clef_head_run *run = &d->run;
    const clef_operations *op = run->backend->operations;
    const clef_evidence_layer_weights *w = &run->network->head.evidence[layer];
    op->layer_norm(run->backend, d->options, w->query_norm.weight, w->query_norm.bias, NORM_EPSILON,
                   normed);
    clef_head_attend_memory(run, &w->attention, normed, &w->memory_norm, out);
    op->add(run->backend, d->options, out);
    op->layer_norm(run->backend, d->options, w->feedforward_norm.weight, w->feedforward_norm.bias,
                   NORM_EPSILON, normed);
    clef_head_feed_forward(run, &w->expand, &w->contract, normed, out);
    op->add(run->backend, d->options, out);
    clef_trace_matrix(run->trace, "head.evidence_layers", (int)layer, "", d->options);
}

/* 8, 9. f = base + LN(summary of the options) + glob·global + type. */
static void build_fields(decision *d) {
    clef_head_run *run = &d->run;
    const clef_operations *op = run->backend->operations;
    const clef_head_weights *w = &run->network->head;
    size_t width = run->network->head_config.width;
    size_t questions = d->task->question_count;
    d->fields = clef_head_matrix(run, questions, width);
    clef_matrix summaries = clef_head_matrix(run, questions, width);
    clef_matrix global = clef_head_matrix(run, 1, width);
    if (run->status != CLEF_OK) {
        return;
    }
    clef_linear(run->backend, d->question_vectors, w->question, NULL, d->fields);
    clef_trace_matrix(run->trace, "head", -1, "base_fields", d->fields);
    for (size_t i = 0, first = 0; i < questions; i++) {
        size_t count = d->task->option_counts[i];
        op->summarise(run->backend, clef_matrix_rows(d->options, first, count),
                      d->fields.data + i * d->fields.stride, summaries.data + i * summaries.stride);
        first += count;
    }
    clef_trace_matrix(run->trace, "head", -1, "option_summaries", summaries);
    op->layer_norm(run->backend, summaries, w->option_summary_norm.weight,
                   w->option_summary_norm.bias, NORM_EPSILON, summaries);
    clef_trace_matrix(run->trace, "head", -1, "option_summaries_normed", summaries);
    clef_linear(run->backend, d->last, w->global, NULL, global);
    op->add(run->backend, d->fields, summaries);
    op->add(run->backend, d->fields, (clef_matrix){global.data, questions, width, 0});
    for (size_t i = 0; i < questions; i++) {
        const float *type = w->type_embedding + d->task->types[i] * width;
        float *field = d->fields.data + i * d->fields.stride;
        for (size_t c = 0; c < width; c++) {
            field[c] += type[c];
        }
    }
    clef_trace_matrix(run->trace, "head", -1, "fields", d->fields);
}

/* 10. Fields read each other, then the memory as it is. */
static void run_decoder_layer(decision *d, size_t layer, clef_matrix normed, clef_matrix out) {
    clef_head_run *run = &d->run;
    const clef_operations *op = run->backend->operations;
    const clef_decoder_layer_weights *w = &run->network->head.decoder[layer];
    op->layer_norm(run->backend, d->fields, w->norm1.weight, w->norm1.bias, NORM_EPSILON, normed);
    clef_head_attend_self(run, &w->self_attention, normed, out);
    op->add(run->backend, d->fields, out);
    op->layer_norm(run->backend, d->fields, w->norm2.weight, w->norm2.bias, NORM_EPSILON, normed);
    clef_head_attend_memory(run, &w->memory_attention, normed, NULL, out);
    op->add(run->backend, d->fields, out);
    op->layer_norm(run->backend, d->fields, w->norm3.weight, w->norm3.bias, NORM_EPSILON, normed);
    clef_head_feed_forward(run, &w->expand, &w->contract, normed, out);
    op->add(run->backend, d->fields, out);
    clef_trace_matrix(run->trace, "head.layers", (int)layer, "", d->fields);
}

/* 13, second half: what a small network makes of each pair of field and option. [K, 1] */
static clef_matrix residuals(decision *d) {
    clef_head_run *run = &d->run;
    const clef_operations *op = run->backend->operations;
    const clef_head_weights *w = &run->network->head;
    size_t width = run->network->head_config.width;
    clef_matrix residual = clef_head_matrix(run, d->task->option_total, 1);
    clef_matrix features = clef_head_matrix(run, d->task->option_total, 4 * width);
    if (run->status != CLEF_OK) {
        return residual;
    }
    for (size_t i = 0, first = 0; i < d->task->question_count; i++) {
        size_t count = d->task->option_counts[i];
        op->pair_features(run->backend, d->fields.data + i * d->fields.stride,
                          clef_matrix_rows(d->options, first, count),
                          clef_matrix_rows(features, first, count));
        first += count;
    }
    clef_head_feed_forward(run, &w->scorer_expand, &w->scorer_contract, features, residual);
    clef_trace_matrix(run->trace, "head", -1, "residual", residual);
    return residual;
}

/* A scale that is not a number stays one, so that no answer can come of it. */
static float limited_exp(float scale) {
    double limit = log(100.0);
    return (float)exp(scale > limit ? limit : scale);
}

/* 12, 13, 14. logit = prior + sigmoid(residual_gate)·(scale·cosine + residual). */
static void score_options(decision *d, clef_matrix anchors, clef_matrix residual, float *logits) {
    clef_backend *backend = d->run.backend;
    const clef_operations *op = backend->operations;
    const clef_head_weights *w = &d->run.network->head;
    size_t width = d->run.network->head_config.width;
    float prior_scale = limited_exp(w->prior_logit_scale);
    float joint_scale = limited_exp(w->joint_logit_scale);
    float gate = (float)(1 / (1 + exp(-(double)w->residual_gate)));
    for (size_t i = 0, j = 0; i < d->task->question_count; i++) {
        const float *anchor = anchors.data + i * anchors.stride;
        const float *field = d->fields.data + i * d->fields.stride;
        for (size_t option = 0; option < d->task->option_counts[i]; option++, j++) {
            float prior = prior_scale * op->cosine(backend, d->lexical.data + j * d->lexical.stride,
                                                   anchor, anchors.columns, 1e-12f);
            float cosine =
                op->cosine(backend, field, d->options.data + j * d->options.stride, width, 1e-8f);
            logits[j] = prior + gate * (joint_scale * cosine + residual.data[j * residual.stride]);
        }
    }
}

static void decide(decision *d, const clef_head_reading *reading, float *logits) {
    clef_head_run *run = &d->run;
    const clef_operations *op = run->backend->operations;
    const clef_head_weights *w = &run->network->head;
    const clef_head_config *config = &run->network->head_config;
    size_t questions = d->task->question_count;
    size_t options = d->task->option_total;

    /* 3, 4, 5. Means of the spans. */
    d->question_vectors = span_means(d, reading, 0, d->task->question_spans, questions);
    clef_matrix contexts = span_means(d, reading, questions, d->task->option_spans, options);
    d->last = span_means(d, reading, questions + options, NULL, 1);
    d->lexical = lexical_means(d);
    if (run->status != CLEF_OK) {
        return;
    }
    clef_trace_matrix(run->trace, "head", -1, "question_vectors", d->question_vectors);
    build_options(d, contexts);
    size_t rows = options > questions ? options : questions;
    clef_matrix normed = clef_head_matrix(run, rows, config->width);
    clef_matrix out = clef_head_matrix(run, rows, config->width);
    for (size_t i = 0; run->status == CLEF_OK && i < config->evidence_layer_count; i++) {
        run_evidence_layer(d, i, clef_matrix_rows(normed, 0, options),
                           clef_matrix_rows(out, 0, options));
    }
    build_fields(d);
    for (size_t i = 0; run->status == CLEF_OK && i < config->decoder_layer_count; i++) {
        run_decoder_layer(d, i, clef_matrix_rows(normed, 0, questions),
                          clef_matrix_rows(out, 0, questions));
    }
    if (run->status != CLEF_OK) {
        return;
    }
    /* 11, 12. */
    op->layer_norm(run->backend, d->fields, w->field_norm.weight, w->field_norm.bias, NORM_EPSILON,
                   d->fields);
    clef_trace_matrix(run->trace, "head", -1, "field_norm", d->fields);
    op->layer_norm(run->backend, d->options, w->option_norm.weight, w->option_norm.bias,
                   NORM_EPSILON, d->options);
    clef_trace_matrix(run->trace, "head", -1, "option_norm", d->options);
    clef_matrix residual = residuals(d);
    if (run->status != CLEF_OK) {
        return;
    }
    clef_matrix last = {d->last.data, questions, d->last.columns, 0};
    op->add(run->backend, d->question_vectors, last);
    score_options(d, d->question_vectors, residual, logits);
}

clef_status clef_head_decide(const clef_network *network, clef_backend *backend,
                             const clef_head_reading *reading, float *const *pages,
                             const clef_trace *trace, float *logits, clef_error *error) {
    decision d = {.run = {.network = network,
                          .backend = backend,
                          .pages = pages,
                          .token_count = reading->task.token_count,
                          .trace = trace,
                          .error = error},
                  .task = &reading->task};
    clef_head_prepare(&d.run, reading->task.option_total > reading->task.question_count
                                  ? reading->task.option_total
                                  : reading->task.question_count);
    if (d.run.status == CLEF_OK) {
        decide(&d, reading, logits);
    }
    clef_arena_release(&d.run.arena);
    return d.run.status;
}

/* Counts the matrices of this file and of clef_head_prepare. */
uint64_t clef_head_decide_bytes(const clef_network *network, size_t tokens, size_t questions,
                                size_t options) {
    const clef_head_config *config = &network->head_config;
    uint64_t width = config->width;
    uint64_t hidden = network->config.hidden_size;
    uint64_t tile = tokens < CLEF_HEAD_TILE ? tokens : CLEF_HEAD_TILE;
    uint64_t rows = options > questions ? options : questions;
    uint64_t expanded = config->feedforward_size > width ? config->feedforward_size : width;
    uint64_t floats = tile * 3 * width;                         /* memory, keys and values */
    floats += rows * (6 * width + expanded + 2 * 16);           /* projected … sum; normed, out */
    floats += (questions + 2 * (uint64_t)options + 1) * hidden; /* means of spans */
    floats +=
        (6 * (uint64_t)options + 3 * (uint64_t)questions + 1) * width; /* options … features */
    return network->has_head ? floats * sizeof(float) : 0;
}
