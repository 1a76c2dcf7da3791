/* What the suites of kept states share: requests whose states and questions are chosen apart, and
 * sessions that keep. */
#ifndef CLEF_TEST_CACHE_SUPPORT_H
#define CLEF_TEST_CACHE_SUPPORT_H

#include "engine_support.h"

#include "base/memory.h"
#include "engine/session_parts.h"

/* Words number `first` to `first + count` of an endless text that follows a seed. */
static inline void append_text(clef_buffer *body, uint64_t seed, size_t count) {
    static const char *const words[] = {"the",   "order", "came",   "late",  "screen", "broke",
                                        "money", "back",  "please", "today", "thanks", "7"};
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_string(body, i == 0 ? "" : " ");
        clef_buffer_append_string(body, words[next_number(&seed) % 12]);
    }
}

/* A record with `words` words of the text `state` as its state and questions that follow
 * `question`. Longer states of one text begin with the shorter ones. */
static inline clef_record *encode_pair(clef_model *model, uint64_t state, size_t words,
                                       uint64_t question, const char *scope) {
    clef_buffer body = {0};
    clef_error error = {0};
    clef_record *record = NULL;
    clef_record_options options = {.cache_scope = scope};
    clef_buffer_append_string(&body, "{\"model\":\"clef\",\"state\":\"");
    append_text(&body, state, words);
    clef_buffer_append_format(&body,
                              "\",\"questions\":{\"%c\":{\"type\":\"choice\",\"instructions\":\"",
                              (int)('a' + question % 20));
    append_text(&body, question + 99, 3 + question % 5);
    clef_buffer_append_string(&body, "?\",\"criteria\":{\"yes\":\"fine\",\"no\":null}},"
                                     "\"late\":{\"type\":\"noul\"}}}");
    assert_ok(clef_buffer_check(&body, "a body", &error), &error);
    assert_ok(clef_record_encode(model, body.bytes, body.length, &options, &record, &error),
              &error);
    clef_buffer_release(&body);
    return record;
}

static inline clef_session *open_keeping(clef_model *model, uint32_t rows, uint64_t bytes,
                                         uint32_t entries) {
    clef_error error = {0};
    clef_session *session = NULL;
    clef_session_options options = {
        .rows_per_step = rows, .prefix_cache_bytes = bytes, .prefix_cache_entries = entries};
    assert_ok(clef_session_create(model, &options, &session, &error), &error);
    return session;
}

static inline uint32_t cached_of(const clef_answer *answer) {
    clef_answer_usage usage;
    clef_answer_describe(answer, &usage);
    return usage.cached_tokens;
}

static inline clef_session_statistics numbers_of(const clef_session *session) {
    clef_session_statistics numbers;
    clef_session_describe(session, &numbers);
    return numbers;
}

/* Bytes of an entry of `tokens` tokens that shares nothing. */
static inline uint64_t bytes_of_entry(const clef_model *model, size_t tokens) {
    return clef_state_layout_bytes(&model->network.layout, tokens) + sizeof(clef_prefix_entry) +
           (tokens + CLEF_GRID - 1) / CLEF_GRID * clef_prefix_node_bytes();
}

#endif
