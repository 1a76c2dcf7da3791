/* What the tokenizer suites share: opening a tokenizer, and comparing ids with a JSON list. */
#ifndef CLEF_TEST_TOKENIZER_CASES_H
#define CLEF_TEST_TOKENIZER_CASES_H

#include "support.h"

#include "base/memory.h"
#include "tokenizer/tokenizer.h"

#include <stdio.h>

static inline clef_tokenizer *open_tokenizer(const char *path) {
    clef_tokenizer *tokenizer = NULL;
    clef_error error = {0};
    assert_ok(clef_tokenizer_load(path, &tokenizer, &error), &error);
    return tokenizer;
}

static inline clef_token_list encode_text(const clef_tokenizer *tokenizer, clef_text text,
                                          clef_control_tokens mode) {
    clef_token_list list = {0};
    clef_error error = {0};
    assert_ok(clef_tokenizer_encode(tokenizer, text, mode, 0, &list, &error), &error);
    return list;
}

/* Appends a JSON list of ids. */
static inline void append_ids(clef_token_list *list, const clef_json *ids) {
    clef_error error = {0};
    assert_ok(clef_token_list_reserve(list, ids->count, &error), &error);
    for (const clef_json *id = ids->first; id != NULL; id = id->next) {
        uint64_t value;
        assert_true(clef_json_unsigned(id, &value));
        list->ids[list->count++] = (uint32_t)value;
    }
}

static inline void assert_same_ids(const char *name, const clef_token_list *found,
                                   const clef_token_list *wanted) {
    size_t shorter = found->count < wanted->count ? found->count : wanted->count;
    for (size_t i = 0; i < shorter; i++) {
        if (found->ids[i] != wanted->ids[i]) {
            fail_msg("%s: id %zu is %u, not %u", name, i, found->ids[i], wanted->ids[i]);
        }
    }
    if (found->count != wanted->count) {
        fail_msg("%s: %zu ids, not %zu", name, found->count, wanted->count);
    }
}

static inline void assert_encodes(const clef_tokenizer *tokenizer, const char *name, clef_text text,
                                  clef_control_tokens mode, const clef_token_list *wanted) {
    clef_token_list found = encode_text(tokenizer, text, mode);
    assert_same_ids(name, &found, wanted);
    clef_token_list_release(&found);
}

/* Text of ids, decoded in one go. Released with clef_buffer_release. */
static inline clef_buffer decode_ids(const clef_tokenizer *tokenizer, const clef_token_list *list,
                                     bool skip_special) {
    clef_buffer out = {0};
    clef_token_decoder decoder = {.skip_special = skip_special};
    for (size_t i = 0; i < list->count; i++) {
        clef_token_decoder_push(&decoder, tokenizer, list->ids[i], &out);
    }
    clef_token_decoder_finish(&decoder, &out);
    assert_false(out.has_failed);
    return out;
}

static inline void assert_text(const char *name, clef_text found, clef_text wanted) {
    if (!clef_text_equals(found, wanted)) {
        fail_msg("%s: \"%.*s\", not \"%.*s\"", name, (int)found.length, found.bytes,
                 (int)wanted.length, wanted.bytes);
    }
}

#endif
