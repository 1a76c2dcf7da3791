/* Layout of help: an indented list of terms, each with its wrapped text beside it or below it. */
#include "cli/help.h"

#include <clef/clef.h>

enum {
    INDENT = 2,
    TEXT_COLUMN = 26,    /* where explanations begin */
    COLUMNS_BESIDE = 60, /* narrower: explanations stand below their terms */
    COLUMNS_MOST = 100,  /* longer lines are hard to read */
};

static void append_blanks(clef_buffer *out, size_t count) {
    for (size_t i = 0; i < count; i += 1) {
        clef_buffer_append_byte(out, ' ');
    }
}

/* Appends words so that no line passes `columns`; the cursor stands at `column`, further lines
 * begin at `indent`. Ends the last line. */
static void append_wrapped(clef_buffer *out, const char *text, size_t column, size_t indent,
                           size_t columns) {
    bool is_line_start = true;
    while (text[0] != '\0') {
        text += strspn(text, " \n");
        size_t length = strcspn(text, " \n");
        if (length == 0) {
            break;
        }
        if (!is_line_start && column + 1 + length > columns) {
            clef_buffer_append_byte(out, '\n');
            append_blanks(out, indent);
            column = indent;
            is_line_start = true;
        }
        if (!is_line_start) {
            clef_buffer_append_byte(out, ' ');
            column += 1;
        }
        clef_buffer_append(out, text, length);
        column += length;
        text += length;
        is_line_start = false;
    }
    clef_buffer_append_byte(out, '\n');
}

/* A term that is too long for its column, or a narrow screen, puts the text on the next line. */
static void append_entry(clef_buffer *out, const char *term, const char *text, size_t columns) {
    size_t column = INDENT + strlen(term);
    append_blanks(out, INDENT);
    clef_buffer_append_string(out, term);
    size_t indent = columns < COLUMNS_BESIDE ? 3 * INDENT : TEXT_COLUMN;
    if (columns < COLUMNS_BESIDE || column + 2 > TEXT_COLUMN) {
        clef_buffer_append_byte(out, '\n');
        column = 0;
    }
    append_blanks(out, indent - column);
    append_wrapped(out, text, indent, indent, columns);
}

static void append_option(clef_buffer *out, const clef_option_row *row, size_t columns) {
    clef_buffer term = {0};
    const char *value = clef_option_value_name(row);
    clef_buffer_append_format(&term, "--%s", row->name);
    if (row->letter != 0) {
        clef_buffer_append_format(&term, ", -%c", row->letter);
    }
    if (value != NULL) {
        clef_buffer_append_format(&term, " %s", value);
    }
    if (clef_buffer_check(&term, "the help", NULL) == CLEF_OK) {
        append_entry(out, term.bytes, row->help, columns);
    }
    clef_buffer_release(&term);
}

/* Paragraphs are wrapped; one that begins with a blank keeps its lines. */
static void append_paragraphs(clef_buffer *out, const char *text, size_t columns) {
    while (text[0] != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        clef_buffer_append_byte(out, '\n');
        if (text[0] == ' ') {
            clef_buffer_append(out, text, length);
            clef_buffer_append_byte(out, '\n');
        } else {
            clef_buffer paragraph = {0};
            clef_buffer_append(&paragraph, text, length);
            if (clef_buffer_check(&paragraph, "the help", NULL) == CLEF_OK) {
                append_wrapped(out, paragraph.bytes, 0, 0, columns);
            }
            clef_buffer_release(&paragraph);
        }
        text += length;
        text += strspn(text, "\n");
    }
}

static void append_lines(clef_buffer *out, const char *prefix, const char *lines) {
    while (lines[0] != '\0') {
        size_t length = strcspn(lines, "\n");
        clef_buffer_append_string(out, prefix);
        clef_buffer_append(out, lines, length);
        clef_buffer_append_byte(out, '\n');
        lines += length + (lines[length] == '\n' ? 1 : 0);
    }
}

static size_t limit_columns(unsigned columns) {
    return columns < COLUMNS_MOST ? columns : COLUMNS_MOST;
}

void clef_help_append_overview(clef_buffer *out, const clef_command *const *commands,
                               unsigned columns) {
    size_t width = limit_columns(columns);
    append_wrapped(
        out,
        "clef answers typed questions about a text, with calibrated probabilities, in one "
        "pass of an open model.",
        0, 0, width);
    clef_buffer_append_string(out, "\nUsage: clef COMMAND [OPTIONS] [FILE]\n\nCommands:\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        append_entry(out, commands[i]->name, commands[i]->summary, width);
    }
    clef_buffer_append_string(out, "\nOptions:\n");
    append_entry(out, "--version", "Print the version.", width);
    append_entry(out, "--help", "Show this help.", width);
    append_entry(out, "--help-environment", "List the environment variables that are read.", width);
    clef_buffer_append_byte(out, '\n');
    append_wrapped(out, "\"clef COMMAND --help\" explains a command and its options.", 0, 0, width);
}

void clef_help_append_command(clef_buffer *out, const clef_command *command, unsigned columns) {
    size_t width = limit_columns(columns);
    append_wrapped(out, command->summary, 0, 0, width);
    clef_buffer_append_string(out, "\nUsage:\n");
    append_lines(out, "  clef ", command->synopsis);
    append_paragraphs(out, command->details, width);
    /* Groups may share a heading: they were split because commands share only some of the rows. */
    const char *title = "";
    for (size_t i = 0; command->groups[i] != NULL; i += 1) {
        const clef_option_group *group = command->groups[i];
        if (strcmp(group->title, title) != 0) {
            clef_buffer_append_format(out, "\n%s:\n", group->title);
            title = group->title;
        }
        for (size_t j = 0; j < group->count; j += 1) {
            append_option(out, &group->rows[j], width);
        }
    }
    if (command->examples[0] != '\0') {
        clef_buffer_append_string(out, "\nExamples:\n");
        append_lines(out, "  ", command->examples);
    }
}

void clef_help_append_environment(clef_buffer *out, unsigned columns) {
    size_t width = limit_columns(columns);
    append_wrapped(out,
                   "Environment variables that clef reads. An option on the command line beats a "
                   "variable.",
                   0, 0, width);
    clef_buffer_append_byte(out, '\n');
    for (const clef_environment_entry *entry = clef_environment_list(); entry->name != NULL;
         entry += 1) {
        append_entry(out, entry->name, entry->help, width);
    }
}
