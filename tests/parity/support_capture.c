/* A growing list of copies; a test sees some hundred matrices at most, so it is searched in order.
 */
#include "support_capture.h"

#include "base/memory.h"

#include <stdio.h>

static captured_matrix *find(const trace_capture *capture, const char *name) {
    for (size_t i = 0; i < capture->count; i++) {
        if (strcmp(capture->items[i].name, name) == 0) {
            return &capture->items[i];
        }
    }
    return NULL;
}

const clef_matrix *captured(const trace_capture *capture, const char *name) {
    const captured_matrix *item = find(capture, name);
    return item == NULL ? NULL : &item->matrix;
}

static captured_matrix *add(trace_capture *capture, const char *name, size_t columns) {
    captured_matrix *grown =
        clef_reallocate(capture->items, capture->count + 1, sizeof *capture->items);
    assert_non_null(grown);
    capture->items = grown;
    captured_matrix *item = &grown[capture->count++];
    *item = (captured_matrix){.matrix = {.columns = columns, .stride = columns}};
    snprintf(item->name, sizeof item->name, "%s", name);
    return item;
}

static void append_rows(clef_matrix *to, clef_matrix from) {
    assert_int_equal(to->columns, from.columns);
    float *grown = clef_reallocate(to->data, (to->rows + from.rows) * to->columns, sizeof *grown);
    assert_non_null(grown);
    to->data = grown;
    for (size_t row = 0; row < from.rows; row++, to->rows++) {
        memcpy(to->data + to->rows * to->columns, from.data + row * from.stride,
               to->columns * sizeof *to->data);
    }
}

static void record(void *context, const char *part, int layer, const char *name,
                   clef_matrix matrix) {
    trace_capture *capture = context;
    char number[16] = "";
    if (layer >= 0) {
        snprintf(number, sizeof number, "%d", layer);
    }
    /* Part, layer and name with a dot between those that are there. */
    const char *words[] = {part, number, name};
    char full[sizeof capture->items->name] = "";
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(full);
        snprintf(full + length, sizeof full - length, "%s%s",
                 length > 0 && words[i][0] != '\0' ? "." : "", words[i]);
    }
    captured_matrix *item = find(capture, full);
    if (item == NULL) {
        item = add(capture, full, matrix.columns);
    }
    append_rows(&item->matrix, matrix);
}

clef_trace capture_trace(trace_capture *capture) {
    return (clef_trace){record, capture};
}

void release_capture(trace_capture *capture) {
    for (size_t i = 0; i < capture->count; i++) {
        clef_release(capture->items[i].matrix.data);
    }
    clef_release(capture->items);
    *capture = (struct trace_capture){0};
}
