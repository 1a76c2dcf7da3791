/* The one place that knows how place, kind and message become JSON. */
#include "base/error_json.h"

#include "base/json.h"

#include <inttypes.h>

static bool is_about_request(clef_status status) {
    return status == CLEF_BAD_REQUEST || status == CLEF_BAD_TEXT || status == CLEF_OVER_LIMIT ||
           status == CLEF_TOO_LARGE || status == CLEF_NETWORK;
}

void clef_json_write_any_string(clef_buffer *out, clef_text text) {
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
    out->has_failed = out->has_failed || safe.has_failed;
    clef_json_write_string(out, clef_buffer_text(&safe));
    clef_buffer_release(&safe);
}

/* The elements of a place as JSON strings, with commas. */
static void write_place(clef_buffer *out, const char *place, bool is_first) {
    while (place[0] != '\0') {
        const char *end = strchr(place, CLEF_PLACE_SEPARATOR[0]);
        size_t length = end != NULL ? (size_t)(end - place) : strlen(place);
        if (!is_first) {
            clef_buffer_append_byte(out, ',');
        }
        is_first = false;
        clef_json_write_any_string(out, (clef_text){place, length});
        place += length + (end != NULL ? 1 : 0);
    }
}

void clef_error_write_json(clef_buffer *out, const clef_error *error) {
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
        write_place(out, error->place, !is_request);
    }
    clef_buffer_append_string(out, "],\"msg\":");
    clef_json_write_any_string(out, clef_text_of(error->message));
    clef_buffer_append_byte(out, '}');
}
