/* See field_reader.h. The path is text from the start: it is only built where files are read, and
 * an error can be written at any moment. */
#include "tokenizer/field_reader.h"

#include <stdarg.h>
#include <stdio.h>

/* Texts that are kept before they are freed together. */
#define KEPT_TEXT_BYTES ((size_t)1 << 20)

/* The path is not at an element of an array. */
#define NO_ELEMENT SIZE_MAX

/* What is shown of a string value; long enough for a split pattern. */
#define SHOWN_BYTES 240

void clef_field_reader_init(clef_field_reader *reader, clef_text json, clef_error *error) {
    *reader = (clef_field_reader){.element = NO_ELEMENT, .error = error};
    clef_json_reader_init(&reader->json, json, &reader->strings);
}

void clef_field_reader_release(clef_field_reader *reader) {
    clef_arena_release(&reader->strings);
}

void clef_field_forget_texts(clef_field_reader *reader) {
    if (reader->strings.used_bytes > KEPT_TEXT_BYTES) {
        clef_arena_release(&reader->strings);
    }
}

/* ---- path ---- */

static void append_path(clef_field_reader *reader, const char *format, ...) CLEF_PRINTF(2, 3);

static void append_path(clef_field_reader *reader, const char *format, ...) {
    size_t room = sizeof reader->path - reader->path_length;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reader->path + reader->path_length, room, format, arguments);
    va_end(arguments);
    if (length > 0) {
        reader->path_length += (size_t)length < room ? (size_t)length : room - 1;
    }
}

/* Writes the number of the element only when somebody needs it: there are lists of hundreds of
 * thousands. */
static void settle_element(clef_field_reader *reader) {
    if (reader->element != NO_ELEMENT) {
        size_t element = reader->element;
        reader->element = NO_ELEMENT;
        append_path(reader, "[%zu]", element);
    }
}

void clef_field_set_path(clef_field_reader *reader, const char *path) {
    clef_field_leave(reader, 0);
    append_path(reader, "%s", path);
}

void clef_field_enter_element(clef_field_reader *reader, size_t number) {
    reader->element = number;
}

void clef_field_leave(clef_field_reader *reader, size_t length) {
    reader->element = NO_ELEMENT;
    reader->path_length = length;
    reader->path[length] = '\0';
}

static const char *show_path(clef_field_reader *reader) {
    settle_element(reader);
    return reader->path_length == 0 ? "the file" : reader->path;
}

/* ---- refusals ---- */

clef_status clef_field_explain(clef_field_reader *reader, clef_status status) {
    if (status == CLEF_BAD_FILE && reader->error != NULL) {
        char message[1024];
        snprintf(message, sizeof message, "%.1023s", reader->error->message);
        clef_fail(reader->error, status, "%s: %s", show_path(reader), message);
    }
    return status;
}

clef_status clef_field_fail(clef_field_reader *reader, const char *format, ...) {
    char complaint[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint, sizeof complaint, format, arguments);
    va_end(arguments);
    return clef_fail(reader->error, CLEF_BAD_FILE, "%s %s", show_path(reader), complaint);
}

/* The value of an event for people: strings in quotes and cut, others as they are written. */
static void describe_value(const clef_field_reader *reader, clef_json_event event, char *out,
                           size_t size) {
    clef_text text = reader->json.text;
    size_t shown = text.length < SHOWN_BYTES ? text.length : SHOWN_BYTES;
    switch (event) {
    case CLEF_JSON_EVENT_NULL:
        snprintf(out, size, "null");
        break;
    case CLEF_JSON_EVENT_FALSE:
        snprintf(out, size, "false");
        break;
    case CLEF_JSON_EVENT_TRUE:
        snprintf(out, size, "true");
        break;
    case CLEF_JSON_EVENT_NUMBER:
        snprintf(out, size, "%.*s", (int)shown, text.bytes);
        break;
    case CLEF_JSON_EVENT_STRING:
        shown = clef_utf8_valid_prefix(text.bytes, shown);
        snprintf(out, size, "\"%.*s\"%s", (int)shown, text.bytes,
                 shown < text.length ? " (cut)" : "");
        break;
    case CLEF_JSON_EVENT_ARRAY_BEGIN:
        snprintf(out, size, "an array");
        break;
    case CLEF_JSON_EVENT_OBJECT_BEGIN:
        snprintf(out, size, "an object");
        break;
    default:
        snprintf(out, size, "missing");
        break;
    }
}

clef_status clef_field_refuse(clef_field_reader *reader, clef_json_event event,
                              const char *supported) {
    char found[SHOWN_BYTES + 16];
    describe_value(reader, event, found, sizeof found);
    return clef_fail(reader->error, CLEF_BAD_FILE, "%s is %s; supported: %s", show_path(reader),
                     found, supported);
}

clef_status clef_field_expect(clef_field_reader *reader, clef_json_event event,
                              clef_json_event wanted) {
    if (event == wanted) {
        return CLEF_OK;
    }
    const char *name = wanted == CLEF_JSON_EVENT_OBJECT_BEGIN  ? "an object"
                       : wanted == CLEF_JSON_EVENT_ARRAY_BEGIN ? "an array"
                       : wanted == CLEF_JSON_EVENT_STRING      ? "a string"
                                                               : "a number";
    return clef_field_refuse(reader, event, name);
}

static clef_status refuse_by_rule(clef_field_reader *reader, clef_json_event event,
                                  const clef_field_rule *rule) {
    char supported[128] = "";
    const char *names[] = {"null", "false", "true", "\"\""};
    size_t length = 0;
    for (unsigned i = 0; i < 4; i++) {
        if ((rule->accepts >> i & 1) != 0) {
            length += (size_t)snprintf(supported + length, sizeof supported - length, "%s%s",
                                       length > 0 ? ", " : "", names[i]);
        }
    }
    if (rule->string != NULL) {
        snprintf(supported + length, sizeof supported - length, "%s\"%s\"", length > 0 ? ", " : "",
                 rule->string);
    }
    return clef_field_refuse(reader, event, supported);
}

/* ---- reading ---- */

clef_status clef_field_read_event(clef_field_reader *reader, clef_json_event *event) {
    clef_status status = clef_json_read(&reader->json, event, reader->error);
    if (status == CLEF_BAD_REQUEST || status == CLEF_BAD_TEXT) {
        char message[1024] = "";
        if (reader->error != NULL) {
            snprintf(message, sizeof message, "%.1023s", reader->error->message);
        }
        return clef_fail(reader->error, CLEF_BAD_FILE, "not valid JSON: %s", message);
    }
    return status;
}

static bool is_accepted(const clef_field_reader *reader, clef_json_event event,
                        const clef_field_rule *rule) {
    clef_text text = reader->json.text;
    switch (event) {
    case CLEF_JSON_EVENT_NULL:
        return (rule->accepts & CLEF_FIELD_NULL) != 0;
    case CLEF_JSON_EVENT_FALSE:
        return (rule->accepts & CLEF_FIELD_FALSE) != 0;
    case CLEF_JSON_EVENT_TRUE:
        return (rule->accepts & CLEF_FIELD_TRUE) != 0;
    case CLEF_JSON_EVENT_STRING:
        if (text.length == 0 && (rule->accepts & CLEF_FIELD_EMPTY) != 0) {
            return true;
        }
        return rule->string != NULL && clef_text_equals(text, clef_text_of(rule->string));
    default:
        return false;
    }
}

/* Reads one field whose KEY event has been read, with the path already at it. */
static clef_status read_field(clef_field_reader *reader, const clef_field_rule *rule,
                              void *context) {
    clef_json_event event;
    clef_status status = clef_field_read_event(reader, &event);
    if (status != CLEF_OK || is_accepted(reader, event, rule)) {
        return status;
    }
    if (rule->fields != NULL) {
        status = clef_field_expect(reader, event, CLEF_JSON_EVENT_OBJECT_BEGIN);
        return status == CLEF_OK
                   ? clef_fields_read(reader, rule->fields, rule->field_count, context)
                   : status;
    }
    return rule->read == NULL ? refuse_by_rule(reader, event, rule) : rule->read(context, event);
}

static clef_status check_required(clef_field_reader *reader, const clef_field_rule *rules,
                                  size_t count, uint32_t seen) {
    for (size_t i = 0; i < count; i++) {
        if (rules[i].is_required && (seen >> i & 1) == 0) {
            return clef_field_fail(reader, "lacks the field \"%s\"", rules[i].name);
        }
    }
    return CLEF_OK;
}

clef_status clef_fields_read(clef_field_reader *reader, const clef_field_rule *rules, size_t count,
                             void *context) {
    settle_element(reader);
    size_t length = reader->path_length;
    uint32_t seen = 0;
    for (;;) {
        clef_json_event event;
        clef_status status = clef_field_read_event(reader, &event);
        if (status != CLEF_OK) {
            return status;
        }
        if (event == CLEF_JSON_EVENT_OBJECT_END) {
            return check_required(reader, rules, count, seen);
        }
        clef_text name = reader->json.text;
        size_t at = 0;
        while (at < count && !clef_text_equals(name, clef_text_of(rules[at].name))) {
            at++;
        }
        int shown = name.length < SHOWN_BYTES ? (int)name.length : SHOWN_BYTES;
        append_path(reader, "%s%.*s", length > 0 ? "." : "", shown, name.bytes);
        if (at == count) {
            return clef_field_fail(reader, "is not a known field of tokenizer.json");
        }
        if ((seen >> at & 1) != 0) {
            return clef_field_fail(reader, "stands in the file twice");
        }
        seen |= UINT32_C(1) << at;
        status = read_field(reader, &rules[at], context);
        if (status != CLEF_OK) {
            return status;
        }
        clef_field_leave(reader, length);
    }
}
