/* Every number type at every level of kernels that this machine has, against the answers of the
 * recorded reference. The table says how far each type may be off; a level may not need more. */
#include "../engine/quantize_support.h"

#include "backend/cpu/kernel_table.h"
#include "support_stage.h"

#include <math.h>

typedef enum model_kind { TRAINED, RANDOM, MODEL_COUNT } model_kind;

static const char *const model_names[] = {"clef-tiny", "tiny-random"};

/* Tolerances: the logits' root mean square and worst difference, the worst probability, and the
 * lead by which an option may lose its first place. About twice what was measured over all levels
 * of one machine; f32 as everywhere. The random model's decisions mean nothing and turn easily. */
typedef struct number_type {
    const char *name;
    const char *recipe; /* NULL: the model as it is */
    clef_precision precision;
    struct {
        double root_mean_square, logit, probability, lead;
    } tolerance[MODEL_COUNT];
} number_type;

static const number_type types[] = {
    {"f32", NULL, CLEF_PRECISION_F32, {{2e-5, 1e-4, 2e-5, 0}, {5e-5, 1.5e-4, 2e-5, 0}}},
    {"bf16", NULL, CLEF_PRECISION_BF16, {{0.02, 0.06, 0.002, 0.01}, {0.3, 0.9, 0.1, 0.05}}},
    {"int8", "int8", CLEF_PRECISION_F32, {{0.13, 0.5, 0.04, 0.05}, {1.2, 4.2, 0.85, 1}}},
    {"mixed", "mixed", CLEF_PRECISION_F32, {{0.6, 2.6, 0.26, 0.2}, {1.3, 3.2, 0.55, 0.6}}},
    {"int4", "int4", CLEF_PRECISION_F32, {{0.8, 3.4, 0.26, 0.2}, {3.6, 10, 1, 1}}},
};
#define TYPE_COUNT (sizeof types / sizeof *types)

/* ---- recorded requests ---- */

#define REQUEST_LIMIT  64
#define QUESTION_LIMIT 32
#define OPTION_LIMIT   128
/* Longer ones say nothing more, and take long. */
#define TOKEN_LIMIT 400
/* Where products run in plain C, a request this short must do. */
#define SLOW_TOKEN_LIMIT 128

typedef struct recorded_request {
    clef_text body; /* owned */
    size_t token_count;
    size_t question_count, option_counts[QUESTION_LIMIT];
    double logits[OPTION_LIMIT]; /* questions in order, options in the order of the prompt */
} recorded_request;

typedef struct recorded_requests {
    model_kind kind;
    recorded_request items[REQUEST_LIMIT];
    size_t count;
} recorded_requests;

/* The float64 logits where recorded, else the reference's fp32. */
static void read_logits(recorded_request *request, const clef_json *line) {
    size_t option = 0;
    const clef_json *question = member(line, "questions")->first;
    for (; question != NULL; question = question->next) {
        const clef_json *logits = clef_json_member(question, "logits_float64");
        logits = logits == NULL ? member(question, "logits") : logits;
        assert_true(request->question_count < QUESTION_LIMIT);
        assert_true(option + logits->count <= OPTION_LIMIT);
        request->option_counts[request->question_count++] = logits->count;
        for (const clef_json *logit = logits->first; logit != NULL; logit = logit->next) {
            request->logits[option++] = clef_json_double(logit->text);
        }
    }
}

static clef_text body_of(model_kind kind, const clef_json *line) {
    if (kind == RANDOM) {
        clef_buffer copy = {0};
        size_t length;
        clef_buffer_append_text(&copy, member(line, "request")->text);
        char *bytes = clef_buffer_take(&copy, &length);
        return (clef_text){bytes, length};
    }
    char path[128];
    clef_text name = member(line, "name")->text;
    snprintf(path, sizeof path, "clef-tiny/%.*s.json", (int)name.length, name.bytes);
    return load_file(fixture(path));
}

/* Pictures, and states that are to be cut, are other suites' matter. */
static void add_line(void *context, size_t number, clef_text text) {
    recorded_requests *requests = context;
    clef_arena arena = {0};
    (void)number;
    const clef_json *line = parse_json(text, &arena);
    size_t token_count = member(line, "token_ids")->count;
    bool has_picture = strncmp(member(line, "name")->text.bytes, "image", 5) == 0;
    if (!has_picture && token_count <= TOKEN_LIMIT &&
        clef_json_member(line, "max_length") == NULL) {
        assert_true(requests->count < REQUEST_LIMIT);
        recorded_request *request = &requests->items[requests->count++];
        request->body = body_of(requests->kind, line);
        request->token_count = token_count;
        read_logits(request, line);
    }
    clef_arena_release(&arena);
}

static recorded_requests read_requests(model_kind kind) {
    recorded_requests requests = {.kind = kind};
    for_each_line(
        fixture(kind == TRAINED ? "clef-tiny/expected.jsonl" : "tiny-random/text/requests.jsonl"),
        add_line, &requests);
    assert_true(requests.count > 20);
    return requests;
}

static void release_requests(recorded_requests *requests) {
    for (size_t i = 0; i < requests->count; i++) {
        release_text(requests->items[i].body);
    }
}

/* ---- differences ---- */

typedef struct differences {
    size_t requests, options, flips;
    double squares, logit, probability, lead;
} differences;

static void softmax(const double *logits, size_t count, double *out) {
    double highest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) {
        highest = fmax(highest, logits[i]);
    }
    for (size_t i = 0; i < count; i++) {
        sum += out[i] = exp(logits[i] - highest);
    }
    for (size_t i = 0; i < count; i++) {
        out[i] /= sum;
    }
}

/* By how much the recorded first option stands above the one that took its place; 0: none did. */
static double lost_lead(const double *expected, const float *found, size_t count) {
    size_t before = 0, now = 0;
    for (size_t i = 1; i < count; i++) {
        before = expected[i] > expected[before] ? i : before;
        now = found[i] > found[now] ? i : now;
    }
    return expected[before] - expected[now];
}

static void compare_answer(differences *d, const recorded_request *request,
                           const clef_answer *answer) {
    size_t option = 0;
    for (size_t q = 0; q < request->question_count; q++) {
        size_t count = request->option_counts[q];
        double expected[OPTION_LIMIT] = {0};
        const float *found = answer->probabilities + option;
        softmax(request->logits + option, count, expected);
        double lead = lost_lead(expected, found, count);
        d->flips += lead > 0;
        d->lead = fmax(d->lead, lead);
        for (size_t i = 0; i < count; i++) {
            double logit = fabs(request->logits[option + i] - answer->logits[option + i]);
            assert_true(isfinite(logit));
            d->squares += logit * logit;
            d->logit = fmax(d->logit, logit);
            d->probability = fmax(d->probability, fabs(expected[i] - found[i]));
        }
        option += count;
        d->options += count;
    }
    assert_int_equal(option, answer->record->task.option_total);
    d->requests++;
}

/* ---- one type at one level ---- */

typedef struct type_run {
    const recorded_requests *requests;
    const number_type *type;
    const char *directory; /* of the model in this type */
} type_run;

/* Whether the products of the type run in plain C at a level. */
static bool is_slow(const number_type *type, const char *name) {
    clef_level level;
    assert_true(clef_level_parse(name, &level));
    clef_kernel_table kernels = clef_kernel_table_of(level);
    if (type->recipe != NULL) {
        return kernels.matmul_int8 == clef_matmul_int8_reference;
    }
    return type->precision == CLEF_PRECISION_BF16
               ? kernels.matmul_bf16 == clef_matmul_bf16_reference
               : kernels.matmul == clef_matmul_reference;
}

static void compare_request(differences *d, const recorded_request *request, clef_model *model,
                            clef_session *session) {
    const clef_record_options options = {.control_tokens = CLEF_CONTROL_TOKENS_PARSE};
    clef_error error = {0};
    clef_record *record;
    clef_answer *answer;
    assert_ok(clef_record_encode(model, request->body.bytes, request->body.length, &options,
                                 &record, &error),
              &error);
    assert_ok(clef_session_decide(session, record, &answer, &error), &error);
    compare_answer(d, request, answer);
    clef_answer_close(answer);
    clef_record_close(record);
}

static differences measure(const type_run *run, const char *level) {
    differences d = {0};
    clef_error error = {0};
    clef_runtime *runtime;
    clef_model *model;
    clef_session *session;
    const clef_runtime_options machine = {.thread_count = 1, .cpu_level = level};
    const clef_model_options options = {.precision = run->type->precision};
    size_t limit = is_slow(run->type, level) ? SLOW_TOKEN_LIMIT : TOKEN_LIMIT;
    assert_ok(clef_runtime_create(&machine, &runtime, &error), &error);
    assert_ok(clef_model_open(runtime, run->directory, &options, &model, &error), &error);
    assert_ok(clef_session_create(model, NULL, &session, &error), &error);
    for (size_t i = 0; i < run->requests->count; i++) {
        if (run->requests->items[i].token_count <= limit) {
            compare_request(&d, &run->requests->items[i], model, session);
        }
    }
    clef_session_close(session);
    clef_model_close(model);
    clef_runtime_close(runtime);
    return d;
}

static void check_level(void *context, const char *level) {
    const type_run *run = context;
    model_kind kind = run->requests->kind;
    differences d = measure(run, level);
    double root_mean_square = sqrt(d.squares / (double)d.options);
    print_message("%-11s %-5s %-10s %2zu requests: logits %.2g, at most %.2g; probabilities %.2g; "
                  "%zu flips, lead %.2g\n",
                  model_names[kind], run->type->name, level, d.requests, root_mean_square, d.logit,
                  d.probability, d.flips, d.lead);
    assert_true(d.requests > 0);
    assert_true(root_mean_square <= run->type->tolerance[kind].root_mean_square);
    assert_true(d.logit <= run->type->tolerance[kind].logit);
    assert_true(d.probability <= run->type->tolerance[kind].probability);
    assert_true(d.lead <= run->type->tolerance[kind].lead);
}

static void check_types(model_kind kind) {
    recorded_requests requests = read_requests(kind);
    const char *directory = kind == TRAINED ? TRAINED_MODEL : RANDOM_MODEL;
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        type_run run = {&requests, &types[i], directory};
        output_place place;
        make_place(&place);
        if (types[i].recipe != NULL) {
            quantize(directory, place.output, &(clef_quantize_options){.recipe = types[i].recipe});
            run.directory = place.output;
        }
        for_each_level(check_level, &run);
        remove_place(&place);
    }
    release_requests(&requests);
}

static void types_of_the_trained_model(void **state) {
    (void)state;
    check_types(TRAINED);
}

static void types_of_the_random_model(void **state) {
    (void)state;
    check_types(RANDOM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_the_trained_model),
        cmocka_unit_test(types_of_the_random_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
