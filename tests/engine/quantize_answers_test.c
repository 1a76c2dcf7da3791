/* Answers of quantised models beside those of the whole ones: how far they may be off is measured
 * in what bfloat16 makes of the same model. */
#include "quantize_support.h"

#include <math.h>

typedef struct compared {
    clef_runtime *runtime;
    clef_model *models[2]; /* whole, quantised */
    clef_session *sessions[2];
    size_t requests, options, questions, flips;
    double worst_logit, logit_squares, worst_probability, widest_flip;
} compared;

/* The second computes in bfloat16 where it is not quantised, unless `in_f32`. */
static void open_compared(compared *c, const char *whole, const char *quantised, bool in_f32) {
    clef_error error = {0};
    *c = (compared){.runtime = open_runtime(1)};
    const char *directories[] = {whole, quantised};
    for (int i = 0; i < 2; i++) {
        clef_model_options options = {.precision = i == 1 && !in_f32 ? CLEF_PRECISION_BF16
                                                                     : CLEF_PRECISION_F32};
        assert_ok(clef_model_open(c->runtime, directories[i], &options, &c->models[i], &error),
                  &error);
        assert_ok(clef_session_create(c->models[i], NULL, &c->sessions[i], &error), &error);
    }
}

static void close_compared(compared *c) {
    for (int i = 0; i < 2; i++) {
        clef_session_close(c->sessions[i]);
        clef_model_close(c->models[i]);
    }
    clef_runtime_close(c->runtime);
}

static size_t best_of(const float *values, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

/* By how much the best probability stands above the second. */
static double margin_of(const float *values, size_t count) {
    size_t best = best_of(values, count);
    double second = 0;
    for (size_t i = 0; i < count; i++) {
        second = i == best ? second : fmax(second, values[i]);
    }
    return values[best] - second;
}

static void compare_answers(compared *c, const clef_record *record, const clef_answer *whole,
                            const clef_answer *quantised) {
    size_t option = 0;
    for (size_t q = 0; q < record->task.question_count; q++) {
        size_t count = record->task.option_counts[q];
        const float *a = whole->probabilities + option;
        const float *b = quantised->probabilities + option;
        if (best_of(a, count) != best_of(b, count)) {
            c->flips++;
            c->widest_flip = fmax(c->widest_flip, margin_of(a, count));
        }
        for (size_t k = 0; k < count; k++) {
            double difference = (double)whole->logits[option + k] - quantised->logits[option + k];
            assert_true(isfinite(difference));
            c->worst_logit = fmax(c->worst_logit, fabs(difference));
            c->logit_squares += difference * difference;
            c->worst_probability = fmax(c->worst_probability, fabs((double)a[k] - b[k]));
        }
        option += count;
        c->questions++;
    }
    c->options += option;
}

/* Long requests say nothing more, and take long. */
#define TOKEN_LIMIT 500

static void compare_request(compared *c, clef_text body) {
    clef_error error = {0};
    clef_record *records[2] = {NULL, NULL};
    clef_answer *answers[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        assert_ok(
            clef_record_encode(c->models[i], body.bytes, body.length, NULL, &records[i], &error),
            &error);
        if (clef_record_token_count(records[i]) <= TOKEN_LIMIT) {
            assert_ok(clef_session_decide(c->sessions[i], records[i], &answers[i], &error), &error);
        }
    }
    if (answers[0] != NULL) {
        compare_answers(c, records[0], answers[0], answers[1]);
        c->requests++;
    }
    for (int i = 0; i < 2; i++) {
        clef_answer_close(answers[i]);
        clef_record_close(records[i]);
    }
}

static void compare_line(void *context, size_t number, clef_text text) {
    clef_arena arena = {0};
    (void)number;
    compare_request(context, member(parse_json(text, &arena), "request")->text);
    clef_arena_release(&arena);
}

static void compare_record_files(compared *c) {
    for (int i = 1; i <= 24; i++) {
        char name[64];
        snprintf(name, sizeof name, "clef-tiny/record-%02d.json", i);
        clef_text body = load_file(fixture(name));
        compare_request(c, body);
        release_text(body);
    }
}

/* Root of the mean square of the logits' differences. */
static double root_mean_square(const compared *c) {
    return sqrt(c->logit_squares / (double)c->options);
}

static void print_compared(const compared *c, const char *model, const char *recipe) {
    print_message("%s %s: %zu questions, logits off by %.3g at most and %.3g in the root mean "
                  "square, probabilities by %.3g; %zu flips, at a margin of %.3g at most\n",
                  model, recipe, c->questions, c->worst_logit, root_mean_square(c),
                  c->worst_probability, c->flips, c->widest_flip);
}

static void compare_requests(compared *c, const char *model) {
    if (strcmp(model, TRAINED_MODEL) == 0) {
        compare_record_files(c);
    } else {
        for_each_line(fixture("tiny-random/text/requests.jsonl"), compare_line, c);
    }
}

/* A product of bfloat16 rounds its inputs to 8 bits each, about 0.1 % of their size in the root
 * mean square; int8 with 64 columns a group rounds inputs and weights by about 0.6 % each, 4 bits
 * with 32 columns weights by about 8 %. So what bfloat16 makes of a model's logits is the measure
 * for how sensitive it is, and the number types may be off by so many times of it. */
typedef struct bound {
    const char *recipe, *precision;
    bool is_calibrated;
    double noise; /* times the root mean square of bfloat16 */
    double probability, flip_margin;
} bound;

enum { CALIBRATION_RECORDS = 12 };

/* Quantises as a row says; calibration reads every other record. */
static void make_quantised(const char *model, const char *output, const bound *limit) {
    clef_error error = {0};
    clef_runtime *runtime = open_runtime(1);
    clef_model *whole;
    clef_record *records[CALIBRATION_RECORDS];
    assert_ok(clef_model_open(runtime, model, NULL, &whole, &error), &error);
    for (int i = 0; i < CALIBRATION_RECORDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "clef-tiny/record-%02d.json", 2 * i + 1);
        clef_text body = load_file(fixture(name));
        assert_ok(clef_record_encode(whole, body.bytes, body.length, NULL, &records[i], &error),
                  &error);
        release_text(body);
    }
    const clef_quantize_options options = {.recipe = limit->recipe,
                                           .calibration_records = records,
                                           .calibration_record_count =
                                               limit->is_calibrated ? CALIBRATION_RECORDS : 0};
    assert_ok(clef_model_quantize(runtime, model, output, &options, &error), &error);
    for (int i = 0; i < CALIBRATION_RECORDS; i++) {
        clef_record_close(records[i]);
    }
    clef_model_close(whole);
    clef_runtime_close(runtime);
}

static double measure_noise(const char *model) {
    compared c;
    open_compared(&c, model, model, false);
    compare_requests(&c, model);
    print_compared(&c, model, "bf16");
    double noise = root_mean_square(&c);
    close_compared(&c);
    return noise;
}

static void check_model(const char *model, const bound *limits, size_t count) {
    double noise = measure_noise(model);
    for (size_t i = 0; i < count; i++) {
        output_place place;
        compared c;
        clef_model_facts facts;
        make_place(&place);
        make_quantised(model, place.output, &limits[i]);
        open_compared(&c, model, place.output, true);
        compare_requests(&c, model);
        print_compared(&c, model, limits[i].recipe);
        print_message("    %s, %.1f times bfloat16\n",
                      limits[i].is_calibrated ? "calibrated" : "not calibrated",
                      root_mean_square(&c) / noise);
        clef_model_describe(c.models[1], &facts);
        assert_string_equal(facts.precision, limits[i].precision);
        assert_true(c.worst_logit > 0);
        assert_true(root_mean_square(&c) <= limits[i].noise * noise);
        assert_true(c.worst_probability <= limits[i].probability);
        assert_true(c.widest_flip <= limits[i].flip_margin);
        close_compared(&c);
        remove_place(&place);
    }
}

static void answers_of_a_trained_model_stay_near(void **state) {
    (void)state;
    const bound limits[] = {
        {"int8", "int8", false, 12, 0.05, 0.1},   {"int8", "int8", true, 9, 0.05, 0.1},
        {"mixed", "mixed", false, 60, 0.15, 0.2}, {"mixed", "mixed", true, 55, 0.3, 0.2},
        {"int4", "int4", false, 90, 0.3, 0.3},    {"int4", "int4", true, 75, 0.3, 0.3},
    };
    check_model(TRAINED_MODEL, limits, 6);
}

/* Its decisions mean nothing, so only the size of the differences counts. */
static void logits_of_a_random_model_stay_near(void **state) {
    (void)state;
    const bound limits[] = {
        {"int8", "int8", false, 12, 1, 1},
        /* The down projection has 200 columns, no multiple of 32, and gets 8 bits. */
        {"int4", "int8", false, 90, 1, 1},
        {"int4", "int8", true, 90, 1, 1},
    };
    check_model(RANDOM_MODEL, limits, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_a_trained_model_stay_near),
        cmocka_unit_test(logits_of_a_random_model_stay_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
