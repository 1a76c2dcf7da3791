/* What every suite uses: cmocka with its needed headers, fixture paths, whole files, JSON lines. */
#ifndef CLEF_TEST_SUPPORT_H
#define CLEF_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/thread_pool.h"

/* Fails the test with the error's message when status is not CLEF_OK. */
void assert_ok(clef_status status, const clef_error *error);

/* A pool of that many threads, NULL for one. Lives until the program ends. */
clef_thread_pool *threads_of(unsigned count);

/* Whole file as a text, or a failed test. Freed with release_text. */
clef_text load_file(const char *path);
/* A text whose bytes the test owns. */
void release_text(clef_text text);
/* Path under tests/fixtures into a static buffer (one at a time). */
const char *fixture(const char *name);

/* Calls line(context, number from 1, text) for each non-empty line of a fixture. */
void for_each_line(const char *path, void (*line)(void *context, size_t number, clef_text text),
                   void *context);

/* Parses one JSON text into the arena or fails the test. */
clef_json *parse_json(clef_text text, clef_arena *arena);
/* Member that must be there. */
const clef_json *member(const clef_json *object, const char *key);

#endif
