/* The one parser of command lines. Messages repeat what was written and say what would be right. */
#include "cli/options.h"

#include "base/memory.h"
#include "cli/suggestion.h"

#include <stdio.h>

typedef struct option_parser {
    const clef_option_group *const *groups;
    clef_settings *settings;
    clef_error *error;
} option_parser;

void clef_settings_release(clef_settings *settings) {
    clef_release(settings->questions);
    settings->questions = NULL;
    settings->question_count = 0;
}

const char *clef_option_value_name(const clef_option_row *row) {
    return row->kind == CLEF_OPTION_CHOICE ? row->words : row->value;
}

static const clef_option_row *find_row(const option_parser *parser, clef_text name) {
    for (size_t i = 0; parser->groups[i] != NULL; i += 1) {
        for (size_t j = 0; j < parser->groups[i]->count; j += 1) {
            const clef_option_row *row = &parser->groups[i]->rows[j];
            if (clef_text_equals(clef_text_of(row->name), name)) {
                return row;
            }
        }
    }
    return NULL;
}

/* Most unknown options are misspelt ones, so the nearest known one is offered. */
static clef_status fail_unknown(const option_parser *parser, clef_text name) {
    clef_suggestion best = clef_suggestion_begin(name);
    for (size_t i = 0; parser->groups[i] != NULL; i += 1) {
        for (size_t j = 0; j < parser->groups[i]->count; j += 1) {
            clef_suggestion_offer(&best, clef_text_of(parser->groups[i]->rows[j].name));
        }
    }
    if (best.length > 0) {
        return clef_fail(parser->error, CLEF_USAGE, "unknown option --%.*s; did you mean --%.*s?",
                         (int)name.length, name.bytes, (int)best.length, best.word);
    }
    return clef_fail(parser->error, CLEF_USAGE, "unknown option --%.*s", (int)name.length,
                     name.bytes);
}

/* "4294967295" → "4,294,967,295". */
static const char *group_digits(uint32_t number, char out[16]) {
    char digits[11];
    int count = snprintf(digits, sizeof digits, "%u", number);
    size_t length = 0;
    for (int i = 0; i < count; i += 1) {
        if (i > 0 && (count - i) % 3 == 0) {
            out[length++] = ',';
        }
        out[length++] = digits[i];
    }
    out[length] = '\0';
    return out;
}

clef_status clef_number_parse(const char *what, const char *text, uint32_t minimum,
                              uint32_t maximum, uint32_t *value, clef_error *error) {
    uint64_t number = 0;
    bool is_valid = text[0] != '\0';
    /* Digits only: strtoul would also take signs, blanks and what is out of range. Stopping at the
     * first number above the maximum keeps the product far from overflow. */
    for (const char *digit = text; is_valid && *digit != '\0'; digit += 1) {
        is_valid = *digit >= '0' && *digit <= '9';
        number = number * 10 + (uint64_t)(*digit - '0');
        is_valid = is_valid && number <= maximum;
    }
    if (!is_valid || number < minimum) {
        char low[16];
        char high[16];
        return clef_fail(error, CLEF_USAGE, "%s takes a whole number from %s to %s, not \"%s\"",
                         what, group_digits(minimum, low), group_digits(maximum, high), text);
    }
    *value = (uint32_t)number;
    return CLEF_OK;
}

clef_status clef_number_list_parse(const char *name, const char *text, uint32_t maximum,
                                   uint32_t *values, size_t limit, size_t *count,
                                   clef_error *error) {
    char what[64];
    snprintf(what, sizeof what, "%s, a list separated by commas,", name);
    for (bool is_last = false; !is_last;) {
        char number[16];
        size_t length = strcspn(text, ",");
        if (*count == limit) {
            return clef_fail(error, CLEF_USAGE, "%s takes at most %zu numbers", name, limit);
        }
        size_t kept = length < sizeof number - 1 ? length : sizeof number - 1;
        memcpy(number, text, kept);
        number[kept] = '\0';
        clef_status status = clef_number_parse(what, number, 1, maximum, &values[*count], error);
        if (status != CLEF_OK) {
            return status;
        }
        *count += 1;
        is_last = text[length] == '\0';
        text += length + 1;
    }
    return CLEF_OK;
}

/* A choice is stored as a number, the place of its word, so that rows need no table of values. */
static clef_status set_choice(const option_parser *parser, const clef_option_row *row,
                              const char *text, unsigned *value) {
    clef_suggestion best = clef_suggestion_begin(clef_text_of(text));
    const char *word = row->words;
    for (uint32_t index = 0; word[0] != '\0'; index += 1) {
        size_t length = strcspn(word, "|");
        if (clef_text_equals((clef_text){word, length}, clef_text_of(text))) {
            *value = row->minimum + index;
            return CLEF_OK;
        }
        clef_suggestion_offer(&best, (clef_text){word, length});
        word += length + (word[length] == '|' ? 1 : 0);
    }
    if (best.length > 0) {
        return clef_fail(parser->error, CLEF_USAGE,
                         "--%s takes one of %s, not \"%s\"; did you mean %.*s?", row->name,
                         row->words, text, (int)best.length, best.word);
    }
    return clef_fail(parser->error, CLEF_USAGE, "--%s takes one of %s, not \"%s\"", row->name,
                     row->words, text);
}

static clef_status add_question(const option_parser *parser, const clef_option_row *row,
                                const char *text) {
    clef_settings *settings = parser->settings;
    size_t count = settings->question_count + 1;
    clef_question_argument *grown =
        settings->questions == NULL ? clef_allocate(count, sizeof *grown)
                                    : clef_reallocate(settings->questions, count, sizeof *grown);
    if (grown == NULL) {
        return clef_fail_memory(parser->error, count * sizeof *grown, "the questions");
    }
    grown[count - 1] = (clef_question_argument){(clef_question_form)row->minimum, text};
    settings->questions = grown;
    settings->question_count = count;
    return CLEF_OK;
}

/* Writes a value into the field of the row. Fields are written by memcpy: the row knows the offset
 * and the kind, and no pointer of another type ever points into the settings. */
static clef_status set_value(const option_parser *parser, const clef_option_row *row,
                             const char *text) {
    char *field = (char *)parser->settings + row->field;
    char what[64];
    bool has_length = row->kind == CLEF_OPTION_TEXT || row->kind == CLEF_OPTION_LIST;
    if (has_length && strlen(text) < row->minimum) {
        return clef_fail(parser->error, CLEF_USAGE, "--%s takes %s, not an empty text", row->name,
                         row->value);
    }
    switch (row->kind) {
    case CLEF_OPTION_FLAG: {
        bool is_set = true;
        memcpy(field, &is_set, sizeof is_set);
        return CLEF_OK;
    }
    case CLEF_OPTION_TEXT: {
        const char *before;
        memcpy(&before, field, sizeof before);
        if (row->is_single && before != NULL) {
            return clef_fail(parser->error, CLEF_USAGE, "--%s is given more than once", row->name);
        }
        memcpy(field, &text, sizeof text);
        return CLEF_OK;
    }
    case CLEF_OPTION_LIST: {
        clef_argument_list list;
        memcpy(&list, field, sizeof list);
        if (list.count == CLEF_ARGUMENT_LIST_LIMIT) {
            return clef_fail(parser->error, CLEF_USAGE, "--%s is given more than %d times",
                             row->name, CLEF_ARGUMENT_LIST_LIMIT);
        }
        list.items[list.count++] = text;
        memcpy(field, &list, sizeof list);
        return CLEF_OK;
    }
    case CLEF_OPTION_NUMBER: {
        uint32_t number = 0;
        snprintf(what, sizeof what, "--%s", row->name);
        clef_status status =
            clef_number_parse(what, text, row->minimum, row->maximum, &number, parser->error);
        memcpy(field, &number, sizeof number);
        return status;
    }
    case CLEF_OPTION_CHOICE: {
        unsigned choice = 0;
        clef_status status = set_choice(parser, row, text, &choice);
        memcpy(field, &choice, sizeof choice);
        return status;
    }
    case CLEF_OPTION_QUESTION:
        return add_question(parser, row, text);
    }
    return clef_fail(parser->error, CLEF_INTERNAL, "--%s has no kind", row->name);
}

/* Sets the option of a row. `value` is what was joined to it, or NULL; then an option that takes
 * one uses `next`, and *used becomes 2. */
static clef_status take_value(const option_parser *parser, const clef_option_row *row,
                              const char *value, const char *next, int *used) {
    if (row->kind == CLEF_OPTION_FLAG) {
        if (value != NULL) {
            return clef_fail(parser->error, CLEF_USAGE, "--%s takes no value, found \"%s\"",
                             row->name, value);
        }
        return set_value(parser, row, "");
    }
    if (value == NULL) {
        /* "--state --noul …" is a forgotten value far more often than a text. */
        if (next == NULL || (next[0] == '-' && next[1] == '-')) {
            return clef_fail(parser->error, CLEF_USAGE, "--%s needs a value: --%s %s%s", row->name,
                             row->name, clef_option_value_name(row),
                             next == NULL ? "" : " (a value that begins with -- is joined by =)");
        }
        value = next;
        *used = 2;
    }
    return set_value(parser, row, value);
}

/* Reads "--name", "--name=value" or "--name" "value"; *used receives 1 or 2. */
static clef_status read_option(const option_parser *parser, const char *argument, const char *next,
                               int *used) {
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const clef_option_row *row = find_row(parser, (clef_text){name, length});
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    *used = 1;
    if (row == NULL) {
        return fail_unknown(parser, (clef_text){name, length});
    }
    return take_value(parser, row, value, next, used);
}

static const clef_option_row *find_letter(const option_parser *parser, char letter) {
    for (size_t i = 0; parser->groups[i] != NULL; i += 1) {
        for (size_t j = 0; j < parser->groups[i]->count; j += 1) {
            if (parser->groups[i]->rows[j].letter == letter) {
                return &parser->groups[i]->rows[j];
            }
        }
    }
    return NULL;
}

/* Reads "-o" "value"; the few options that have a letter take their value apart from it. */
static clef_status read_letter(const option_parser *parser, const char *argument, const char *next,
                               int *used) {
    const clef_option_row *row = argument[2] == '\0' ? find_letter(parser, argument[1]) : NULL;
    *used = 1;
    if (row == NULL) {
        return clef_fail(parser->error, CLEF_USAGE,
                         "unknown option %s; options are spelled out, as in --help", argument);
    }
    return take_value(parser, row, NULL, next, used);
}

static clef_status add_operand(const option_parser *parser, const char *text, size_t limit) {
    clef_settings *settings = parser->settings;
    if (settings->operand_count == limit || settings->operand_count == CLEF_OPERAND_LIMIT) {
        return clef_fail(parser->error, CLEF_USAGE, "unexpected argument \"%s\"%s", text,
                         limit == 1 ? "; one file is read at a time" : "");
    }
    settings->operands[settings->operand_count] = text;
    settings->operand_count += 1;
    return CLEF_OK;
}

clef_status clef_options_parse(const clef_option_group *const *groups, size_t operand_limit,
                               int argument_count, char *const *arguments, clef_settings *settings,
                               clef_error *error) {
    const option_parser parser = {groups, settings, error};
    bool has_ended = false;
    int used = 1;
    for (int i = 0; i < argument_count; i += used) {
        const char *argument = arguments[i];
        clef_status status = CLEF_OK;
        used = 1;
        if (has_ended || argument[0] != '-' || argument[1] == '\0') {
            /* "-" alone is the name of standard input. */
            status = add_operand(&parser, argument, operand_limit);
        } else if (strcmp(argument, "--") == 0) {
            has_ended = true;
        } else if (strcmp(argument, "-h") == 0) {
            settings->wants_help = true;
        } else {
            const char *next = i + 1 < argument_count ? arguments[i + 1] : NULL;
            status = argument[1] == '-' ? read_option(&parser, argument, next, &used)
                                        : read_letter(&parser, argument, next, &used);
        }
        if (status != CLEF_OK) {
            return status;
        }
    }
    return CLEF_OK;
}
