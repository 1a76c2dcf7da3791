/* Values and strings as JSON text. Containers being written stand on an explicit stack, each with
 * the children it still has to write: a list in their own order, or an array of sorted members. */
#include "base/json.h"

#include "base/json_members.h"

typedef struct write_frame {
    const clef_json *container;
    const clef_json *next;     /* in own order: next child */
    const clef_json **members; /* sorted: all members, or NULL */
    size_t index;              /* of the next member */
} write_frame;

/* ---- strings ---- */

static bool needs_escape(unsigned char byte) {
    return byte < 0x20 || byte == '"' || byte == '\\';
}

static void write_escape(clef_buffer *out, unsigned char byte) {
    static const char hexadecimal[] = "0123456789abcdef";
    char escape[6] = {'\\', (char)byte, '0', '0', '0', '0'};
    size_t length = 2;
    switch (byte) {
    case '"':
    case '\\':
        break;
    case '\b':
        escape[1] = 'b';
        break;
    case '\t':
        escape[1] = 't';
        break;
    case '\n':
        escape[1] = 'n';
        break;
    case '\f':
        escape[1] = 'f';
        break;
    case '\r':
        escape[1] = 'r';
        break;
    default:
        escape[1] = 'u';
        escape[4] = hexadecimal[byte >> 4];
        escape[5] = hexadecimal[byte & 15];
        length = sizeof escape;
        break;
    }
    clef_buffer_append(out, escape, length);
}

void clef_json_write_string(clef_buffer *out, clef_text text) {
    clef_buffer_append_byte(out, '"');
    size_t begin = 0;
    for (size_t at = 0; at < text.length; at++) {
        if (needs_escape((unsigned char)text.bytes[at])) {
            clef_buffer_append(out, text.bytes + begin, at - begin);
            write_escape(out, (unsigned char)text.bytes[at]);
            begin = at + 1;
        }
    }
    if (begin < text.length) {
        clef_buffer_append(out, text.bytes + begin, text.length - begin);
    }
    clef_buffer_append_byte(out, '"');
}

/* ---- values ---- */

static void write_scalar(clef_buffer *out, const clef_json *value) {
    switch (value->type) {
    case CLEF_JSON_FALSE:
        clef_buffer_append(out, "false", 5);
        break;
    case CLEF_JSON_TRUE:
        clef_buffer_append(out, "true", 4);
        break;
    case CLEF_JSON_NUMBER:
        clef_json_write_number(out, value->text);
        break;
    case CLEF_JSON_STRING:
        clef_json_write_string(out, value->text);
        break;
    default:
        clef_buffer_append(out, "null", 4);
        break;
    }
}

/* The members of an object, sorted, in scratch memory; NULL when memory is short. */
static const clef_json **sort_members(const clef_json *object, clef_arena *scratch) {
    const clef_json **members =
        clef_arena_allocate(scratch, object->count, 2 * sizeof(clef_json *));
    if (members == NULL) {
        return NULL;
    }
    size_t count = 0;
    for (const clef_json *member = object->first; member != NULL; member = member->next) {
        members[count++] = member;
    }
    clef_json_members_sort(members, members + count, count);
    return members;
}

/* Prepares the frame of a container; false when memory is short. */
static bool begin_container(write_frame *frame, const clef_json *container, bool sort_keys,
                            clef_arena *scratch) {
    *frame = (write_frame){.container = container, .next = container->first};
    if (sort_keys && container->type == CLEF_JSON_OBJECT && container->count > 1) {
        frame->members = sort_members(container, scratch);
        return frame->members != NULL;
    }
    return true;
}

/* The next child to write, or NULL behind the last. */
static const clef_json *next_child(write_frame *frame) {
    const clef_json *child = frame->next;
    if (frame->members != NULL) {
        bool is_behind = frame->index == frame->container->count;
        child = is_behind ? NULL : frame->members[frame->index];
    } else if (child != NULL) {
        frame->next = child->next;
    }
    frame->index++;
    return child;
}

void clef_json_write(clef_buffer *out, const clef_json *value, bool sort_keys,
                     clef_arena *scratch) {
    write_frame open[CLEF_JSON_DEPTH_LIMIT];
    size_t depth = 0;
    for (;;) {
        if (value->type != CLEF_JSON_ARRAY && value->type != CLEF_JSON_OBJECT) {
            write_scalar(out, value);
        } else if (depth == CLEF_JSON_DEPTH_LIMIT ||
                   !begin_container(&open[depth], value, sort_keys, scratch)) {
            out->has_failed = true;
            return;
        } else {
            clef_buffer_append_byte(out, value->type == CLEF_JSON_ARRAY ? '[' : '{');
            depth++;
        }
        /* Close what is complete; then `value` is the next child of what is still open. */
        value = NULL;
        while (depth > 0 && (value = next_child(&open[depth - 1])) == NULL) {
            depth--;
            clef_buffer_append_byte(out,
                                    open[depth].container->type == CLEF_JSON_ARRAY ? ']' : '}');
        }
        if (value == NULL || out->has_failed) {
            return;
        }
        if (open[depth - 1].index > 1) {
            clef_buffer_append_byte(out, ',');
        }
        if (open[depth - 1].container->type == CLEF_JSON_OBJECT) {
            clef_json_write_string(out, value->key);
            clef_buffer_append_byte(out, ':');
        }
    }
}
