/* Which requests are accepted, what becomes of them, and with which words the others are refused.
 */
#include "decide/record.h"
#include "support.h"

#include "base/memory.h"

#include <stdio.h>

#define NOUL "\"type\":\"noul\",\"instructions\":\"Is it broken?\""

/* ---- helpers ------------------------------------------------------------------------------- */

static clef_request *accept(clef_arena *arena, const char *body) {
    clef_request *request = NULL;
    clef_error error = {0};
    assert_ok(clef_request_parse(clef_text_of(body), NULL, arena, &request, &error), &error);
    return request;
}

/* A question in an ordinary request. */
static const char *with_question(const char *id, const char *question) {
    static char body[4096];
    snprintf(body, sizeof body, "{\"model\":\"clef\",\"state\":\"s\",\"questions\":{\"%s\":%s}}",
             id, question);
    return body;
}

static clef_status parse_status(clef_text body, clef_error *error) {
    clef_arena arena = {0};
    clef_request *request = NULL;
    *error = (clef_error){0};
    clef_status status = clef_request_parse(body, NULL, &arena, &request, error);
    clef_arena_release(&arena);
    return status;
}

/* `place` has slashes where the error has U+001F. */
static void assert_refused(const char *body, clef_status status, const char *kind,
                           const char *message, const char *place) {
    clef_error error;
    assert_string_equal(clef_status_name(parse_status(clef_text_of(body), &error)),
                        clef_status_name(status));
    for (char *at = error.place; *at != '\0'; at++) {
        *at = *at == '\x1f' ? '/' : *at;
    }
    assert_string_equal(error.message, message);
    assert_string_equal(error.place, place);
    assert_string_equal(error.kind, kind);
}

static void assert_bad(const char *body, const char *message, const char *place) {
    assert_refused(body, CLEF_BAD_REQUEST, "value_error", message, place);
}

static void assert_text(clef_text text, const char *expected) {
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

static void assert_described(const clef_option *option, const char *id, const char *description) {
    assert_text(option->id, id);
    if (description == NULL) {
        assert_null(option->description);
    } else {
        assert_non_null(option->description);
        assert_text(option->description->text, description);
    }
}

/* ---- the order of checks ------------------------------------------------------------------- */

static void test_body_must_be_an_object(void **state) {
    (void)state;
    assert_bad("[1]", "the request must be a JSON object", "");
    assert_bad("null", "the request must be a JSON object", "");
    assert_bad("\"{}\"", "the request must be a JSON object", "");
}

static void test_model_and_state_come_first(void **state) {
    (void)state;
    static const char message[] = "model and state are required";
    assert_bad("{}", message, "model");
    assert_bad("{\"state\":1,\"questions\":{\"q\":7}}", message, "model");
    assert_bad("{\"model\":1,\"state\":1,\"questions\":{}}", message, "model");
    assert_bad("{\"model\":\"clef\",\"questions\":{}}", message, "state");
    clef_arena arena = {0};
    clef_request *request =
        accept(&arena, "{\"model\":\"\",\"state\":null,\"questions\":{\"q\":{\"type\":\"noul\"}}}");
    assert_text(request->model, "");
    assert_int_equal(request->state->type, CLEF_JSON_NULL);
    clef_arena_release(&arena);
}

static void test_questions_are_needed(void **state) {
    (void)state;
    static const char message[] = "at least one question is required";
    assert_bad("{\"model\":\"m\",\"state\":1}", message, "questions");
    assert_bad("{\"model\":\"m\",\"state\":1,\"questions\":{}}", message, "questions");
    assert_bad("{\"model\":\"m\",\"state\":1,\"questions\":[{" NOUL "}]}", message, "questions");
    assert_bad("{\"model\":\"m\",\"state\":1,\"questions\":null,\"images\":3}", message,
               "questions");
}

static void test_type_is_checked_before_criteria(void **state) {
    (void)state;
    static const char message[] = "q: type must be noul, choice, or score";
    assert_bad(with_question("q", "{\"criteria\":7}"), message, "questions/q/type");
    assert_bad(with_question("q", "{\"type\":\"Noul\"}"), message, "questions/q/type");
    assert_bad(with_question("q", "{\"type\":[\"noul\"]}"), message, "questions/q/type");
    assert_bad(with_question("q", "{\"type\":\"choice\\u0000\"}"), message, "questions/q/type");
    assert_bad(with_question("q", "\"noul\""), message, "questions/q");
    assert_bad(with_question("q", "null"), message, "questions/q");
    /* The first question in order answers, not the first kind of failure. */
    assert_bad("{\"model\":\"m\",\"state\":1,\"questions\":{\"a\":{\"type\":\"score\"},"
               "\"b\":{\"type\":1}}}",
               "a: criteria must not be empty", "questions/a/criteria");
}

static void test_empty_criteria(void **state) {
    (void)state;
    static const char *const empty[] = {"null", "false", "0",  "0.0",    "-0",
                                        "0e9",  "\"\"",  "[]", "1e-400", "{}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        for (size_t score = 0; score < 2; score++) {
            char question[128];
            snprintf(question, sizeof question, "{\"type\":\"%s\",\"criteria\":%s}",
                     score ? "score" : "choice", empty[i]);
            assert_bad(with_question("q", question), "q: criteria must not be empty",
                       "questions/q/criteria");
        }
    }
    assert_bad(with_question("q", "{\"type\":\"choice\"}"), "q: criteria must not be empty",
               "questions/q/criteria");
}

static void test_wrong_criteria(void **state) {
    (void)state;
    static const char *const not_mapping[] = {"true", "1", "\"a\"", "[\"a\"]"};
    static const char *const not_list[] = {"true", "1", "\"a\"", "{\"a\":1}"};
    static const char *const not_noul[] = {"false", "0", "\"\"", "[]", "[\"a\"]"};
    char question[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(question, sizeof question, "{\"type\":\"choice\",\"criteria\":%s}",
                 not_mapping[i]);
        assert_bad(with_question("q", question),
                   "q: choice criteria must be a mapping of option id to description",
                   "questions/q/criteria");
        snprintf(question, sizeof question, "{\"type\":\"score\",\"criteria\":%s}", not_list[i]);
        assert_bad(with_question("q", question),
                   "q: score criteria must be a list of ordered option descriptions",
                   "questions/q/criteria");
    }
    for (size_t i = 0; i < 5; i++) {
        snprintf(question, sizeof question, "{\"type\":\"noul\",\"criteria\":%s}", not_noul[i]);
        assert_bad(with_question("q", question),
                   "q: noul criteria must be a mapping with optional true and false descriptions",
                   "questions/q/criteria");
    }
}

static void test_limits_come_after_all_questions(void **state) {
    (void)state;
    /* 65 questions, the last of them wrong: the wrong one answers. */
    clef_buffer body = {0};
    clef_buffer_append_string(&body, "{\"model\":\"m\",\"state\":1,\"images\":1,\"questions\":{");
    for (int i = 0; i < 64; i++) {
        clef_buffer_append_format(&body, "\"%d\":{" NOUL "},", i);
    }
    size_t length = body.length;
    clef_buffer_append_string(&body, "\"last\":{\"type\":\"score\"}}}");
    assert_bad(body.bytes, "last: criteria must not be empty", "questions/last/criteria");
    body.length = length;
    clef_buffer_append_string(&body, "\"last\":{" NOUL "}}}");
    assert_refused(body.bytes, CLEF_OVER_LIMIT, "over_limit",
                   "questions: 65 questions, over the limit of 64", "questions");
    clef_buffer_release(&body);
}

static void test_media(void **state) {
    (void)state;
    static const char head[] = "{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{" NOUL "}},";
    char body[512];
    clef_arena arena = {0};
    snprintf(body, sizeof body, "%s\"images\":[],\"videos\":null,\"media_kwargs\":7}", head);
    accept(&arena, body);
    clef_arena_release(&arena);
    snprintf(body, sizeof body, "%s\"images\":\"x\"}", head);
    assert_bad(body, "images must be a list", "images");
    snprintf(body, sizeof body, "%s\"images\":[\"x\"],\"videos\":{}}", head);
    assert_bad(body, "videos must be a list", "videos");
    snprintf(body, sizeof body, "%s\"images\":false}", head);
    assert_bad(body, "images must be a list", "images");
    snprintf(body, sizeof body, "%s\"videos\":[[\"x\"]],\"media_kwargs\":[]}", head);
    assert_bad(body, "media_kwargs must be a mapping", "media_kwargs");
    snprintf(body, sizeof body, "%s\"images\":[\"x\"],\"videos\":[[]]}", head);
    accept(&arena, body);
    clef_arena_release(&arena);
}

/* Bodies that the reference refuses, with its words where ours are not another decision. */
static void check_refused_line(void *context, size_t number, clef_text line) {
    static const struct {
        const char *name, *message;
    } ours[] = {
        {"choice-list", "q: choice criteria must be a mapping of option id to description"},
        {"score-object", "q: score criteria must be a list of ordered option descriptions"},
        {"noul-list",
         "q: noul criteria must be a mapping with optional true and false descriptions"},
        {"empty-id-no-instructions",
         ": instructions must not be empty when the question id is empty"},
    };
    (void)number;
    clef_arena arena = {0};
    const clef_json *value = parse_json(line, &arena);
    clef_text name = member(value, "name")->text;
    if (clef_json_member(value, "max_length") == NULL) { /* that one is about tokens */
        const clef_json *expected = clef_json_member(member(value, "reference"), "message");
        clef_text message = expected == NULL ? (clef_text){0} : expected->text;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
            if (clef_text_equals(name, clef_text_of(ours[i].name))) {
                message = clef_text_of(ours[i].message);
            }
        }
        clef_error error;
        clef_status status = parse_status(member(value, "request")->text, &error);
        assert_int_equal(status, CLEF_BAD_REQUEST);
        if (clef_text_equals(name, CLEF_TEXT("lone-surrogate"))) {
            assert_string_equal(error.kind, "json_invalid");
        } else {
            assert_text(message, error.message);
        }
        ++*(int *)context;
    }
    clef_arena_release(&arena);
}

static void test_bodies_the_reference_refuses(void **state) {
    (void)state;
    int count = 0;
    for_each_line(fixture("tiny-random/text/refused.jsonl"), check_refused_line, &count);
    assert_int_equal(count, 16);
}

/* ---- faults -------------------------------------------------------------------------------- */

static void test_A05_last_value_at_first_place(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_request *request =
        accept(&arena, "{\"model\":\"m\",\"state\":{\"a\":1,\"b\":2,\"a\":3},\"questions\":{"
                       "\"q\":{\"type\":\"noul\"},\"r\":{\"type\":\"noul\"},"
                       "\"q\":{\"type\":\"choice\",\"criteria\":{\"y\":\"1\",\"x\":\"2\","
                       "\"y\":\"3\"}}}}");
    assert_int_equal(request->question_count, 2);
    assert_int_equal(request->option_count, 4);
    const clef_question *question = &request->questions[0];
    assert_text(question->id, "q");
    assert_int_equal(question->type, CLEF_QUESTION_CHOICE);
    assert_int_equal(question->option_count, 2);
    assert_described(&question->options[0], "x", "2");
    assert_described(&question->options[1], "y", "3");
    assert_int_equal(question->options[0].request_index, 1);
    assert_int_equal(question->options[1].request_index, 0);
    assert_text(request->questions[1].id, "r");
    assert_int_equal(request->state->count, 2);
    assert_text(request->state->first->text, "3");
    clef_arena_release(&arena);
}

static void test_A06_empty_id_without_instructions(void **state) {
    (void)state;
    static const char *const absent[] = {"", ",\"instructions\":null", ",\"instructions\":\"\""};
    static const char *const given[] = {"\" \"", "0", "false", "[]", "{}", "\"?\""};
    char question[128];
    for (size_t i = 0; i < 3; i++) {
        snprintf(question, sizeof question, "{\"type\":\"noul\"%s}", absent[i]);
        assert_bad(with_question("", question),
                   ": instructions must not be empty when the question id is empty",
                   "questions//instructions");
        clef_arena arena = {0};
        assert_null(accept(&arena, with_question("id", question))->questions[0].instructions);
        clef_arena_release(&arena);
    }
    for (size_t i = 0; i < 6; i++) {
        snprintf(question, sizeof question, "{\"type\":\"noul\",\"instructions\":%s}", given[i]);
        clef_arena arena = {0};
        assert_non_null(accept(&arena, with_question("", question))->questions[0].instructions);
        clef_arena_release(&arena);
    }
}

static void test_A07_noul_criteria(void **state) {
    (void)state;
    static const char yes[] = "The proposition is true or the answer is yes.";
    static const char no[] = "The proposition is false or the answer is no.";
    static const struct {
        const char *criteria, *on_true, *on_false;
    } cases[] = {
        {"null", yes, no},
        {"{}", yes, no},
        {"{\"true\":null,\"other\":\"x\"}", NULL, no},
        {"{\"true\":\"x\"}", "x", no},
        {"{\"false\":\"\",\"True\":\"y\"}", yes, ""},
        {"{\"false\":null,\"true\":null}", NULL, NULL},
        {"{\"false\":\"n\",\"maybe\":1,\"true\":\"y\"}", "y", "n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char question[160];
        snprintf(question, sizeof question, "{\"type\":\"noul\",\"criteria\":%s}",
                 cases[i].criteria);
        clef_arena arena = {0};
        const clef_question *noul = accept(&arena, with_question("q", question))->questions;
        assert_int_equal(noul->option_count, 2);
        assert_described(&noul->options[0], "true", cases[i].on_true);
        assert_described(&noul->options[1], "false", cases[i].on_false);
        assert_int_equal(noul->options[0].request_index, 0);
        assert_int_equal(noul->options[1].request_index, 1);
        clef_arena_release(&arena);
    }
}

/* A request whose question "q" has `count` options or levels. */
static void write_options(clef_buffer *body, bool is_score, size_t count) {
    clef_buffer_append_format(
        body, "{\"model\":\"m\",\"state\":1,\"questions\":{\"q\":{\"type\":\"%s\",\"criteria\":%c",
        is_score ? "score" : "choice", is_score ? '[' : '{');
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_format(body, is_score ? "%s\"%zu\"" : "%s\"%zu\":null", i ? "," : "", i);
    }
    clef_buffer_append_format(body, "%c}}}", is_score ? ']' : '}');
}

static void test_A09_counts_of_options_and_levels(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 255, 256};
    for (int is_score = 0; is_score < 2; is_score++) {
        for (size_t i = 0; i < 4; i++) {
            clef_buffer body = {0};
            write_options(&body, is_score != 0, counts[i]);
            if (counts[i] == 256) {
                assert_refused(body.bytes, CLEF_OVER_LIMIT, "over_limit",
                               is_score ? "q: 256 levels, over the limit of 255"
                                        : "q: 256 options, over the limit of 255",
                               "questions/q/criteria");
            } else {
                clef_arena arena = {0};
                assert_int_equal(accept(&arena, body.bytes)->option_count, counts[i]);
                clef_arena_release(&arena);
            }
            clef_buffer_release(&body);
        }
    }
}

static void test_A09_limits_can_be_set(void **state) {
    (void)state;
    for (int is_score = 0; is_score < 2; is_score++) {
        clef_buffer body = {0};
        write_options(&body, is_score != 0, 256);
        clef_request_limits limits = {0};
        clef_arena arena = {0};
        clef_request *request;
        clef_error error = {0};
        *(is_score ? &limits.levels : &limits.options) = 256;
        assert_ok(clef_request_parse(clef_buffer_text(&body), &limits, &arena, &request, &error),
                  &error);
        *(is_score ? &limits.levels : &limits.options) = 3;
        assert_int_equal(
            clef_request_parse(clef_buffer_text(&body), &limits, &arena, &request, &error),
            CLEF_OVER_LIMIT);
        assert_non_null(strstr(error.message, "over the limit of 3"));
        clef_arena_release(&arena);
        clef_buffer_release(&body);
    }
}

static void test_A09_counts_of_questions(void **state) {
    (void)state;
    static const size_t counts[] = {1, 64, 65};
    for (size_t i = 0; i < 3; i++) {
        clef_buffer body = {0};
        clef_buffer_append_string(&body, "{\"model\":\"m\",\"state\":1,\"questions\":{");
        for (size_t j = 0; j < counts[i]; j++) {
            clef_buffer_append_format(&body, "%s\"q%zu\":{" NOUL "}", j ? "," : "", j);
        }
        clef_buffer_append_string(&body, "}}");
        clef_error error;
        clef_status status = parse_status(clef_buffer_text(&body), &error);
        assert_int_equal(status, counts[i] == 65 ? CLEF_OVER_LIMIT : CLEF_OK);
        clef_buffer_release(&body);
    }
}

static void test_A09_any_id_is_allowed(void **state) {
    (void)state;
    char id[1001];
    memset(id, 'x', sizeof id - 1);
    id[1000] = '\0';
    clef_arena arena = {0};
    const clef_request *request = accept(&arena, with_question(id, "{" NOUL "}"));
    assert_int_equal(request->questions[0].id.length, 1000);
    request = accept(&arena, with_question("a b\\n\\u0000c", "{" NOUL "}"));
    assert_int_equal(request->questions[0].id.length, 6);
    clef_arena_release(&arena);
}

static void test_long_and_odd_ids_keep_a_message_on_one_line(void **state) {
    (void)state;
    assert_bad(with_question("a\\nb\\u0000\\u001f\\u0085\\u2028\\u007f\\\"\\\\", "1"),
               "a\\u000ab\\u0000\\u001f\\u0085\\u2028\\u007f\"\\: type must be noul, choice, or "
               "score",
               "questions/a\\u000ab\\u0000\\u001f\\u0085\\u2028\\u007f\"\\");
    /* 99 letters and a character of two bytes: the border is that of a character. */
    char id[128], message[256];
    memset(id, 'x', 99);
    strcpy(id + 99, "\xC3\xA9tail");
    snprintf(message, sizeof message, "%.99s\xE2\x80\xA6: type must be noul, choice, or score", id);
    clef_error error;
    assert_int_equal(parse_status(clef_text_of(with_question(id, "1")), &error), CLEF_BAD_REQUEST);
    assert_string_equal(error.message, message);
    /* Exactly 100 bytes are shown whole. */
    strcpy(id + 98, "\xC3\xA9");
    snprintf(message, sizeof message, "%s: type must be noul, choice, or score", id);
    assert_int_equal(parse_status(clef_text_of(with_question(id, "1")), &error), CLEF_BAD_REQUEST);
    assert_string_equal(error.message, message);
}

static void test_A11_deep_nesting(void **state) {
    (void)state;
    static const size_t depths[] = {300, 10000, 1000000};
    static const char *const heads[] = {"{\"x\":", "{\"model\":\"m\",\"state\":"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 4; j++) {
            bool is_closed = j % 2 == 0;
            clef_buffer body = {0};
            clef_buffer_append_string(&body, heads[j / 2]);
            for (size_t k = 0; k < depths[i]; k++) {
                clef_buffer_append_byte(&body, '[');
            }
            for (size_t k = 0; is_closed && k < depths[i]; k++) {
                clef_buffer_append_byte(&body, ']');
            }
            clef_buffer_append_string(&body, is_closed ? "}" : "");
            clef_error error;
            assert_int_equal(parse_status(clef_buffer_text(&body), &error), CLEF_BAD_REQUEST);
            assert_string_equal(error.kind, "json_invalid");
            assert_non_null(strstr(error.message, "256"));
            clef_buffer_release(&body);
            assert_int_equal(parse_status(clef_text_of(with_question("q", "{" NOUL "}")), &error),
                             CLEF_OK);
        }
    }
}

static void test_B07_surrogates_and_bad_bytes(void **state) {
    (void)state;
    static const char *const surrogates[] = {"\\ud83d", "\\udc00\\ud83d"};
    static const char *const bytes[] = {"\xC0\x80", "\xF5\x80\x80\x80", "\xED\xA0\x80", "\xE2\x82"};
    clef_error error;
    char body[256];
    for (size_t i = 0; i < 2; i++) {
        snprintf(body, sizeof body,
                 "{\"model\":\"m\",\"state\":\"%s\",\"questions\":{\"q\":{" NOUL "}}}",
                 surrogates[i]);
        assert_int_equal(parse_status(clef_text_of(body), &error), CLEF_BAD_REQUEST);
        assert_string_equal(error.kind, "json_invalid");
        assert_int_equal(clef_status_http(CLEF_BAD_REQUEST), 422);
    }
    for (size_t i = 0; i < 4; i++) {
        snprintf(body, sizeof body,
                 "{\"model\":\"m\",\"state\":\"%s\",\"questions\":{\"q\":{" NOUL "}}}", bytes[i]);
        assert_int_equal(parse_status(clef_text_of(body), &error), CLEF_BAD_TEXT);
        assert_int_equal(clef_status_http(CLEF_BAD_TEXT), 400);
    }
    clef_buffer marked = {0};
    clef_buffer_append_string(&marked, "\xEF\xBB\xBF");
    clef_buffer_append_string(&marked, with_question("q", "{" NOUL "}"));
    assert_int_equal(parse_status(clef_buffer_text(&marked), &error), CLEF_OK);
    clef_buffer_release(&marked);
}

/* ---- the edge table ------------------------------------------------------------------------ */

static void test_ids_differing_in_normalisation_form_are_two(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_question *question =
        accept(&arena, with_question("q", "{\"type\":\"choice\",\"criteria\":{\"\\u00e9\":null,"
                                          "\"e\\u0301\":null,\"\":\"same\",\"z\":\"same\"}}"))
            ->questions;
    assert_int_equal(question->option_count, 4);
    assert_described(&question->options[0], "", "same");
    assert_described(&question->options[1], "e\xCC\x81", NULL);
    assert_described(&question->options[2], "z", "same");
    assert_described(&question->options[3], "\xC3\xA9", NULL);
    clef_arena_release(&arena);
}

static void test_options_are_sorted_by_code_point(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_question *question =
        accept(&arena,
               with_question("q", "{\"type\":\"choice\",\"criteria\":{\"\\ud83d\\ude00\":1,"
                                  "\"\\uffff\":2,\"b\":3,\"B\":4,\"10\":5,\"9\":6,\"\":7}}"))
            ->questions;
    static const char *const order[] = {
        "", "10", "9", "B", "b", "\xEF\xBF\xBF", "\xF0\x9F\x98\x80"};
    static const size_t places[] = {6, 4, 5, 3, 2, 1, 0};
    for (size_t i = 0; i < 7; i++) {
        assert_text(question->options[i].id, order[i]);
        assert_int_equal(question->options[i].request_index, places[i]);
    }
    clef_arena_release(&arena);
}

static void test_levels_are_numbered(void **state) {
    (void)state;
    clef_arena arena = {0};
    clef_buffer body = {0};
    write_options(&body, true, 12);
    const clef_question *question = accept(&arena, body.bytes)->questions;
    assert_described(&question->options[0], "0", "0");
    assert_described(&question->options[11], "11", "11");
    assert_int_equal(question->options[11].request_index, 11);
    question =
        accept(&arena, with_question("q", "{\"type\":\"score\",\"criteria\":[null,1]}"))->questions;
    assert_null(question->options[0].description);
    clef_buffer_release(&body);
    clef_arena_release(&arena);
}

static void test_unknown_fields_are_ignored(void **state) {
    (void)state;
    clef_arena arena = {0};
    const clef_request *request =
        accept(&arena, "{\"id\":[1],\"temperature\":0,\"model\":\"m\",\"state\":{},\"questions\":"
                       "{\"q\":{" NOUL ",\"weight\":3}},\"images\":null}");
    assert_int_equal(request->question_count, 1);
    assert_text(request->questions[0].instructions->text, "Is it broken?");
    clef_arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body_must_be_an_object),
        cmocka_unit_test(test_model_and_state_come_first),
        cmocka_unit_test(test_questions_are_needed),
        cmocka_unit_test(test_type_is_checked_before_criteria),
        cmocka_unit_test(test_empty_criteria),
        cmocka_unit_test(test_wrong_criteria),
        cmocka_unit_test(test_limits_come_after_all_questions),
        cmocka_unit_test(test_media),
        cmocka_unit_test(test_bodies_the_reference_refuses),
        cmocka_unit_test(test_A05_last_value_at_first_place),
        cmocka_unit_test(test_A06_empty_id_without_instructions),
        cmocka_unit_test(test_A07_noul_criteria),
        cmocka_unit_test(test_A09_counts_of_options_and_levels),
        cmocka_unit_test(test_A09_limits_can_be_set),
        cmocka_unit_test(test_A09_counts_of_questions),
        cmocka_unit_test(test_A09_any_id_is_allowed),
        cmocka_unit_test(test_long_and_odd_ids_keep_a_message_on_one_line),
        cmocka_unit_test(test_A11_deep_nesting),
        cmocka_unit_test(test_B07_surrogates_and_bad_bytes),
        cmocka_unit_test(test_ids_differing_in_normalisation_form_are_two),
        cmocka_unit_test(test_options_are_sorted_by_code_point),
        cmocka_unit_test(test_levels_are_numbered),
        cmocka_unit_test(test_unknown_fields_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
