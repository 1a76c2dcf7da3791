/* Requests, prompts and pieces for the suites of this folder; each fails the running test rather
 * than returning an error. */
#ifndef CLEF_TEST_REQUESTS_H
#define CLEF_TEST_REQUESTS_H

#include "decide/prompt.h"
#include "support.h"

#include "base/memory.h"

static inline clef_request *accept(clef_arena *arena, clef_text body) {
    clef_request *request = NULL;
    clef_error error = {0};
    assert_ok(clef_request_parse(body, NULL, arena, &request, &error), &error);
    return request;
}

static inline size_t number(const clef_json *value) {
    uint64_t result = 0;
    assert_true(clef_json_unsigned(value, &result));
    return (size_t)result;
}

static inline clef_tokenizer *load_tokenizer(const char *path) {
    clef_tokenizer *tokenizer = NULL;
    clef_error error = {0};
    assert_ok(clef_tokenizer_load(path, &tokenizer, &error), &error);
    return tokenizer;
}

static inline clef_prompt encode(const clef_tokenizer *tokenizer, const clef_request *request,
                                 const clef_prompt_options *options, clef_arena *arena) {
    clef_prompt prompt;
    clef_error error = {0};
    assert_ok(clef_prompt_encode(tokenizer, request, options, arena, &prompt, &error), &error);
    return prompt;
}

static inline bool equals(clef_text text, const char *string) {
    return clef_text_equals(text, clef_text_of(string));
}

/* All pieces of a request, copied. */
typedef struct piece_list {
    clef_text pieces[1024];
    size_t count;
    clef_arena arena;
} piece_list;

static inline void keep_piece(void *context, clef_text text) {
    piece_list *list = context;
    assert_true(list->count < sizeof list->pieces / sizeof *list->pieces);
    list->pieces[list->count++] = clef_arena_copy(&list->arena, text);
}

static inline piece_list *list_pieces(const clef_request *request) {
    piece_list *list = clef_allocate(1, sizeof *list);
    clef_error error = {0};
    assert_non_null(list);
    assert_ok(clef_prompt_pieces(request, &list->arena, keep_piece, list, &error), &error);
    return list;
}

static inline void release_pieces(piece_list *list) {
    clef_arena_release(&list->arena);
    clef_release(list);
}

#endif
