/* The text around the names stays as it is, byte for byte: numbers and keys of a request are part
 * of its prompt. */
#include "cli/request_files.h"

#include "base/arena.h"
#include "base/json.h"
#include "cli/request_media.h"

#include <stdlib.h>

/* More than any request may have; the rest is refused as it stands. */
#define NAME_LIMIT 4096

/* Strings of a request that name files, in the order of the text. */
typedef struct name_list {
    clef_text body;
    clef_text *names; /* without quotes; in the body */
    size_t count;
    clef_error *error;
} name_list;

static clef_status add_name(name_list *list, const clef_json *value) {
    clef_text text = value->text;
    if (value->type != CLEF_JSON_STRING || text.length == 0 || text.bytes[0] != '@') {
        return CLEF_OK;
    }
    /* A string with escapes lies elsewhere. */
    bool is_in_body = text.bytes > list->body.bytes &&
                      text.bytes + text.length < list->body.bytes + list->body.length;
    if (!is_in_body) {
        return clef_fail(list->error, CLEF_USAGE,
                         "\"%.*s\" in a request: names of files are written without escapes",
                         (int)(text.length < 200 ? text.length : 200), text.bytes);
    }
    if (list->count < NAME_LIMIT) {
        list->names[list->count++] = text;
    }
    return CLEF_OK;
}

/* Items, and the items of items, which are frames. */
static clef_status add_items(name_list *list, const clef_json *items) {
    clef_status status = CLEF_OK;
    const clef_json *item = items == NULL || items->type != CLEF_JSON_ARRAY ? NULL : items->first;
    for (; item != NULL && status == CLEF_OK; item = item->next) {
        const clef_json *frame = item->type == CLEF_JSON_ARRAY ? item->first : NULL;
        status = add_name(list, item);
        for (; frame != NULL && status == CLEF_OK; frame = frame->next) {
            status = add_name(list, frame);
        }
    }
    return status;
}

static int compare_places(const void *a, const void *b) {
    const clef_text *first = a, *second = b;
    return first->bytes < second->bytes ? -1 : first->bytes > second->bytes;
}

static clef_status write_embedded(const name_list *list, clef_arena *arena, clef_buffer *out) {
    const char *at = list->body.bytes;
    for (size_t i = 0; i < list->count; i++) {
        clef_text name = list->names[i];
        clef_text path = clef_arena_copy(arena, (clef_text){name.bytes + 1, name.length - 1});
        if (path.bytes == NULL) {
            return clef_fail_memory(list->error, name.length, "a path");
        }
        /* Its opening quote goes with it: what comes in has quotes of its own. */
        clef_buffer_append(out, at, (size_t)(name.bytes - 1 - at));
        clef_status status = clef_request_media_append_file(path.bytes, out, list->error);
        if (status != CLEF_OK) {
            return status;
        }
        at = name.bytes + name.length + 1;
    }
    clef_buffer_append(out, at, (size_t)(list->body.bytes + list->body.length - at));
    return clef_buffer_check(out, "the request", list->error);
}

clef_status clef_request_files_embed(clef_text body, clef_buffer *embedded, clef_text *result,
                                     clef_error *error) {
    clef_arena arena = {0};
    clef_json *root;
    *result = body;
    if (memmem(body.bytes, body.length, "\"@", 2) == NULL ||
        clef_json_parse(body, &arena, &root, NULL) != CLEF_OK) {
        clef_arena_release(&arena);
        return CLEF_OK;
    }
    name_list list = {.body = body, .error = error};
    list.names = clef_arena_allocate(&arena, NAME_LIMIT, sizeof *list.names);
    clef_status status = list.names == NULL
                             ? clef_fail_memory(error, NAME_LIMIT, "the names of files")
                             : add_items(&list, clef_json_member(root, "images"));
    if (status == CLEF_OK) {
        status = add_items(&list, clef_json_member(root, "videos"));
    }
    if (status == CLEF_OK && list.count > 0) {
        qsort(list.names, list.count, sizeof *list.names, compare_places);
        status = write_embedded(&list, &arena, embedded);
        *result = clef_buffer_text(embedded);
    }
    clef_arena_release(&arena);
    return status;
}
