/* Any bytes as JSON: the tree of what is accepted is written, read again and must be the same; the
 * sorted writing must be stable. What is refused must say why, at an offset inside the text. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

/* Numbers are compared as written: 1e2 comes back as 100.0. Depth is bounded, so that recursion is
 * harmless here. */
static void require_same(const clef_json *a, const clef_json *b) {
    require(a->type == b->type && a->count == b->count);
    require(clef_text_equals(a->key, b->key));
    if (a->type == CLEF_JSON_NUMBER) {
        double first = clef_json_double(a->text);
        double second = clef_json_double(b->text);
        require(first == second);
    } else {
        require(clef_text_equals(a->text, b->text));
    }
    const clef_json *other = b->first;
    size_t count = 0;
    for (const clef_json *child = a->first; child != NULL; child = child->next) {
        require(other != NULL);
        require_same(child, other);
        other = other->next;
        count++;
    }
    require(other == NULL && count == a->count);
}

/* A number beyond the doubles is written as Infinity (prompts need it), which is not JSON. */
static bool is_writable(const clef_json *value) {
    if (value->type == CLEF_JSON_NUMBER) {
        return isfinite(clef_json_double(value->text)) != 0;
    }
    for (const clef_json *child = value->first; child != NULL; child = child->next) {
        if (!is_writable(child)) {
            return false;
        }
    }
    return true;
}

static void require_round_trip(const clef_json *value, bool sort_keys) {
    clef_arena arena = {0};
    clef_buffer once = {0};
    clef_buffer twice = {0};
    clef_json_write(&once, value, sort_keys, &arena);
    require(!once.has_failed);
    clef_json *again;
    require(clef_json_parse(clef_buffer_text(&once), &arena, &again, NULL) == CLEF_OK);
    if (!sort_keys) {
        require_same(value, again);
    }
    clef_json_write(&twice, again, sort_keys, &arena);
    require(clef_text_equals(clef_buffer_text(&once), clef_buffer_text(&twice)));
    clef_buffer_release(&once);
    clef_buffer_release(&twice);
    clef_arena_release(&arena);
}

/* The skipping reader must judge a text as the tree does. */
static void require_same_verdict(clef_text text, clef_status verdict) {
    clef_arena arena = {0};
    clef_json_reader reader;
    clef_json_reader_init(&reader, text, &arena);
    clef_status status = clef_json_skip(&reader, NULL);
    clef_json_event event;
    if (status == CLEF_OK) {
        status = clef_json_read(&reader, &event, NULL);
        require(status != CLEF_OK || event == CLEF_JSON_EVENT_END);
    }
    require(status == verdict);
    clef_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    clef_text text = {(const char *)data, size};
    clef_arena arena = {0};
    clef_error error = {0};
    clef_json *value;
    clef_status status = clef_json_parse(text, &arena, &value, &error);
    if (status == CLEF_OK) {
        if (is_writable(value)) {
            require_round_trip(value, false);
            require_round_trip(value, true);
        }
    } else {
        require(status == CLEF_BAD_REQUEST || status == CLEF_BAD_TEXT);
        require(value == NULL && error.message[0] != '\0' && error.offset <= size);
    }
    require_same_verdict(text, status);
    clef_arena_release(&arena);
    return 0;
}
