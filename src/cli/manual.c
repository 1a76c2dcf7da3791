/* Writes roff with the man macros. Undated and without machine facts, so that the same source gives
 * the same page everywhere. */
#include "cli/manual.h"

#include <clef/clef.h>

/* Text as roff: a backslash or a hyphen is not taken as typesetting, a line that begins with a dot
 * or an apostrophe is not taken as a request. */
static void append_roff(clef_buffer *out, const char *text, size_t length) {
    bool is_line_start = true;
    for (size_t i = 0; i < length; i += 1) {
        char byte = text[i];
        if (is_line_start && (byte == '.' || byte == '\'')) {
            clef_buffer_append_string(out, "\\&");
        }
        if (byte == '\\') {
            clef_buffer_append_string(out, "\\e");
        } else if (byte == '-') {
            clef_buffer_append_string(out, "\\-");
        } else {
            clef_buffer_append_byte(out, byte);
        }
        is_line_start = byte == '\n';
    }
}

static void append_string(clef_buffer *out, const char *text) {
    append_roff(out, text, strlen(text));
}

/* Lines that are kept as they are. */
static void append_verbatim(clef_buffer *out, const char *text, size_t length) {
    clef_buffer_append_string(out, ".PP\n.nf\n");
    append_roff(out, text, length);
    clef_buffer_append_string(out, "\n.fi\n");
}

static void append_paragraphs(clef_buffer *out, const char *text) {
    while (text[0] != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        if (text[0] == ' ') {
            append_verbatim(out, text, length);
        } else {
            clef_buffer_append_string(out, ".PP\n");
            append_roff(out, text, length);
            clef_buffer_append_byte(out, '\n');
        }
        text += length;
        text += strspn(text, "\n");
    }
}

static void append_options(clef_buffer *out, const clef_command *command) {
    for (size_t i = 0; command->groups[i] != NULL; i += 1) {
        const clef_option_group *group = command->groups[i];
        for (size_t j = 0; j < group->count; j += 1) {
            const clef_option_row *row = &group->rows[j];
            const char *value = clef_option_value_name(row);
            clef_buffer_append_string(out, ".TP\n\\fB\\-\\-");
            append_string(out, row->name);
            clef_buffer_append_string(out, "\\fR");
            if (row->letter != 0) {
                clef_buffer_append_format(out, ", \\fB\\-%c\\fR", row->letter);
            }
            if (value != NULL) {
                clef_buffer_append_string(out, " \\fI");
                append_string(out, value);
                clef_buffer_append_string(out, "\\fR");
            }
            clef_buffer_append_byte(out, '\n');
            append_string(out, row->help);
            clef_buffer_append_byte(out, '\n');
        }
    }
}

static void append_synopses(clef_buffer *out, const clef_command *const *commands) {
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        const char *lines = commands[i]->synopsis;
        while (lines[0] != '\0') {
            size_t length = strcspn(lines, "\n");
            clef_buffer_append_string(out, i == 0 && lines == commands[i]->synopsis
                                               ? "\\fBclef\\fR "
                                               : ".br\n\\fBclef\\fR ");
            append_roff(out, lines, length);
            clef_buffer_append_byte(out, '\n');
            lines += length + (lines[length] == '\n' ? 1 : 0);
        }
    }
}

static void append_command(clef_buffer *out, const clef_command *command) {
    clef_buffer_append_string(out, ".SS clef ");
    append_string(out, command->name);
    clef_buffer_append_byte(out, '\n');
    append_string(out, command->summary);
    clef_buffer_append_byte(out, '\n');
    append_paragraphs(out, command->details);
    append_options(out, command);
    if (command->examples[0] != '\0') {
        clef_buffer_append_string(out, ".PP\nExamples:\n");
        append_verbatim(out, command->examples, strlen(command->examples));
    }
}

static void append_exit_status(clef_buffer *out) {
    static const struct {
        clef_status status;
        const char *meaning;
    } rows[] = {
        {CLEF_OK, "All requests were answered."},
        {CLEF_INTERNAL, "A fault of clef or of the system, such as a full disk."},
        {CLEF_USAGE, "The command line cannot be honoured."},
        {CLEF_BAD_REQUEST, "A request is not valid."},
        {CLEF_OVER_LIMIT, "A request passes a limit."},
        {CLEF_BAD_FILE, "Something is wrong with the model directory."},
        {CLEF_VERIFY_FAILED, "What was written does not agree with its source."},
        {CLEF_OUT_OF_MEMORY, "Memory is short."},
        {CLEF_CANCELLED, "Interrupted, or the reader of the output has gone."},
    };
    clef_buffer_append_string(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += 1) {
        clef_buffer_append_format(out, ".TP\n%d\n", clef_status_exit(rows[i].status));
        append_string(out, rows[i].meaning);
        clef_buffer_append_byte(out, '\n');
    }
}

void clef_manual_append(clef_buffer *out, const clef_command *const *commands) {
    clef_buffer_append_format(out, ".TH CLEF 1 \"\" \"clef %s\"\n.SH NAME\n", clef_version());
    clef_buffer_append_string(out, "clef \\- typed answers to questions about a text\n");
    clef_buffer_append_string(out, ".SH SYNOPSIS\n.nh\n.ad l\n");
    append_synopses(out, commands);
    clef_buffer_append_string(out, ".ad b\n.hy\n.SH DESCRIPTION\n");
    append_string(out, "clef answers typed questions about a text, with calibrated probabilities, "
                       "in one pass of an open model.\n");
    clef_buffer_append_string(out, ".SH COMMANDS\n");
    for (size_t i = 0; commands[i] != NULL; i += 1) {
        append_command(out, commands[i]);
    }
    append_exit_status(out);
    clef_buffer_append_string(out, ".SH ENVIRONMENT\n");
    for (const clef_environment_entry *entry = clef_environment_list(); entry->name != NULL;
         entry += 1) {
        clef_buffer_append_string(out, ".TP\n\\fB");
        append_string(out, entry->name);
        clef_buffer_append_string(out, "\\fR\n");
        append_string(out, entry->help);
        clef_buffer_append_byte(out, '\n');
    }
}
