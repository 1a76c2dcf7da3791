/* Measuring: random tokens through the decoder and the head in the steps a session would form. The
 * decoder runs on a profiling backend, the head on the plain one below it, so that the products of
 * the head do not count as those of the layers. */
#include "engine/handles.h"

#include <clef/measure.h>

#include "backend/profile.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/system_memory.h"
#include "engine/measure_vision.h"
#include "engine/measure_work.h"
#include "engine/schedule.h"
#include "engine/session.h"
#include "engine/weight_pages.h"
#include "state/sequence.h"

#include <math.h>

#define DEFAULT_TOKENS 512
#define SEQUENCE_LIMIT 65536

/* The questions of every sequence: yes or no, a choice, a score. */
enum { QUESTIONS = 3, OPTIONS = 11, SPAN_TOKENS = 4 };
static const unsigned char question_types[QUESTIONS] = {0, 1, 2};
static const size_t option_counts[QUESTIONS] = {2, 4, 5};
#define SHORTEST_RECORD ((QUESTIONS + OPTIONS) * SPAN_TOKENS + 1)

struct clef_measure {
    clef_model *model;
    clef_vision_measure *vision; /* when patches are measured; then nothing below is used */
    clef_network network;        /* a shallow copy: the model's, with fewer layers */
    clef_backend *backend, *profiling;
    clef_profile profile;
    clef_workspace workspace;
    clef_weight_pages *weight_pages; /* or NULL */
    clef_page_pool pool;
    size_t sequence_count, token_count, row_limit, slice_limit;
    uint32_t *record;            /* [token_count], the tokens of every sequence */
    clef_sequence **sequences;   /* [sequence_count] */
    clef_head_reading *readings; /* [sequence_count], when the head decides */
    clef_range question_spans[QUESTIONS], option_spans[OPTIONS];
    size_t *remaining, *shares; /* [sequence_count] */
    /* Of a step: */
    uint32_t *tokens;                   /* [row_limit] */
    int32_t *positions;                 /* [3, rows] */
    clef_slice *slices;                 /* [slice_limit] */
    size_t *owners;                     /* [slice_limit] sequence of each slice */
    clef_head_reading **slice_readings; /* [slice_limit] */
    clef_span_part *parts;              /* [row_limit + slice_limit] */
};

static bool decides(const clef_measure *measure) {
    return measure->network.has_head && measure->token_count >= SHORTEST_RECORD;
}

clef_peak clef_measure_peak(const clef_measure *measure) {
    if (measure->vision != NULL) {
        return clef_vision_measure_peak(measure->vision);
    }
    switch (measure->network.layers[0].down.arithmetic) {
    case CLEF_ARITHMETIC_F32:
        break;
    case CLEF_ARITHMETIC_BF16:
        return CLEF_PEAK_BF16;
    case CLEF_ARITHMETIC_INT8:
        return CLEF_PEAK_INT8;
    }
    return CLEF_PEAK_F32;
}

const char *clef_part_name(clef_part part) {
    static const char *const names[CLEF_PART_COUNT] = {"matrix_products", "delta_rule", "attention",
                                                       "head", "rest"};
    return part < CLEF_PART_COUNT ? names[part] : "unknown";
}

/* ---- creation ---- */

static clef_status choose_sizes(clef_measure *measure, const clef_measure_options *options,
                                clef_error *error) {
    clef_config *config = &measure->network.config;
    measure->sequence_count = options->sequence_count == 0 ? 1 : options->sequence_count;
    measure->token_count = options->token_count == 0 ? DEFAULT_TOKENS : options->token_count;
    measure->row_limit = clef_session_rows(options->rows_per_step);
    if (measure->sequence_count > SEQUENCE_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "%u sequences, over the limit of %d",
                         options->sequence_count, SEQUENCE_LIMIT);
    }
    if (measure->token_count > config->context_length) {
        return clef_fail(error, CLEF_USAGE, "%u tokens, over the context of %u",
                         options->token_count, config->context_length);
    }
    if (options->rows_per_step > CLEF_SESSION_ROW_LIMIT) {
        return clef_fail(error, CLEF_USAGE, "%u rows in a step, over the limit of %d",
                         options->rows_per_step, CLEF_SESSION_ROW_LIMIT);
    }
    if (options->layer_count > config->layer_count) {
        return clef_fail(error, CLEF_USAGE, "%u layers of a model with %u", options->layer_count,
                         config->layer_count);
    }
    if (options->layer_count > 0) {
        config->layer_count = options->layer_count;
    }
    measure->slice_limit = clef_session_slices(measure->row_limit);
    return CLEF_OK;
}

/* What is taken below, within a few lists. */
static clef_status require_memory(const clef_measure *measure, clef_error *error) {
    const clef_network *network = &measure->network;
    uint64_t state = clef_state_layout_bytes(&network->layout, measure->token_count);
    uint64_t floats = clef_workspace_floats(network, measure->row_limit) +
                      measure->row_limit * clef_network_widest_input(network);
    return clef_system_memory_require(state * measure->sequence_count + floats * sizeof(float),
                                      "activations and state of that many sequences and tokens",
                                      error);
}

static clef_status take_lists(clef_measure *measure, clef_error *error) {
    size_t rows = measure->row_limit;
    size_t slices = measure->slice_limit;
    size_t count = measure->sequence_count;
    measure->record = clef_allocate(measure->token_count, sizeof *measure->record);
    measure->sequences = clef_allocate(count, sizeof *measure->sequences);
    measure->readings = clef_allocate(count, sizeof *measure->readings);
    measure->remaining = clef_allocate(count, sizeof *measure->remaining);
    measure->shares = clef_allocate(count, sizeof *measure->shares);
    measure->tokens = clef_allocate(rows, sizeof *measure->tokens);
    measure->positions = clef_allocate(3 * rows, sizeof *measure->positions);
    measure->slices = clef_allocate(slices, sizeof *measure->slices);
    measure->owners = clef_allocate(slices, sizeof *measure->owners);
    measure->slice_readings = clef_allocate(slices, sizeof *measure->slice_readings);
    measure->parts = clef_allocate(rows + slices, sizeof *measure->parts);
    if (measure->record == NULL || measure->sequences == NULL || measure->readings == NULL ||
        measure->remaining == NULL || measure->shares == NULL || measure->tokens == NULL ||
        measure->positions == NULL || measure->slices == NULL || measure->owners == NULL ||
        measure->slice_readings == NULL || measure->parts == NULL) {
        return clef_fail_memory(error, rows * sizeof *measure->parts, "the lists of a measurement");
    }
    return CLEF_OK;
}

static clef_status take_backends(clef_measure *measure, clef_error *error) {
    clef_runtime *runtime = measure->model->runtime;
    clef_status status =
        clef_cpu_backend_create(runtime->pool, runtime->level, &measure->backend, error);
    if (status == CLEF_OK) {
        status = measure->backend->operations->reserve(measure->backend, measure->row_limit,
                                                       clef_network_widest_input(&measure->network),
                                                       error);
    }
    if (status == CLEF_OK) {
        status = clef_profile_backend_create(measure->backend, &measure->profile,
                                             &measure->profiling, error);
    }
    return status == CLEF_OK ? clef_workspace_create(&measure->network, measure->row_limit,
                                                     &measure->workspace, error)
                             : status;
}

/* Questions and their options stand at the end of a record, as in a prompt. */
static clef_head_task make_task(clef_measure *measure) {
    size_t begin = measure->token_count - SHORTEST_RECORD;
    for (size_t i = 0; i < QUESTIONS + OPTIONS; i++, begin += SPAN_TOKENS) {
        clef_range span = {begin, begin + SPAN_TOKENS};
        if (i < QUESTIONS) {
            measure->question_spans[i] = span;
        } else {
            measure->option_spans[i - QUESTIONS] = span;
        }
    }
    return (clef_head_task){.tokens = measure->record,
                            .token_count = measure->token_count,
                            .question_count = QUESTIONS,
                            .option_total = OPTIONS,
                            .types = question_types,
                            .option_counts = option_counts,
                            .question_spans = measure->question_spans,
                            .option_spans = measure->option_spans};
}

static clef_status take_sequences(clef_measure *measure, clef_error *error) {
    clef_status status = CLEF_OK;
    uint32_t number = 1;
    for (size_t i = 0; i < measure->token_count; i++) {
        number = number * 1664525 + 1013904223;
        measure->record[i] = (number >> 8) % measure->network.config.vocabulary_size;
    }
    for (size_t i = 0; status == CLEF_OK && i < measure->sequence_count; i++) {
        status = clef_sequence_create(&measure->network.layout, &measure->pool,
                                      &measure->sequences[i], error);
        if (status == CLEF_OK) {
            status = clef_sequence_reserve(measure->sequences[i], measure->token_count, error);
        }
        if (status == CLEF_OK && decides(measure)) {
            clef_head_task task = make_task(measure);
            status =
                clef_head_reading_create(&measure->network, &task, &measure->readings[i], error);
        }
    }
    return status;
}

/* Everything that steps of tokens need. */
static clef_status take_steps(clef_measure *measure, const clef_measure_options *options,
                              clef_error *error) {
    measure->network = measure->model->network;
    clef_status status = choose_sizes(measure, options, error);
    if (status == CLEF_OK) {
        status = require_memory(measure, error);
    }
    if (status == CLEF_OK) {
        status = take_lists(measure, error);
    }
    if (status == CLEF_OK) {
        status = take_backends(measure, error);
    }
    if (status == CLEF_OK) {
        status = take_sequences(measure, error);
    }
    return status == CLEF_OK
               ? clef_weight_pages_create(measure->model, measure->network.config.layer_count,
                                          &measure->weight_pages, error)
               : status;
}

clef_status clef_measure_create(clef_model *model, const clef_measure_options *options,
                                clef_measure **out, clef_error *error) {
    clef_measure_options chosen = options == NULL ? (clef_measure_options){0} : *options;
    *out = NULL;
    if (model->is_tokenizer_only) {
        return clef_fail(error, CLEF_USAGE, "the model was opened for its tokenizer only");
    }
    clef_measure *measure = clef_allocate(1, sizeof *measure);
    if (measure == NULL) {
        return clef_fail_memory(error, sizeof *measure, "a measurement");
    }
    measure->model = clef_model_share(model);
    clef_page_pool_init(&measure->pool, model->network.layout.page_floats);
    clef_status status = chosen.patch_count > 0
                             ? clef_vision_measure_create(model, &chosen, &measure->vision, error)
                             : take_steps(measure, &chosen, error);
    if (status != CLEF_OK) {
        clef_measure_close(measure);
        return status;
    }
    *out = measure;
    return CLEF_OK;
}

void clef_measure_close(clef_measure *measure) {
    if (measure == NULL) {
        return;
    }
    for (size_t i = 0; i < measure->sequence_count; i++) {
        if (measure->sequences != NULL) {
            clef_sequence_destroy(measure->sequences[i]);
        }
        if (measure->readings != NULL) {
            clef_head_reading_release(&measure->readings[i]);
        }
    }
    clef_vision_measure_destroy(measure->vision);
    clef_weight_pages_close(measure->weight_pages);
    clef_page_pool_release(&measure->pool);
    clef_workspace_release(&measure->workspace);
    clef_backend_destroy(measure->profiling);
    clef_backend_destroy(measure->backend);
    clef_release(measure->record);
    clef_release(measure->sequences);
    clef_release(measure->readings);
    clef_release(measure->remaining);
    clef_release(measure->shares);
    clef_release(measure->tokens);
    clef_release(measure->positions);
    clef_release(measure->slices);
    clef_release(measure->owners);
    clef_release(measure->slice_readings);
    clef_release(measure->parts);
    clef_model_close(measure->model);
    clef_release(measure);
}

/* ---- a run ---- */

static void restart(clef_measure *measure) {
    measure->profile = (clef_profile){0};
    for (size_t i = 0; i < measure->sequence_count; i++) {
        clef_sequence_reset(measure->sequences[i]);
        if (decides(measure)) {
            clef_head_reading_restart(&measure->readings[i]);
        }
    }
}

/* Adds the next `count` tokens of a sequence to the step. */
static void add_slice(clef_measure *measure, size_t sequence, size_t slice, size_t row,
                      size_t count) {
    clef_sequence *of = measure->sequences[sequence];
    memcpy(measure->tokens + row, measure->record + of->position, count * sizeof *measure->tokens);
    measure->slices[slice] = clef_sequence_slice(of, row, count);
    measure->owners[slice] = sequence;
    measure->slice_readings[slice] = decides(measure) ? &measure->readings[sequence] : NULL;
}

/* Forms the next step as a session does. False when all sequences have been read. */
static bool form_step(clef_measure *measure, clef_step *step) {
    size_t candidates = 0;
    for (size_t i = 0; i < measure->sequence_count && candidates < measure->slice_limit; i++) {
        size_t left = measure->token_count - measure->sequences[i]->position;
        if (left > 0) {
            measure->owners[candidates] = i;
            measure->remaining[candidates++] = left;
        }
    }
    size_t shared = clef_schedule_share(measure->remaining, candidates, measure->row_limit,
                                        measure->slice_limit, measure->shares);
    *step = (clef_step){
        .tokens = measure->tokens, .positions = measure->positions, .slices = {measure->slices, 0}};
    /* Slices are at most as many as candidates before them, so owners may change in place. */
    for (size_t i = 0; i < shared; i++) {
        if (measure->shares[i] > 0) {
            add_slice(measure, measure->owners[i], step->slices.count++, step->rows,
                      measure->shares[i]);
            step->rows += measure->shares[i];
        }
    }
    clef_session_fill_positions(step->slices, step->rows, measure->positions);
    return candidates > 0;
}

static clef_status decide(clef_measure *measure, size_t sequence, clef_error *error) {
    float logits[OPTIONS];
    clef_status status =
        clef_head_decide(&measure->network, measure->backend, &measure->readings[sequence],
                         measure->sequences[sequence]->pages, NULL, logits, error);
    for (size_t i = 0; status == CLEF_OK && i < OPTIONS; i++) {
        if (!isfinite(logits[i])) {
            status = clef_fail(error, CLEF_INTERNAL, "logit %zu is %g", i, (double)logits[i]);
        }
    }
    return status;
}

/* The head's share of a step; adds its time. */
static clef_status run_head(clef_measure *measure, clef_pass *pass, uint64_t *head_ns,
                            clef_error *error) {
    clef_status status = CLEF_OK;
    uint64_t start = clef_clock_ns();
    pass->backend = measure->backend;
    clef_head_observe(pass, measure->slice_readings, measure->parts);
    for (size_t s = 0; status == CLEF_OK && s < pass->step.slices.count; s++) {
        size_t owner = measure->owners[s];
        size_t end = measure->slices[s].position + measure->slices[s].count;
        if (end == measure->token_count && decides(measure)) {
            status = decide(measure, owner, error);
        }
    }
    *head_ns += clef_clock_ns() - start;
    return status;
}

static clef_status run_step(clef_measure *measure, clef_step step, uint64_t *head_ns,
                            clef_error *error) {
    clef_pass pass = {.network = &measure->network,
                      .backend = measure->profiling,
                      .workspace = &measure->workspace,
                      .step = step,
                      .watch = clef_weight_pages_begin(measure->weight_pages)};
    clef_status status = CLEF_OK;
    clef_decoder_run(&pass);
    if (measure->network.has_head) {
        status = run_head(measure, &pass, head_ns, error);
    }
    for (size_t s = 0; s < step.slices.count; s++) {
        measure->sequences[measure->owners[s]]->position += measure->slices[s].count;
    }
    return status;
}

/* Broken numbers take another time than good ones, so a run that has any is no measurement. */
static clef_status check_rows(const clef_measure *measure, size_t rows, clef_error *error) {
    clef_matrix hidden = clef_matrix_rows(measure->workspace.normed, 0, rows);
    for (size_t row = 0; row < rows; row++) {
        for (size_t c = 0; c < hidden.columns; c++) {
            float value = hidden.data[row * hidden.stride + c];
            if (!isfinite(value)) {
                return clef_fail(error, CLEF_INTERNAL, "hidden value %zu of row %zu is %g", c, row,
                                 (double)value);
            }
        }
    }
    return CLEF_OK;
}

clef_status clef_measure_run(clef_measure *measure, clef_measured *measured, clef_error *error) {
    clef_status status = CLEF_OK;
    clef_step step;
    size_t last_rows = 0;
    if (measure->vision != NULL) {
        return clef_vision_measure_run(measure->vision, measured, error);
    }
    *measured =
        clef_measured_work(&measure->network, measure->sequence_count, measure->token_count);
    restart(measure);
    uint64_t start = clef_clock_ns();
    while (status == CLEF_OK && form_step(measure, &step)) {
        last_rows = step.rows;
        measured->state_bytes += 2.0 * sizeof(float) *
                                 (double)(measure->network.layout.fixed_floats * step.slices.count);
        status = run_step(measure, step, &measured->part_ns[CLEF_PART_HEAD], error);
        measured->step_count++;
    }
    measured->total_ns = clef_clock_ns() - start;
    measured->weight_bytes *= (double)measured->step_count;
    clef_measured_split(measured, &measure->profile);
    return status == CLEF_OK ? check_rows(measure, last_rows, error) : status;
}
