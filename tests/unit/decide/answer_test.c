/* Probabilities, rounding and replies, against what the reference recorded. */
#include "decide/answer.h"
#include "support.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- helpers ------------------------------------------------------------------------------- */

static clef_request *accept(clef_arena *arena, clef_text body) {
    clef_request *request = NULL;
    clef_error error = {0};
    assert_ok(clef_request_parse(body, NULL, arena, &request, &error), &error);
    return request;
}

static void assert_text(clef_text text, const char *expected) {
    if (text.length != strlen(expected) || memcmp(text.bytes, expected, text.length) != 0) {
        fail_msg("%.*s\nexpected\n%s", (int)text.length, text.bytes, expected);
    }
}

static float float_of_bits(const clef_json *bits) {
    char digits[9] = {0};
    assert_int_equal(bits->text.length, 8);
    memcpy(digits, bits->text.bytes, 8);
    uint32_t word = (uint32_t)strtoul(digits, NULL, 16);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static double number(const clef_json *value) {
    return clef_json_double(value->text);
}

/* A question of `count` options in prompt order 0, 1, … whose request order may be given. */
static clef_question question_of(clef_question_type type, size_t count, clef_option *options,
                                 const size_t *places) {
    for (size_t i = 0; i < count; i++) {
        options[i] = (clef_option){CLEF_TEXT("x"), NULL, places == NULL ? i : places[i], false};
    }
    return (clef_question){CLEF_TEXT("q"), type, NULL, options, count};
}

/* ---- rounding ------------------------------------------------------------------------------ */

static void check_round_line(void *context, size_t line_number, clef_text line) {
    clef_arena arena = {0};
    clef_buffer out = {0};
    const clef_json *entry = parse_json(line, &arena);
    double value = (double)float_of_bits(member(entry, "bits"));
    clef_json_write_double(&out, clef_answer_round(value));
    if (!clef_text_equals(clef_buffer_text(&out), member(entry, "rounded")->text)) {
        fail_msg("line %zu: %.20g became %s", line_number, value, out.bytes);
    }
    ++*(int *)context;
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void test_recorded_roundings(void **state) {
    (void)state;
    int count = 0;
    for_each_line(fixture("numbers/round.jsonl"), check_round_line, &count);
    assert_int_equal(count, 1000);
}

static void test_A02_rounding(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{1.0 / 32, "0.0312"}, {3.0 / 32, "0.0938"}, {0.99995, "1.0"},
                {0.00015, "0.0001"},  {1.0, "1.0"},         {0.0, "0.0"},
                {0.00005, "0.0001"},  {0.00004, "0.0"},     {5e-324, "0.0"},
                {1.82, "1.82"},       {254.0, "254.0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clef_buffer out = {0};
        clef_json_write_double(&out, clef_answer_round(rows[i].value));
        assert_text(clef_buffer_text(&out), rows[i].text);
        clef_buffer_release(&out);
    }
}

/* The C library's exact printing is the other way to the same decimal. */
static void test_rounding_equals_printing(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        /* Every third one is a tie or its neighbour. */
        double value = ldexp((double)(seed >> 11), -53 + (int)(seed % 9));
        if (i % 3 == 0) {
            value = ((double)(seed >> 51) + 0.5) / 10000.0;
            value = i % 2 == 0 ? value : nextafter(value, (seed & 1024) != 0 ? 1e9 : 0.0);
        }
        char text[64];
        snprintf(text, sizeof text, "%.4f", value);
        if (clef_answer_round(value) != strtod(text, NULL)) {
            fail_msg("%.20g became %.20g, not %s", value, clef_answer_round(value), text);
        }
    }
}

/* ---- decisions ----------------------------------------------------------------------------- */

static void check_score_line(void *context, size_t line_number, clef_text line) {
    clef_arena arena = {0};
    const clef_json *entry = parse_json(line, &arena);
    const clef_json *bits = member(entry, "bits");
    float *probabilities = clef_arena_allocate(&arena, bits->count, sizeof *probabilities);
    clef_option *options = clef_arena_allocate(&arena, bits->count, sizeof *options);
    clef_question question = question_of(CLEF_QUESTION_SCORE, bits->count, options, NULL);
    size_t i = 0;
    for (const clef_json *value = bits->first; value != NULL; value = value->next) {
        probabilities[i++] = float_of_bits(value);
    }
    clef_decision decision = clef_answer_decide(&question, probabilities);
    clef_buffer score = {0}, confidence = {0};
    clef_json_write_double(&score, clef_answer_round(decision.score));
    clef_json_write_double(&confidence, clef_answer_round(decision.confidence));
    if (!clef_text_equals(clef_buffer_text(&score), member(entry, "score")->text) ||
        !clef_text_equals(clef_buffer_text(&confidence), member(entry, "confidence")->text)) {
        fail_msg("line %zu: score %s, confidence %s", line_number, score.bytes, confidence.bytes);
    }
    ++*(int *)context;
    clef_buffer_release(&score);
    clef_buffer_release(&confidence);
    clef_arena_release(&arena);
}

static void test_recorded_scores(void **state) {
    (void)state;
    int count = 0;
    for_each_line(fixture("numbers/score.jsonl"), check_score_line, &count);
    assert_int_equal(count, 200);
}

static void test_ties_go_to_the_first_in_request_order(void **state) {
    (void)state;
    clef_option options[4];
    static const size_t places[] = {3, 2, 0, 1};
    clef_question question = question_of(CLEF_QUESTION_CHOICE, 4, options, places);
    assert_int_equal(clef_answer_decide(&question, (float[]){0.25f, 0.25f, 0.25f, 0.25f}).best, 2);
    assert_int_equal(clef_answer_decide(&question, (float[]){0.4f, 0.1f, 0.1f, 0.4f}).best, 3);
    assert_int_equal(clef_answer_decide(&question, (float[]){0.4f, 0.4f, 0.1f, 0.1f}).best, 1);
    /* Not a tie, though it prints as one. */
    assert_int_equal(clef_answer_decide(&question, (float[]){0.40001f, 0.1f, 0.4f, 0.09999f}).best,
                     0);
}

static void test_logits_that_are_not_finite(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_request *request =
        accept(&arena, CLEF_TEXT("{\"model\":\"m\",\"state\":1,\"questions\":{\"a\":{\"type\":"
                                 "\"noul\"},\"b\":{\"type\":\"choice\",\"criteria\":{\"x\":1,"
                                 "\"y\":2}}}}"));
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        float logits[] = {1, 2, 3, bad[i]}, probabilities[4];
        clef_error error = {0};
        assert_int_equal(clef_answer_probabilities(request, logits, probabilities, &error),
                         CLEF_INTERNAL);
        assert_string_equal(error.message, "question b, option y: the logit is not finite");
    }
    /* The widest finite logits are no trouble. */
    float logits[] = {3.4e38f, -3.4e38f, -3.4e38f, -3.4e38f}, probabilities[4];
    clef_error error = {0};
    assert_ok(clef_answer_probabilities(request, logits, probabilities, &error), &error);
    assert_true(probabilities[0] == 1.0f && probabilities[1] == 0.0f);
    assert_true(probabilities[2] == 0.5f && probabilities[3] == 0.5f);
    clef_arena_release(&arena);
}

/* ---- replies ------------------------------------------------------------------------------- */

static const char example[] =
    "{\"model\":\"cl\\u00e9f/\\u007f\\n\",\"state\":1,\"questions\":{\"t\":{\"type\":\"choice\","
    "\"criteria\":{\"b\":1,\"a\\\"\":2,\"\":3}},\"u\":{\"type\":\"score\",\"criteria\":[{\"z\":"
    "3.50,\"a\":2},null,1e400]},\"o\":{\"type\":\"noul\",\"instructions\":\"?\"}}}";
/* In prompt order: "", a", b; then levels; then true, false. */
static const float example_probabilities[] = {0.25f,   0.125f,  0.625f, 0.5f,
                                              0.0625f, 0.4375f, 0.75f,  0.25f};

static clef_text write_example(const clef_body_style *style, clef_arena *arena, clef_buffer *out) {
    const clef_request *request = accept(arena, CLEF_TEXT(example));
    assert_int_equal(request->option_count, 8);
    clef_buffer_clear(out);
    clef_answer_write_body(request, example_probabilities, 300, style, arena, out);
    assert_false(out->has_failed);
    return clef_buffer_text(out);
}

#define EXAMPLE_HEAD                                                                               \
    "{\"model\":\"cl\xC3\xA9"                                                                      \
    "f/\x7f\\n\",\"answers\":{\"t\":{\"type\":\"choice\","

static void test_body(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    static const char expected[] = EXAMPLE_HEAD
        "\"choice\":\"b\",\"confidence\":0.625,\"probabilities\":{\"b\":0.625,\"a\\\"\":0.125,"
        "\"\":0.25}},\"u\":{\"type\":\"score\",\"score\":0.9375,\"confidence\":0.5,\"legend\":"
        "{\"0\":{\"z\":3.5,\"a\":2},\"1\":null,\"2\":1e400},\"probabilities\":{\"0\":0.5,"
        "\"1\":0.0625,\"2\":0.4375}},\"o\":{\"type\":\"noul\",\"noul\":0.75}},"
        "\"usage\":{\"input_tokens\":300,\"output_tokens\":0}}";
    assert_text(write_example(NULL, &arena, &out), expected);
    assert_text(write_example(&(clef_body_style){0}, &arena, &out), expected);
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void test_body_with_latency_and_truncation(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    clef_prompt prompt = {.state_tokens = 900, .state_tokens_used = 36, .is_truncated = true};
    clef_body_style style = {.has_latency = true, .latency_ms = 269.74};
    const char *end;
    write_example(&style, &arena, &out);
    end = strstr(out.bytes, "\"usage\"");
    assert_string_equal(
        end, "\"usage\":{\"input_tokens\":300,\"output_tokens\":0},\"latency_ms\":269.7}");
    style.truncation = &prompt;
    write_example(&style, &arena, &out);
    end = strstr(out.bytes, "\"usage\"");
    assert_string_equal(end, "\"usage\":{\"input_tokens\":300,\"output_tokens\":0,\"state_tokens\":"
                             "900,\"state_tokens_used\":36},\"latency_ms\":269.7,\"truncated\":"
                             "true}");
    style.has_latency = false;
    prompt.is_truncated = false;
    write_example(&style, &arena, &out);
    end = strstr(out.bytes, "\"usage\"");
    assert_string_equal(end, "\"usage\":{\"input_tokens\":300,\"output_tokens\":0,\"state_tokens\":"
                             "900,\"state_tokens_used\":36},\"truncated\":false}");
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

/* Confidence of choice: (0.625 - 1/3) / (2/3); of score: 1 - (0.0625 + 2·0.4375) / (2/3) < 0. */
static void test_typesafe_confidence(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    write_example(&(clef_body_style){.typesafe_confidence = true}, &arena, &out);
    assert_non_null(strstr(out.bytes, "\"choice\":\"b\",\"confidence\":0.4375,"));
    assert_non_null(strstr(out.bytes, "\"score\":0.9375,\"confidence\":0.0,"));

    const clef_request *request = accept(
        &arena, CLEF_TEXT("{\"model\":\"m\",\"state\":1,\"questions\":{\"one\":{\"type\":"
                          "\"choice\",\"criteria\":{\"x\":1}},\"level\":{\"type\":\"score\","
                          "\"criteria\":[1]},\"even\":{\"type\":\"choice\",\"criteria\":{\"x\":1,"
                          "\"y\":2,\"z\":3}},\"five\":{\"type\":\"score\",\"criteria\":[1,2,3,4,"
                          "5]}}}"));
    /* even: a little below a third each; five: D = 1.2, 1 - (0.125 + 2·0.0625) / 1.2. */
    static const float probabilities[] = {1,       1,      0.33333331f, 0.33333331f, 0.33333331f,
                                          0.0625f, 0.125f, 0.8125f,     0,           0};
    clef_buffer_clear(&out);
    clef_answer_write_body(request, probabilities, 1,
                           &(clef_body_style){.typesafe_confidence = true}, &arena, &out);
    assert_non_null(strstr(out.bytes, "\"choice\":\"x\",\"confidence\":1.0,"));
    assert_non_null(strstr(out.bytes, "\"score\":0.0,\"confidence\":1.0,"));
    assert_non_null(strstr(out.bytes, "\"even\":{\"type\":\"choice\",\"choice\":\"x\","
                                      "\"confidence\":0.0,"));
    assert_non_null(strstr(out.bytes, "\"score\":1.75,\"confidence\":0.7917,"));
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void test_unrounded_numbers_are_the_widened_ones(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    const clef_request *request =
        accept(&arena, CLEF_TEXT("{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{\"type\":"
                                 "\"noul\"}}}"));
    clef_answer_write_body(request, (float[]){0.1f, 0.9f}, 1, &(clef_body_style){.unrounded = true},
                           &arena, &out);
    assert_non_null(strstr(out.bytes, "\"noul\":0.10000000149011612}"));
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

static void test_A01_sums_of_rounded_probabilities(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_request *request =
        accept(&arena, CLEF_TEXT("{\"model\":\"m\",\"state\":1,\"questions\":{\"t\":{\"type\":"
                                 "\"choice\",\"criteria\":{\"g\":1,\"f\":1,\"e\":1,\"d\":1,"
                                 "\"c\":1,\"b\":1,\"a\":1}},\"u\":{\"type\":\"score\","
                                 "\"criteria\":[0,1,2,3,4,5,6,7,8,9]}}}"));
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        float logits[17], probabilities[17];
        for (size_t i = 0; i < 17; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            logits[i] = (float)((double)(seed >> 40) / (1 << 21) - 4.0);
        }
        clef_error error = {0};
        assert_ok(clef_answer_probabilities(request, logits, probabilities, &error), &error);
        for (size_t first = 0; first < 17; first += 7) {
            size_t count = first == 0 ? 7 : 10;
            double sum = 0.0;
            for (size_t i = first; i < first + count; i++) {
                sum += clef_answer_round((double)probabilities[i]);
            }
            assert_true(fabs(1.0 - sum) <= (double)count * 0.00005 + 1e-12);
            first += first == 7 ? 10 : 0;
        }
        /* The choice and the mean come from unrounded values. */
        clef_decision choice = clef_answer_decide(&request->questions[0], probabilities);
        clef_decision score = clef_answer_decide(&request->questions[1], probabilities + 7);
        double mean = 0.0;
        for (size_t i = 0; i < 7; i++) {
            assert_true(probabilities[i] <= probabilities[choice.best]);
        }
        for (size_t i = 0; i < 10; i++) {
            mean += (double)i * (double)probabilities[7 + i];
        }
        assert_true(score.score == mean);
    }
    clef_arena_release(&arena);
}

static void test_raw_answer_and_encoding(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer out = {0};
    const clef_request *request =
        accept(&arena, CLEF_TEXT("{\"model\":\"m\",\"state\":1,\"questions\":{\"c\":{\"type\":"
                                 "\"choice\",\"criteria\":{\"z\":1,\"a\":2}},\"s\":{\"type\":"
                                 "\"score\",\"criteria\":[5]}}}"));
    uint32_t ids[] = {7, 0, 4294967295u};
    clef_span questions[] = {{1, 2}, {9, 9}};
    clef_span options[] = {{3, 4}, {5, 6}, {7, 8}};
    clef_prompt prompt = {.tokens = {ids, 3, 3},
                          .question_spans = questions,
                          .option_spans = options,
                          .state_tokens = 40,
                          .state_tokens_used = 30};
    clef_answer_write_raw(request, &prompt, (float[]){1.5f, -0.1f, 3e-10f},
                          (float[]){0.8320184f, 0.16798161f, 1.0f}, &out);
    assert_text(clef_buffer_text(&out),
                "{\"model\":\"m\",\"input_ids\":[7,0,4294967295],\"questions\":[{\"id\":\"c\","
                "\"type\":\"choice\",\"span\":[1,2],\"options\":[{\"id\":\"a\",\"span\":[3,4],"
                "\"logit\":1.5,\"probability\":0.832018375},{\"id\":\"z\",\"span\":[5,6],"
                "\"logit\":-0.100000001,\"probability\":0.16798161}]},{\"id\":\"s\",\"type\":"
                "\"score\",\"span\":[9,9],\"options\":[{\"id\":\"0\",\"span\":[7,8],\"logit\":"
                "2.99999997e-10,\"probability\":1}]}]}");
    static const char encoding[] =
        "{\"model\":\"m\",\"input_ids\":[7,0,4294967295],\"questions\":[{\"id\":\"c\",\"type\":"
        "\"choice\",\"span\":[1,2],\"options\":[{\"id\":\"a\",\"span\":[3,4]},{\"id\":\"z\","
        "\"span\":[5,6]}]},{\"id\":\"s\",\"type\":\"score\",\"span\":[9,9],\"options\":[{\"id\":"
        "\"0\",\"span\":[7,8]}]}],\"state_tokens\":40";
    char expected[512];
    clef_buffer_clear(&out);
    clef_answer_write_encoding(request, &prompt, &out);
    snprintf(expected, sizeof expected, "%s}", encoding);
    assert_text(clef_buffer_text(&out), expected);
    prompt.is_cut_allowed = true;
    clef_buffer_clear(&out);
    clef_answer_write_encoding(request, &prompt, &out);
    snprintf(expected, sizeof expected, "%s,\"state_tokens_used\":30,\"truncated\":false}",
             encoding);
    assert_text(clef_buffer_text(&out), expected);
    prompt.is_truncated = true;
    clef_buffer_clear(&out);
    clef_answer_write_encoding(request, &prompt, &out);
    assert_non_null(strstr(out.bytes, "\"truncated\":true}"));
    clef_buffer_release(&out);
    clef_arena_release(&arena);
}

/* ---- what the reference answered ----------------------------------------------------------- */

typedef struct answer_tally {
    size_t answers; /* bodies compared */
    size_t turned;  /* bodies in which a fourth decimal turned */
    double worst;   /* largest difference of a probability */
    size_t probability_count;
} answer_tally;

/* Numbers within one unit of the fourth decimal, all else equal. */
static void compare_values(const clef_json *a, const clef_json *b) {
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->count, b->count);
    if (a->type == CLEF_JSON_NUMBER) {
        assert_true(fabs(number(a) - number(b)) < 1.0001e-4);
        return;
    }
    assert_true(clef_text_equals(a->text, b->text));
    const clef_json *other = b->first;
    for (const clef_json *child = a->first; child != NULL; child = child->next) {
        assert_true(clef_text_equals(child->key, other->key));
        compare_values(child, other);
        other = other->next;
    }
}

/* Reads the recorded logits of all questions, in order. */
static void check_answer(clef_text body, const clef_json *questions, size_t input_tokens,
                         clef_text expected, clef_arena *arena, answer_tally *tally) {
    const clef_request *request = accept(arena, body);
    float *logits = clef_arena_allocate(arena, request->option_count, sizeof *logits);
    float *recorded = clef_arena_allocate(arena, request->option_count, sizeof *recorded);
    float *probabilities = clef_arena_allocate(arena, request->option_count, sizeof *recorded);
    size_t count = 0, recorded_count = 0;
    for (const clef_json *q = questions->first; q != NULL; q = q->next) {
        for (const clef_json *v = member(q, "logits")->first; v != NULL; v = v->next) {
            assert_true(count < request->option_count);
            logits[count++] = (float)number(v);
        }
        for (const clef_json *v = member(q, "probabilities")->first; v != NULL; v = v->next) {
            recorded[recorded_count++] = (float)number(v);
        }
    }
    assert_int_equal(count, request->option_count);
    assert_int_equal(recorded_count, count);
    clef_error error = {0};
    assert_ok(clef_answer_probabilities(request, logits, probabilities, &error), &error);
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)probabilities[i] - (double)recorded[i]);
        assert_true(difference <= 1e-6);
        tally->worst = difference > tally->worst ? difference : tally->worst;
    }
    tally->probability_count += count;
    clef_buffer out = {0};
    clef_answer_write_body(request, probabilities, input_tokens, NULL, arena, &out);
    if (!clef_text_equals(clef_buffer_text(&out), expected)) {
        tally->turned++;
        compare_values(parse_json(clef_buffer_text(&out), arena), parse_json(expected, arena));
    }
    tally->answers++;
    clef_buffer_release(&out);
}

static void check_recorded_line(void *context, size_t line_number, clef_text line) {
    (void)line_number;
    clef_arena arena = {0};
    const clef_json *entry = parse_json(line, &arena);
    check_answer(member(entry, "request")->text, member(entry, "questions"),
                 (size_t)number(member(entry, "input_tokens")), member(entry, "response")->text,
                 &arena, context);
    clef_arena_release(&arena);
}

static void test_recorded_answers(void **state) {
    (void)state;
    answer_tally tally = {0};
    for_each_line(fixture("tiny-random/text/requests.jsonl"), check_recorded_line, &tally);
    assert_int_equal(tally.answers, 40);
    print_message("%zu answers, %zu with a turned fourth decimal; %zu probabilities, worst %.3g\n",
                  tally.answers, tally.turned, tally.probability_count, tally.worst);
    assert_true(tally.turned <= 2);
}

/* The fixture keeps the answers alone; around them stand the model and the count of tokens. */
static void check_tiny_line(void *context, size_t line_number, clef_text line) {
    (void)line_number;
    clef_arena arena = {0};
    const clef_json *entry = parse_json(line, &arena);
    if (clef_json_member(entry, "image") == NULL) {
        char name[128];
        clef_text record = member(entry, "name")->text;
        snprintf(name, sizeof name, "clef-tiny/%.*s.json", (int)record.length, record.bytes);
        clef_text body = load_file(fixture(name));
        size_t tokens = member(entry, "token_ids")->count;
        clef_buffer expected = {0};
        clef_buffer_append_string(&expected, "{\"model\":");
        clef_json_write_string(&expected, accept(&arena, body)->model);
        clef_buffer_append_string(&expected, ",\"answers\":");
        clef_json_write(&expected, member(entry, "answers"), false, &arena);
        clef_buffer_append_format(&expected,
                                  ",\"usage\":{\"input_tokens\":%zu,\"output_tokens\":0}}", tokens);
        check_answer(body, member(entry, "questions"), tokens, clef_buffer_text(&expected), &arena,
                     context);
        clef_buffer_release(&expected);
        release_text(body);
    }
    clef_arena_release(&arena);
}

static void test_answers_of_the_tiny_model(void **state) {
    (void)state;
    answer_tally tally = {0};
    for_each_line(fixture("clef-tiny/expected.jsonl"), check_tiny_line, &tally);
    assert_int_equal(tally.answers, 25);
    print_message("%zu answers, %zu with a turned fourth decimal; %zu probabilities, worst %.3g\n",
                  tally.answers, tally.turned, tally.probability_count, tally.worst);
    assert_true(tally.turned <= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_roundings),
        cmocka_unit_test(test_A02_rounding),
        cmocka_unit_test(test_rounding_equals_printing),
        cmocka_unit_test(test_recorded_scores),
        cmocka_unit_test(test_ties_go_to_the_first_in_request_order),
        cmocka_unit_test(test_logits_that_are_not_finite),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_body_with_latency_and_truncation),
        cmocka_unit_test(test_typesafe_confidence),
        cmocka_unit_test(test_unrounded_numbers_are_the_widened_ones),
        cmocka_unit_test(test_A01_sums_of_rounded_probabilities),
        cmocka_unit_test(test_raw_answer_and_encoding),
        cmocka_unit_test(test_recorded_answers),
        cmocka_unit_test(test_answers_of_the_tiny_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
