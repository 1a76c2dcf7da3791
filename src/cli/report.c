/* Both forms of an error. Messages may quote ids of a request, so what goes to people is made safe
 * for a terminal first. */
#include "cli/report.h"

#include "base/json.h"
#include "cli/display_text.h"
#include "cli/output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Separates the elements of clef_error.place. */
#define PLACE_SEPARATOR '\x1f'

static bool is_about_request(clef_status status) {
    return status == CLEF_BAD_REQUEST || status == CLEF_BAD_TEXT || status == CLEF_OVER_LIMIT ||
           status == CLEF_TOO_LARGE;
}

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

/* A text as a JSON string; bytes that are no UTF-8 (names of files, arguments) as \xff. */
static void append_string(clef_buffer *out, clef_text text) {
    clef_buffer safe = {0};
    while (text.length > 0) {
        size_t valid = clef_utf8_valid_prefix(text.bytes, text.length);
        clef_buffer_append(&safe, text.bytes, valid);
        text = (clef_text){text.bytes + valid, text.length - valid};
        if (text.length > 0) {
            clef_buffer_append_format(&safe, "\\x%02x", (unsigned char)text.bytes[0]);
            text = (clef_text){text.bytes + 1, text.length - 1};
        }
    }
    clef_json_write_string(out, clef_buffer_text(&safe));
    clef_buffer_release(&safe);
}

/* The elements of a place as JSON strings, with commas. */
static void append_place(clef_buffer *out, const char *place, bool is_first) {
    while (place[0] != '\0') {
        const char *end = strchr(place, PLACE_SEPARATOR);
        size_t length = end != NULL ? (size_t)(end - place) : strlen(place);
        if (!is_first) {
            clef_buffer_append_byte(out, ',');
        }
        is_first = false;
        append_string(out, (clef_text){place, length});
        place += length + (end != NULL ? 1 : 0);
    }
}

void clef_report_append_json(clef_buffer *out, const clef_error *error) {
    bool has_kind = error->kind != NULL && error->kind[0] != '\0';
    bool is_request = is_about_request(error->status);
    clef_buffer_append_string(out, "{\"type\":");
    clef_json_write_string(out,
                           clef_text_of(has_kind ? error->kind : clef_status_name(error->status)));
    clef_buffer_append_string(out, ",\"loc\":[");
    if (is_request) {
        clef_buffer_append_string(out, "\"body\"");
    }
    if (has_kind && strcmp(error->kind, "json_invalid") == 0) {
        clef_buffer_append_format(out, ",%" PRIu64, error->offset);
    } else {
        append_place(out, error->place, !is_request);
    }
    clef_buffer_append_string(out, "],\"msg\":");
    append_string(out, clef_text_of(error->message));
    clef_buffer_append_byte(out, '}');
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
