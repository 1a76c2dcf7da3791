/* Two steps: each question option is cut into id, instructions and options (texts in an arena),
 * then all is written as JSON. A backslash before one of = ; : , \ takes it literally. */
#include "cli/request_builder.h"

#include "base/arena.h"
#include "base/json.h"
#include "cli/input.h"
#include "cli/request_media.h"

#include <stdio.h>

/* The characters that have a meaning and can be escaped. */
#define MARKS "=;:,\\"

typedef struct short_option {
    clef_text id;
    clef_text description; /* bytes NULL: none */
} short_option;

typedef struct short_question {
    clef_question_form form;
    clef_text id;
    clef_text instructions; /* bytes NULL: none */
    short_option *options;  /* choices and levels, [option_count] */
    size_t option_count;
} short_question;

static const char *const form_names[] = {"noul", "choice", "score"};

/* Place of the first character of `wanted` that is not escaped; the length when there is none. */
static size_t find_mark(clef_text text, const char *wanted) {
    for (size_t i = 0; i < text.length; i += 1) {
        if (text.bytes[i] == '\\' && i + 1 < text.length &&
            strchr(MARKS, text.bytes[i + 1]) != NULL) {
            i += 1;
        } else if (strchr(wanted, text.bytes[i]) != NULL) {
            return i;
        }
    }
    return text.length;
}

static clef_text cut_front(clef_text text, size_t length) {
    return (clef_text){text.bytes + length, text.length - length};
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static clef_text trim_blanks(clef_text text) {
    while (text.length > 0 && is_blank(text.bytes[0])) {
        text = cut_front(text, 1);
    }
    while (text.length > 0 && is_blank(text.bytes[text.length - 1])) {
        text.length -= 1;
    }
    return text;
}

/* The text without blanks at its ends and without escapes, in the arena. */
static clef_status copy_literal(clef_text text, clef_arena *arena, clef_text *copy,
                                clef_error *error) {
    text = trim_blanks(text);
    char *bytes = clef_arena_allocate(arena, text.length + 1, 1);
    if (bytes == NULL) {
        return clef_fail_memory(error, text.length + 1, "a question");
    }
    size_t length = 0;
    for (size_t i = 0; i < text.length; i += 1) {
        if (text.bytes[i] == '\\' && i + 1 < text.length &&
            strchr(MARKS, text.bytes[i + 1]) != NULL) {
            i += 1;
        }
        bytes[length++] = text.bytes[i];
    }
    *copy = (clef_text){bytes, length};
    return CLEF_OK;
}

/* Takes "ID=" off the front of *text, or makes an id from the number of the question. */
static clef_status take_id(clef_text *text, size_t number, clef_question_form form,
                           clef_arena *arena, clef_text *id, clef_error *error) {
    size_t mark = find_mark(*text, MARKS " \t\r\n");
    if (mark == text->length || text->bytes[mark] != '=') {
        char generated[32];
        int length = snprintf(generated, sizeof generated, "q%zu", number);
        *id = clef_arena_copy(arena, (clef_text){generated, (size_t)length});
        return id->bytes != NULL ? CLEF_OK : clef_fail_memory(error, sizeof generated, "an id");
    }
    if (mark == 0) {
        return clef_fail(error, CLEF_USAGE,
                         "--%s \"%.*s\": the id before = is empty; leave the = away, or write \\= "
                         "for a question that begins with =",
                         form_names[form], (int)text->length, text->bytes);
    }
    clef_text before = {text->bytes, mark};
    *text = cut_front(*text, mark + 1);
    return copy_literal(before, arena, id, error);
}

static bool has_option(const short_question *question, clef_text id) {
    for (size_t i = 0; i < question->option_count; i += 1) {
        if (clef_text_equals(question->options[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* Reads one option or level and adds it to the question, which has room. */
static clef_status take_option(clef_text text, clef_arena *arena, short_question *question,
                               clef_error *error) {
    const char *name = form_names[question->form];
    bool is_choice = question->form == CLEF_FORM_CHOICE;
    short_option option = {{NULL, 0}, {NULL, 0}};
    size_t mark = is_choice ? find_mark(text, ":") : text.length;
    clef_status status = copy_literal((clef_text){text.bytes, mark}, arena, &option.id, error);
    if (status == CLEF_OK && mark < text.length) {
        status = copy_literal(cut_front(text, mark + 1), arena, &option.description, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    if (option.id.length == 0) {
        return clef_fail(error, CLEF_USAGE,
                         "--%s, question \"%.*s\": %s %zu is empty; write \\, for a comma inside a "
                         "text",
                         name, (int)question->id.length, question->id.bytes,
                         is_choice ? "option" : "level", question->option_count + 1);
    }
    if (is_choice && has_option(question, option.id)) {
        return clef_fail(
            error, CLEF_USAGE, "--choice, question \"%.*s\": option \"%.*s\" is there twice",
            (int)question->id.length, question->id.bytes, (int)option.id.length, option.id.bytes);
    }
    question->options[question->option_count] = option;
    question->option_count += 1;
    return CLEF_OK;
}

/* Reads [QUESTION;]OPTION,… */
static clef_status take_options(clef_text text, clef_arena *arena, short_question *question,
                                clef_error *error) {
    clef_status status = CLEF_OK;
    size_t mark = find_mark(text, ";");
    if (mark < text.length) {
        status = copy_literal((clef_text){text.bytes, mark}, arena, &question->instructions, error);
        text = cut_front(text, mark + 1);
    }
    /* As many options as commas and one. */
    size_t count = 1;
    for (size_t at = find_mark(text, ","); at < text.length; count += 1) {
        at += 1 + find_mark(cut_front(text, at + 1), ",");
    }
    question->options = clef_arena_allocate(arena, count, sizeof *question->options);
    if (question->options == NULL) {
        return clef_fail_memory(error, count * sizeof *question->options, "the options");
    }
    for (size_t i = 0; status == CLEF_OK && i < count; i += 1) {
        size_t end = find_mark(text, ",");
        status = take_option((clef_text){text.bytes, end}, arena, question, error);
        text = cut_front(text, end < text.length ? end + 1 : end);
    }
    return status;
}

static clef_status parse_question(const clef_question_argument *argument, size_t number,
                                  clef_arena *arena, short_question *question, clef_error *error) {
    clef_text text = clef_text_of(argument->text);
    question->form = argument->form;
    clef_status status = take_id(&text, number, argument->form, arena, &question->id, error);
    if (status != CLEF_OK) {
        return status;
    }
    if (argument->form != CLEF_FORM_NOUL) {
        return take_options(text, arena, question, error);
    }
    status = copy_literal(text, arena, &question->instructions, error);
    if (status == CLEF_OK && question->instructions.length == 0) {
        return clef_fail(error, CLEF_USAGE, "--noul \"%s\": there is no question", argument->text);
    }
    return status;
}

static clef_status parse_questions(const clef_settings *settings, clef_arena *arena,
                                   short_question *questions, clef_error *error) {
    for (size_t i = 0; i < settings->question_count; i += 1) {
        clef_status status =
            parse_question(&settings->questions[i], i + 1, arena, &questions[i], error);
        for (size_t j = 0; status == CLEF_OK && j < i; j += 1) {
            if (clef_text_equals(questions[i].id, questions[j].id)) {
                status = clef_fail(error, CLEF_USAGE, "two questions have the id \"%.*s\"",
                                   (int)questions[i].id.length, questions[i].id.bytes);
            }
        }
        if (status != CLEF_OK) {
            return status;
        }
    }
    return CLEF_OK;
}

static void write_criteria(clef_buffer *body, const short_question *question) {
    bool is_choice = question->form == CLEF_FORM_CHOICE;
    clef_buffer_append_string(body, is_choice ? ",\"criteria\":{" : ",\"criteria\":[");
    for (size_t i = 0; i < question->option_count; i += 1) {
        const short_option *option = &question->options[i];
        clef_buffer_append_string(body, i > 0 ? "," : "");
        clef_json_write_string(body, option->id);
        /* "a" and "a:" differ: no description, and an empty one. */
        if (is_choice && option->description.bytes == NULL) {
            clef_buffer_append_string(body, ":null");
        } else if (is_choice) {
            clef_buffer_append_byte(body, ':');
            clef_json_write_string(body, option->description);
        }
    }
    clef_buffer_append_byte(body, is_choice ? '}' : ']');
}

static void write_question(clef_buffer *body, const short_question *question) {
    clef_json_write_string(body, question->id);
    clef_buffer_append_format(body, ":{\"type\":\"%s\"", form_names[question->form]);
    if (question->instructions.length > 0) {
        clef_buffer_append_string(body, ",\"instructions\":");
        clef_json_write_string(body, question->instructions);
    }
    if (question->form != CLEF_FORM_NOUL) {
        write_criteria(body, question);
    }
    clef_buffer_append_byte(body, '}');
}

/* TEXT, @FILE or - */
static clef_status write_state(clef_buffer *body, const char *state, clef_error *error) {
    bool is_file = state[0] == '@' && state[1] != '@';
    bool is_stream = strcmp(state, "-") == 0;
    if (!is_file && !is_stream) {
        clef_json_write_string(body, clef_text_of(state[0] == '@' ? state + 1 : state));
        return CLEF_OK;
    }
    if (is_file && state[1] == '\0') {
        return clef_fail(error, CLEF_USAGE,
                         "--state @ needs the name of a file; @@ is the text \"@\"");
    }
    clef_buffer text = {0};
    clef_input input;
    clef_status status = clef_input_open(is_file ? state + 1 : NULL, "the state", &input, error);
    if (status != CLEF_OK) {
        return status;
    }
    status = clef_input_read_all(&input, &text, error);
    if (status == CLEF_OK) {
        clef_json_write_string(body, clef_buffer_text(&text));
    }
    clef_input_close(&input);
    clef_buffer_release(&text);
    return status;
}

clef_status clef_request_build(const clef_settings *settings, clef_text model_name,
                               clef_buffer *body, clef_error *error) {
    clef_arena arena = {0};
    size_t count = settings->question_count;
    clef_status status = CLEF_OK;
    short_question *questions = clef_arena_allocate(&arena, count, sizeof *questions);
    if (questions == NULL) {
        status = clef_fail_memory(error, count * sizeof *questions, "the questions");
        goto fail;
    }
    status = parse_questions(settings, &arena, questions, error);
    if (status != CLEF_OK) {
        goto fail;
    }
    clef_buffer_append_string(body, "{\"model\":");
    clef_json_write_string(body, model_name);
    clef_buffer_append_string(body, ",\"state\":");
    /* A picture may be all there is to say. */
    status = write_state(body, settings->state != NULL ? settings->state : "", error);
    if (status != CLEF_OK) {
        goto fail;
    }
    status = clef_request_media_append(settings, body, error);
    if (status != CLEF_OK) {
        goto fail;
    }
    clef_buffer_append_string(body, ",\"questions\":{");
    for (size_t i = 0; i < count; i += 1) {
        clef_buffer_append_string(body, i > 0 ? "," : "");
        write_question(body, &questions[i]);
    }
    clef_buffer_append_string(body, "}}");
    status = clef_buffer_check(body, "the request", error);
fail:
    clef_arena_release(&arena);
    return status;
}
