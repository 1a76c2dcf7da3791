/* The checks of a request, in the order in which the wire contract names their failures, and the
 * lists of options that follow from a request that passed. All checks come before anything is
 * built, so that a body of a million questions costs no more than its own tree. */
#include "decide/record.h"

#include "decide/render.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_QUESTION_LIMIT 64
#define DEFAULT_OPTION_LIMIT   255
#define DEFAULT_LEVEL_LIMIT    255

static const char true_text[] = "The proposition is true or the answer is yes.";
static const char false_text[] = "The proposition is false or the answer is no.";
static const clef_json default_true = {.text = {true_text, sizeof true_text - 1},
                                       .type = CLEF_JSON_STRING};
static const clef_json default_false = {.text = {false_text, sizeof false_text - 1},
                                        .type = CLEF_JSON_STRING};

static const char *const type_names[] = {
    [CLEF_QUESTION_NOUL] = "noul",
    [CLEF_QUESTION_CHOICE] = "choice",
    [CLEF_QUESTION_SCORE] = "score",
};

const char *clef_question_type_name(clef_question_type type) {
    return type_names[type];
}

/* ---- refusals ------------------------------------------------------------------------------ */

static clef_status refuse(clef_error *error, const char *place, const char *message) {
    clef_fail(error, CLEF_BAD_REQUEST, "%s", message);
    clef_error_set_kind(error, "value_error", 0);
    clef_error_set_place(error, "%s", place);
    return CLEF_BAD_REQUEST;
}

/* `field` is the part of the question that is wrong, or NULL for the whole of it. */
static clef_status refuse_question(clef_error *error, clef_text id, const char *field,
                                   const char *message) {
    char name[CLEF_NAME_BYTES];
    clef_render_name(id, name);
    clef_fail(error, CLEF_BAD_REQUEST, "%s: %s", name, message);
    clef_error_set_kind(error, "value_error", 0);
    clef_render_place(id, name);
    if (field == NULL) {
        clef_error_set_place(error, "questions" CLEF_PLACE_SEPARATOR "%s", name);
    } else {
        clef_error_set_place(error, "questions" CLEF_PLACE_SEPARATOR "%s" CLEF_PLACE_SEPARATOR "%s",
                             name, field);
    }
    return CLEF_BAD_REQUEST;
}

/* ---- checks -------------------------------------------------------------------------------- */

static bool is_null(const clef_json *value) {
    return value == NULL || value->type == CLEF_JSON_NULL;
}

static bool is_type(const clef_json *value, clef_json_type type) {
    return value != NULL && value->type == type;
}

/* What the reference's `if not criteria` takes for missing. */
static bool is_empty(const clef_json *value) {
    if (value == NULL) {
        return true;
    }
    switch (value->type) {
    case CLEF_JSON_NULL:
    case CLEF_JSON_FALSE:
        return true;
    case CLEF_JSON_TRUE:
        return false;
    case CLEF_JSON_NUMBER:
        return clef_json_double(value->text) == 0.0;
    case CLEF_JSON_STRING:
        return value->text.length == 0;
    case CLEF_JSON_ARRAY:
    case CLEF_JSON_OBJECT:
        return value->count == 0;
    }
    return true;
}

/* The instructions that stand in the prompt; NULL when the id stands for them. */
static const clef_json *instructions_of(const clef_json *question) {
    const clef_json *value = clef_json_member(question, "instructions");
    bool is_absent = is_null(value) || (value->type == CLEF_JSON_STRING && value->text.length == 0);
    return is_absent ? NULL : value;
}

static bool find_type(const clef_json *question, clef_question_type *type) {
    const clef_json *name = clef_json_member(question, "type");
    if (!is_type(name, CLEF_JSON_STRING)) {
        return false;
    }
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (clef_text_equals(name->text, clef_text_of(type_names[i]))) {
            *type = (clef_question_type)i;
            return true;
        }
    }
    return false;
}

static clef_status check_question(const clef_json *question, clef_error *error) {
    clef_question_type type;
    clef_text id = question->key;
    if (!find_type(question, &type)) {
        return refuse_question(error, id, question->type == CLEF_JSON_OBJECT ? "type" : NULL,
                               "type must be noul, choice, or score");
    }
    const clef_json *criteria = clef_json_member(question, "criteria");
    if (type != CLEF_QUESTION_NOUL && is_empty(criteria)) {
        return refuse_question(error, id, "criteria", "criteria must not be empty");
    }
    if (type == CLEF_QUESTION_CHOICE && criteria->type != CLEF_JSON_OBJECT) {
        return refuse_question(error, id, "criteria",
                               "choice criteria must be a mapping of option id to description");
    }
    if (type == CLEF_QUESTION_SCORE && criteria->type != CLEF_JSON_ARRAY) {
        return refuse_question(error, id, "criteria",
                               "score criteria must be a list of ordered option descriptions");
    }
    if (type == CLEF_QUESTION_NOUL && !is_null(criteria) && criteria->type != CLEF_JSON_OBJECT) {
        return refuse_question(
            error, id, "criteria",
            "noul criteria must be a mapping with optional true and false descriptions");
    }
    /* The head takes the mean over the question's tokens; over none it would be NaN. */
    if (id.length == 0 && instructions_of(question) == NULL) {
        return refuse_question(error, id, "instructions",
                               "instructions must not be empty when the question id is empty");
    }
    return CLEF_OK;
}

static clef_status check_shape(const clef_json *body, clef_error *error) {
    if (body->type != CLEF_JSON_OBJECT) {
        return refuse(error, "", "the request must be a JSON object");
    }
    bool has_model = is_type(clef_json_member(body, "model"), CLEF_JSON_STRING);
    if (!has_model || clef_json_member(body, "state") == NULL) {
        return refuse(error, has_model ? "state" : "model", "model and state are required");
    }
    const clef_json *questions = clef_json_member(body, "questions");
    if (!is_type(questions, CLEF_JSON_OBJECT) || questions->count == 0) {
        return refuse(error, "questions", "at least one question is required");
    }
    for (const clef_json *question = questions->first; question != NULL;
         question = question->next) {
        clef_status status = check_question(question, error);
        if (status != CLEF_OK) {
            return status;
        }
    }
    return CLEF_OK;
}

static clef_status check_count(clef_text id, const char *what, size_t count, size_t limit,
                               clef_error *error) {
    if (count <= limit) {
        return CLEF_OK;
    }
    char name[CLEF_NAME_BYTES];
    clef_render_name(id, name);
    clef_fail(error, CLEF_OVER_LIMIT, "%s: %zu %s, over the limit of %zu", name, count, what,
              limit);
    clef_error_set_kind(error, "over_limit", 0);
    clef_render_place(id, name);
    clef_error_set_place(
        error, "questions" CLEF_PLACE_SEPARATOR "%s" CLEF_PLACE_SEPARATOR "criteria", name);
    return CLEF_OVER_LIMIT;
}

static clef_status check_limits(const clef_json *questions, const clef_request_limits *limits,
                                clef_error *error) {
    if (questions->count > limits->questions) {
        clef_fail(error, CLEF_OVER_LIMIT, "questions: %zu questions, over the limit of %zu",
                  questions->count, limits->questions);
        clef_error_set_kind(error, "over_limit", 0);
        clef_error_set_place(error, "questions");
        return CLEF_OVER_LIMIT;
    }
    clef_status status = CLEF_OK;
    for (const clef_json *question = questions->first; question != NULL && status == CLEF_OK;
         question = question->next) {
        clef_question_type type = CLEF_QUESTION_NOUL;
        find_type(question, &type);
        const clef_json *criteria = clef_json_member(question, "criteria");
        if (type == CLEF_QUESTION_CHOICE) {
            status = check_count(question->key, "options", criteria->count, limits->options, error);
        } else if (type == CLEF_QUESTION_SCORE) {
            status = check_count(question->key, "levels", criteria->count, limits->levels, error);
        }
    }
    return status;
}

/* A list of media; null and empty lists are none. */
static const clef_json *media_list(const clef_json *body, const char *name) {
    const clef_json *list = clef_json_member(body, name);
    return is_type(list, CLEF_JSON_ARRAY) && list->count > 0 ? list : NULL;
}

static clef_status check_media(const clef_json *body, clef_error *error) {
    static const char *const names[] = {"images", "videos"};
    bool has_media = false;
    for (size_t i = 0; i < 2; i++) {
        const clef_json *list = clef_json_member(body, names[i]);
        if (!is_null(list) && list->type != CLEF_JSON_ARRAY) {
            char message[64];
            snprintf(message, sizeof message, "%s must be a list", names[i]);
            return refuse(error, names[i], message);
        }
        has_media = has_media || media_list(body, names[i]) != NULL;
    }
    const clef_json *arguments = clef_json_member(body, "media_kwargs");
    if (has_media && !is_null(arguments) && arguments->type != CLEF_JSON_OBJECT) {
        return refuse(error, "media_kwargs", "media_kwargs must be a mapping");
    }
    return CLEF_OK;
}

/* ---- options ------------------------------------------------------------------------------- */

static const clef_json *described(const clef_json *value) {
    return is_null(value) ? NULL : value;
}

/* What criteria give replaces the default, key by key; a null takes it away. */
static void list_sides(const clef_json *criteria, clef_option *options) {
    const clef_json *given_true = clef_json_member(criteria, "true");
    const clef_json *given_false = clef_json_member(criteria, "false");
    options[0] =
        (clef_option){CLEF_TEXT("true"), given_true == NULL ? &default_true : described(given_true),
                      0, given_true == NULL};
    options[1] = (clef_option){CLEF_TEXT("false"),
                               given_false == NULL ? &default_false : described(given_false), 1,
                               given_false == NULL};
}

static int compare_options(const void *a, const void *b) {
    const clef_option *first = a, *second = b;
    return clef_text_compare(first->id, second->id);
}

/* Sorted by id, so that the order in which a client lists options never changes a number. */
static void list_choices(const clef_json *criteria, clef_option *options) {
    size_t count = 0;
    for (const clef_json *value = criteria->first; value != NULL; value = value->next) {
        options[count] = (clef_option){value->key, described(value), count, false};
        count++;
    }
    qsort(options, count, sizeof *options, compare_options);
}

static bool list_levels(const clef_json *criteria, clef_option *options, clef_arena *arena) {
    size_t count = 0;
    for (const clef_json *value = criteria->first; value != NULL; value = value->next) {
        char digits[24];
        int length = snprintf(digits, sizeof digits, "%zu", count);
        clef_text id = clef_arena_copy(arena, (clef_text){digits, (size_t)length});
        if (id.bytes == NULL) {
            return false;
        }
        options[count] = (clef_option){id, described(value), count, false};
        count++;
    }
    return true;
}

static bool build_question(const clef_json *value, clef_question *question, clef_arena *arena) {
    const clef_json *criteria = clef_json_member(value, "criteria");
    question->id = value->key;
    question->instructions = instructions_of(value);
    find_type(value, &question->type);
    question->option_count = question->type == CLEF_QUESTION_NOUL ? 2 : criteria->count;
    question->options = clef_arena_allocate(arena, question->option_count, sizeof(clef_option));
    if (question->options == NULL) {
        return false;
    }
    switch (question->type) {
    case CLEF_QUESTION_NOUL:
        list_sides(criteria, question->options);
        return true;
    case CLEF_QUESTION_CHOICE:
        list_choices(criteria, question->options);
        return true;
    case CLEF_QUESTION_SCORE:
        return list_levels(criteria, question->options, arena);
    }
    return false;
}

static clef_request *build_request(const clef_json *body, clef_arena *arena) {
    const clef_json *questions = clef_json_member(body, "questions");
    clef_request *request = clef_arena_allocate(arena, 1, sizeof *request);
    if (request == NULL) {
        return NULL;
    }
    request->model = clef_json_member(body, "model")->text;
    request->state = clef_json_member(body, "state");
    request->questions = clef_arena_allocate(arena, questions->count, sizeof(clef_question));
    if (request->questions == NULL) {
        return NULL;
    }
    for (const clef_json *value = questions->first; value != NULL; value = value->next) {
        clef_question *question = &request->questions[request->question_count];
        if (!build_question(value, question, arena)) {
            return NULL;
        }
        request->question_count++;
        request->option_count += question->option_count;
    }
    request->images = media_list(body, "images");
    request->videos = media_list(body, "videos");
    if (request->images != NULL || request->videos != NULL) {
        const clef_json *arguments = clef_json_member(body, "media_kwargs");
        request->media_arguments = is_null(arguments) ? NULL : arguments;
    }
    return request;
}

clef_status clef_request_parse(clef_text body, const clef_request_limits *limits, clef_arena *arena,
                               clef_request **out, clef_error *error) {
    clef_request_limits bounds = limits == NULL ? (clef_request_limits){0} : *limits;
    bounds.questions = bounds.questions == 0 ? DEFAULT_QUESTION_LIMIT : bounds.questions;
    bounds.options = bounds.options == 0 ? DEFAULT_OPTION_LIMIT : bounds.options;
    bounds.levels = bounds.levels == 0 ? DEFAULT_LEVEL_LIMIT : bounds.levels;

    clef_json *value = NULL;
    clef_status status = clef_json_parse(body, arena, &value, error);
    if (status == CLEF_OK) {
        status = check_shape(value, error);
    }
    if (status == CLEF_OK) {
        status = check_limits(clef_json_member(value, "questions"), &bounds, error);
    }
    if (status == CLEF_OK) {
        status = check_media(value, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    *out = build_request(value, arena);
    if (*out == NULL) {
        return clef_fail_memory(error, arena->used_bytes, "the request");
    }
    return CLEF_OK;
}
