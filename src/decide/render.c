/* Values as text. The rules of numbers and strings are those of base/json; here stands only which
 * of them applies where. */
#include "decide/render.h"

#include <math.h>
#include <stdio.h>

#define NAME_LIMIT 100

clef_text clef_render_value(const clef_json *value, clef_buffer *buffer, clef_arena *scratch) {
    if (value->type == CLEF_JSON_STRING) {
        return value->text;
    }
    clef_buffer_clear(buffer);
    clef_json_write(buffer, value, true, scratch);
    return clef_buffer_text(buffer);
}

size_t clef_render_least(const clef_json *value, size_t enough) {
    const clef_json *open[CLEF_JSON_DEPTH_LIMIT]; /* the reader admits no deeper nesting */
    size_t depth = 0;
    size_t least = 0;
    for (const clef_json *node = value; node != NULL && least <= enough;) {
        least += node == value ? 0 : node->key.length;
        /* The spelling of a number may be longer than what is written. */
        least += node->type == CLEF_JSON_STRING ? node->text.length : 1;
        if (node->first != NULL && depth < CLEF_JSON_DEPTH_LIMIT) {
            open[depth++] = node;
            node = node->first;
            continue;
        }
        while (depth > 0 && node->next == NULL) {
            node = open[--depth];
        }
        node = depth > 0 ? node->next : NULL;
    }
    return least;
}

void clef_render_option(clef_buffer *out, const clef_option *option, clef_arena *scratch) {
    clef_buffer_append_byte(out, '{');
    if (option->description != NULL) {
        clef_buffer_append_string(out, "\"description\":");
        clef_json_write(out, option->description, true, scratch);
        clef_buffer_append_byte(out, ',');
    }
    clef_buffer_append_string(out, "\"option_id\":");
    clef_json_write_string(out, option->id);
    clef_buffer_append_byte(out, '}');
}

/* A value without children; an empty array or object is one too. */
static void echo_leaf(clef_buffer *out, const clef_json *value) {
    switch (value->type) {
    case CLEF_JSON_NULL:
        clef_buffer_append_string(out, "null");
        break;
    case CLEF_JSON_FALSE:
        clef_buffer_append_string(out, "false");
        break;
    case CLEF_JSON_TRUE:
        clef_buffer_append_string(out, "true");
        break;
    case CLEF_JSON_NUMBER:
        if (isinf(clef_json_double(value->text))) {
            clef_buffer_append_text(out, value->text);
        } else {
            clef_json_write_number(out, value->text);
        }
        break;
    case CLEF_JSON_STRING:
        clef_json_write_string(out, value->text);
        break;
    case CLEF_JSON_ARRAY:
        clef_buffer_append_string(out, "[]");
        break;
    case CLEF_JSON_OBJECT:
        clef_buffer_append_string(out, "{}");
        break;
    }
}

void clef_render_echo(clef_buffer *out, const clef_json *value) {
    const clef_json *open[CLEF_JSON_DEPTH_LIMIT]; /* the reader admits no deeper nesting */
    size_t depth = 0;
    if (value == NULL) {
        clef_buffer_append_string(out, "null");
        return;
    }
    for (;;) {
        if (depth > 0 && open[depth - 1]->type == CLEF_JSON_OBJECT) {
            clef_json_write_string(out, value->key);
            clef_buffer_append_byte(out, ':');
        }
        if (value->first != NULL && depth < CLEF_JSON_DEPTH_LIMIT) {
            clef_buffer_append_byte(out, value->type == CLEF_JSON_OBJECT ? '{' : '[');
            open[depth++] = value;
            value = value->first;
            continue;
        }
        echo_leaf(out, value);
        while (depth > 0 && value->next == NULL) {
            value = open[--depth];
            clef_buffer_append_byte(out, value->type == CLEF_JSON_OBJECT ? '}' : ']');
        }
        if (depth == 0) {
            return;
        }
        clef_buffer_append_byte(out, ',');
        value = value->next;
    }
}

/* Would end the line of a message, or hide in it. */
static bool needs_escape(uint32_t code_point) {
    return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) || code_point == 0x2028 ||
           code_point == 0x2029;
}

void clef_render_name(clef_text id, char name[CLEF_NAME_BYTES]) {
    size_t length = 0;
    for (size_t at = 0; at < id.length;) {
        char piece[8];
        size_t size;
        uint32_t code_point = clef_utf8_next(id.bytes, id.length, &at);
        if (needs_escape(code_point)) {
            size = (size_t)snprintf(piece, sizeof piece, "\\u%04x", (unsigned)code_point);
        } else {
            size = clef_utf8_write(code_point, piece);
        }
        if (length + size > NAME_LIMIT) {
            memcpy(name + length, "\xE2\x80\xA6", 3); /* … */
            length += 3;
            break;
        }
        memcpy(name + length, piece, size);
        length += size;
    }
    name[length] = '\0';
}

void clef_render_count(size_t count, char text[CLEF_COUNT_BYTES]) {
    char digits[CLEF_COUNT_BYTES];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%zu", count);
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[out++] = ',';
        }
        text[out++] = digits[i];
    }
    text[out] = '\0';
}

void clef_render_place(clef_text id, char name[CLEF_NAME_BYTES]) {
    bool fits = id.length < CLEF_NAME_BYTES && memchr(id.bytes, '\0', id.length) == NULL &&
                memchr(id.bytes, '\x1f', id.length) == NULL;
    if (!fits) {
        clef_render_name(id, name);
        return;
    }
    memcpy(name, id.bytes, id.length);
    name[id.length] = '\0';
}
