/* Helpers of the suites; each fails the running test rather than returning an error. */
#include "support.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

void assert_ok(clef_status status, const clef_error *error) {
    if (status != CLEF_OK) {
        fail_msg("%s: %s [%s]", clef_status_name(status), error->message, error->place);
    }
}

enum { POOLS = 64 };
static clef_thread_pool *pools[POOLS + 1]; /* by size */

static void close_pools(void) {
    for (size_t i = 0; i <= POOLS; i++) {
        clef_thread_pool_close(pools[i]);
    }
}

clef_thread_pool *threads_of(unsigned count) {
    static bool closes;
    unsigned size = count < POOLS ? count : POOLS;
    if (size > 1 && pools[size] == NULL) {
        clef_error error = {0};
        assert_ok(clef_thread_pool_create(size, &pools[size], &error), &error);
        if (!closes) {
            closes = atexit(close_pools) == 0;
        }
    }
    return pools[size];
}

clef_text load_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    clef_buffer buffer = {0};
    char block[65536];
    size_t got;
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        clef_buffer_append(&buffer, block, got);
    }
    fclose(file);
    assert_false(buffer.has_failed);
    size_t length;
    char *bytes = clef_buffer_take(&buffer, &length);
    return (clef_text){bytes, length};
}

void release_text(clef_text text) {
    clef_release((void *)(uintptr_t)text.bytes);
}

const char *fixture(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", CLEF_FIXTURES, name);
    return path;
}

void for_each_line(const char *path, void (*line)(void *context, size_t number, clef_text text),
                   void *context) {
    clef_text text = load_file(path);
    size_t number = 0;
    for (size_t begin = 0; begin < text.length;) {
        const char *end = memchr(text.bytes + begin, '\n', text.length - begin);
        size_t length = end == NULL ? text.length - begin : (size_t)(end - text.bytes) - begin;
        number++;
        if (length > 0) {
            line(context, number, (clef_text){text.bytes + begin, length});
        }
        begin += length + 1;
    }
    clef_release((void *)(uintptr_t)text.bytes);
}

clef_json *parse_json(clef_text text, clef_arena *arena) {
    clef_json *value = NULL;
    clef_error error = {0};
    assert_ok(clef_json_parse(text, arena, &value, &error), &error);
    return value;
}

const clef_json *member(const clef_json *object, const char *key) {
    const clef_json *value = clef_json_member(object, key);
    if (value == NULL) {
        fail_msg("no member %s", key);
    }
    return value;
}
