/* Both forms of an error. Messages may quote ids of a request, so what goes to people is made safe
 * for a terminal first. */
#include "cli/report.h"

#include "base/error_json.h"
#include "cli/display_text.h"
#include "cli/output.h"

#include <stdarg.h>
#include <stdio.h>

/* A message of the library has lines of its own (what it quotes is escaped there); each is shown as
 * a line. */
static void append_lines(clef_buffer *out, const char *message) {
    for (;;) {
        size_t length = strcspn(message, "\n");
        clef_display_append(out, (clef_text){message, length}, SIZE_MAX, true);
        if (message[length] == '\0') {
            return;
        }
        clef_buffer_append_byte(out, '\n');
        message += length + 1;
    }
}

void clef_report_append_json(clef_buffer *out, const clef_error *error) {
    clef_error_write_json(out, error);
}

void clef_report_error(const clef_error *error, const char *hint, bool as_json) {
    if (error->message[0] == '\0') {
        return;
    }
    clef_buffer line = {0};
    if (as_json) {
        clef_report_append_json(&line, error);
    } else {
        clef_buffer_append_string(&line, "clef: ");
        append_lines(&line, error->message);
        if (hint != NULL) {
            clef_buffer_append_byte(&line, '\n');
            clef_buffer_append_string(&line, hint);
        }
    }
    clef_buffer_append_byte(&line, '\n');
    if (!line.has_failed) {
        clef_output_note(clef_buffer_text(&line));
    } else {
        clef_output_note(CLEF_TEXT("clef: out of memory\n"));
    }
    clef_buffer_release(&line);
}

void clef_report_note(const char *format, ...) {
    char line[512] = "clef: ";
    const size_t prefix = sizeof "clef: " - 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    line[length] = '\n';
    clef_output_note((clef_text){line, length + 1});
}
