/* Whole requests against the recorded reference: ids and spans equal, logits and probabilities near
 * the float64 values, response bodies equal in content, key order and digits. */
#include "support.h"

#include "base/base64.h"
#include "base/memory.h"
#include "engine/handles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LOGIT_TOLERANCE       1.5e-4
#define PROBABILITY_TOLERANCE 2e-5

typedef struct parity {
    clef_runtime *runtime;
    clef_model *model;
    clef_session *session;
    size_t requests, exchanged, options, turned_digits;
    double worst_logit, worst_probability;
    char worst_name[64];
} parity;

static void open_parity(parity *p, const char *directory) {
    clef_error error = {0};
    *p = (parity){0};
    assert_ok(clef_runtime_create(NULL, &p->runtime, &error), &error);
    assert_ok(clef_model_open(p->runtime, directory, NULL, &p->model, &error), &error);
    assert_ok(clef_session_create(p->model, NULL, &p->session, &error), &error);
}

static void close_parity(parity *p, const char *what) {
    printf("%s: %zu requests (%zu with pictures as the reference sees them), %zu options; worst "
           "logit %.3g (%s), "
           "worst probability %.3g, %zu fourth decimals turned\n",
           what, p->requests, p->exchanged, p->options, p->worst_logit, p->worst_name,
           p->worst_probability, p->turned_digits);
    clef_session_close(p->session);
    clef_model_close(p->model);
    clef_runtime_close(p->runtime);
}

static double number(const clef_json *value) {
    assert_int_equal(value->type, CLEF_JSON_NUMBER);
    return clef_json_double(value->text);
}

static const clef_json *at(const clef_json *array, size_t index) {
    const clef_json *child = array->first;
    while (index-- > 0) {
        child = child->next;
    }
    return child;
}

static void compare_span(const clef_json *expected, clef_range span) {
    assert_int_equal((long)number(at(expected, 0)), (long)span.begin);
    assert_int_equal((long)number(at(expected, 1)), (long)span.end);
}

static void compare_encoding(const clef_json *line, const clef_record *record) {
    const clef_json *ids = member(line, "token_ids");
    assert_int_equal(ids->count, record->task.token_count);
    const clef_json *id = ids->first;
    for (size_t i = 0; i < ids->count; i++, id = id->next) {
        assert_int_equal((long)number(id), (long)record->task.tokens[i]);
    }
    const clef_json *questions = member(line, "questions");
    assert_int_equal(questions->count, record->task.question_count);
    size_t option = 0;
    const clef_json *question = questions->first;
    for (size_t q = 0; q < questions->count; q++, question = question->next) {
        compare_span(member(question, "question_span"), record->task.question_spans[q]);
        const clef_json *spans = member(question, "option_spans");
        assert_int_equal(spans->count, record->task.option_counts[q]);
        for (size_t k = 0; k < spans->count; k++, option++) {
            compare_span(at(spans, k), record->task.option_spans[option]);
            assert_true(clef_text_equals(at(member(question, "option_ids"), k)->text,
                                         record->request->questions[q].options[k].id));
        }
    }
}

static void note_difference(parity *p, const char *name, double logit, double probability) {
    if (logit > p->worst_logit) {
        p->worst_logit = logit;
        snprintf(p->worst_name, sizeof p->worst_name, "%s", name);
    }
    p->worst_probability = fmax(p->worst_probability, probability);
    if (!(logit <= LOGIT_TOLERANCE) || !(probability <= PROBABILITY_TOLERANCE)) {
        fail_msg("%s: logit off by %g, probability by %g", name, logit, probability);
    }
}

/* The float64 logits where recorded, else the reference's fp32. */
static void compare_numbers(parity *p, const char *name, const clef_json *line,
                            const clef_answer *answer) {
    size_t option = 0;
    const clef_json *question = member(line, "questions")->first;
    for (; question != NULL; question = question->next) {
        const clef_json *logits = clef_json_member(question, "logits_float64");
        logits = logits == NULL ? member(question, "logits") : logits;
        double highest = -INFINITY, sum = 0;
        for (size_t k = 0; k < logits->count; k++) {
            highest = fmax(highest, number(at(logits, k)));
        }
        for (size_t k = 0; k < logits->count; k++) {
            sum += exp(number(at(logits, k)) - highest);
        }
        for (size_t k = 0; k < logits->count; k++, option++) {
            double logit = number(at(logits, k));
            note_difference(p, name, fabs(logit - answer->logits[option]),
                            fabs(exp(logit - highest) / sum - answer->probabilities[option]));
        }
        p->options += logits->count;
    }
}

/* Equal texts, but that a number may differ by one in the fourth decimal. */
static void compare_bodies(parity *p, const char *name, const char *expected, const char *found) {
    const char *e = expected, *f = found;
    while (*e != '\0' && *f != '\0') {
        bool starts_number = (*e >= '0' && *e <= '9') && (*f >= '0' && *f <= '9');
        if (!starts_number) {
            if (*e != *f) {
                fail_msg("%s: body differs at \"%.40s\" (expected \"%.40s\")", name, f, e);
            }
            e++;
            f++;
            continue;
        }
        char *e_end, *f_end;
        double difference = strtod(e, &e_end) - strtod(f, &f_end);
        bool is_same = e_end - e == f_end - f && memcmp(e, f, (size_t)(e_end - e)) == 0;
        if (!is_same && fabs(difference) > 1.0001e-4) {
            fail_msg("%s: number %.20s, expected %.20s", name, f, e);
        }
        p->turned_digits += !is_same;
        e = e_end;
        f = f_end;
    }
    assert_int_equal(*e, '\0');
    assert_int_equal(*f, '\0');
}

static void run_request(parity *p, const char *name, const clef_json *line, clef_text request,
                        const char *expected_body) {
    clef_error error = {0};
    clef_record_options options = {.control_tokens = CLEF_CONTROL_TOKENS_PARSE,
                                   .exif = CLEF_EXIF_IGNORE};
    const clef_json *length = clef_json_member(line, "max_length");
    if (length != NULL) {
        options.token_limit = (uint32_t)number(length);
        options.truncate = true;
    }
    clef_record *record;
    assert_ok(
        clef_record_encode(p->model, request.bytes, request.length, &options, &record, &error),
        &error);
    compare_encoding(line, record);
    /* The reference cuts silently; its body has no marks of it. */
    record->prompt.is_cut_allowed = false;
    clef_answer *answer;
    assert_ok(clef_session_decide(p->session, record, &answer, &error), &error);
    compare_numbers(p, name, line, answer);
    char *body;
    size_t bytes;
    assert_ok(clef_answer_json(answer, NULL, &body, &bytes, &error), &error);
    compare_bodies(p, name, expected_body, body);
    clef_text_free(body);
    clef_answer_close(answer);
    clef_record_close(record);
    p->requests++;
}

static void run_random_line(void *context, size_t number_of_line, clef_text text) {
    (void)number_of_line;
    clef_arena arena = {0};
    const clef_json *line = parse_json(text, &arena);
    clef_text name = clef_arena_copy(&arena, member(line, "name")->text);
    clef_text response = clef_arena_copy(&arena, member(line, "response")->text);
    run_request(context, name.bytes, line, member(line, "request")->text, response.bytes);
    clef_arena_release(&arena);
}

static void random_model_equals_reference(void **state) {
    (void)state;
    parity p;
    char directory[512];
    snprintf(directory, sizeof directory, "%s", fixture("tiny-random/release"));
    open_parity(&p, directory);
    for_each_line(fixture("tiny-random/text/requests.jsonl"), run_random_line, &p);
    assert_int_equal(p.requests, 40);
    close_parity(&p, "tiny-random");
}

/* Appends `request` with the picture file `name` exchanged for another; as it is when it does not
 * hold that picture. */
static void exchange_picture(clef_text request, const char *name, const char *seen,
                             clef_buffer *changed) {
    clef_buffer old = {0};
    clef_text file = load_file(fixture(name));
    clef_base64_append(&old, file.bytes, file.length);
    release_text(file);
    const char *at = memmem(request.bytes, request.length, old.bytes, old.length);
    size_t before = at == NULL ? request.length : (size_t)(at - request.bytes);
    clef_buffer_append(changed, request.bytes, before);
    if (at != NULL) {
        file = load_file(fixture(seen));
        clef_base64_append(changed, file.bytes, file.length);
        release_text(file);
        clef_buffer_append(changed, at + old.length, request.length - before - old.length);
    }
    clef_buffer_release(&old);
}

/* Two pictures are read otherwise on purpose: a GIF is refused, and 16 bits of grey are scaled
 * instead of clipped. As files that hold what the reference sees, even their requests are equal. */
static void run_media_line(void *context, size_t number_of_line, clef_text text) {
    (void)number_of_line;
    parity *p = context;
    clef_arena arena = {0};
    const clef_json *line = parse_json(text, &arena);
    clef_text name = clef_arena_copy(&arena, member(line, "name")->text);
    clef_text response = clef_arena_copy(&arena, member(line, "response")->text);
    clef_text request = member(line, "request")->text;
    clef_buffer without_gif = {0}, as_seen = {0};
    exchange_picture(request, "tiny-random/media/images/palette-33x47.gif",
                     "media/as-seen/palette-33x47.gif.png", &without_gif);
    exchange_picture(clef_buffer_text(&without_gif), "tiny-random/media/images/grey16-60x75.png",
                     "media/as-seen/grey16-60x75.png.png", &as_seen);
    p->exchanged += !clef_text_equals(clef_buffer_text(&as_seen), request);
    run_request(p, name.bytes, line, clef_buffer_text(&as_seen), response.bytes);
    clef_buffer_release(&without_gif);
    clef_buffer_release(&as_seen);
    clef_arena_release(&arena);
}

static void pictures_and_videos_equal_reference(void **state) {
    (void)state;
    parity p;
    char directory[512];
    snprintf(directory, sizeof directory, "%s", fixture("tiny-random/release"));
    open_parity(&p, directory);
    for_each_line(fixture("tiny-random/media/requests.jsonl"), run_media_line, &p);
    assert_int_equal(p.requests, 8);
    assert_int_equal(p.exchanged, 2);
    close_parity(&p, "tiny-random with media");
}

/* Writes the body that answers, usage and model make: the recorded line keeps only the answers. */
static void run_tiny_line(void *context, size_t number_of_line, clef_text text) {
    (void)number_of_line;
    parity *p = context;
    clef_arena arena = {0};
    const clef_json *line = parse_json(text, &arena);
    clef_text name = clef_arena_copy(&arena, member(line, "name")->text);
    char path[128];
    snprintf(path, sizeof path, "clef-tiny/%s.json", name.bytes);
    clef_text request = load_file(fixture(path));
    clef_buffer body = {0};
    clef_buffer_append_string(&body, "{\"model\":");
    const clef_json *model = member(parse_json(request, &arena), "model");
    clef_json_write(&body, model, false, &arena);
    clef_buffer_append_string(&body, ",\"answers\":");
    clef_json_write(&body, member(line, "answers"), false, &arena);
    clef_buffer_append_format(&body, ",\"usage\":{\"input_tokens\":%zu,\"output_tokens\":0}}",
                              member(line, "token_ids")->count);
    run_request(p, name.bytes, line, request, body.bytes);
    clef_buffer_release(&body);
    release_text(request);
    clef_arena_release(&arena);
}

static void trained_model_equals_reference(void **state) {
    (void)state;
    parity p;
    open_parity(&p, CLEF_MODELS "/clef-tiny");
    for_each_line(fixture("clef-tiny/expected.jsonl"), run_tiny_line, &p);
    assert_int_equal(p.requests, 31);
    close_parity(&p, "clef-tiny");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_model_equals_reference),
        cmocka_unit_test(pictures_and_videos_equal_reference),
        cmocka_unit_test(trained_model_equals_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
