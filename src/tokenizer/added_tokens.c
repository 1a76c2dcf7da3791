/* Ids sorted so that trying them in order finds the longest first. See added_tokens.h. */
#include "tokenizer/added_tokens.h"

#include "base/memory.h"

static unsigned first_byte_of(clef_text text) {
    return (unsigned char)text.bytes[0];
}

/* By first byte, then longest first, then by bytes; 0 for equal texts. */
static int compare_tokens(clef_text a, clef_text b) {
    if (first_byte_of(a) != first_byte_of(b)) {
        return first_byte_of(a) < first_byte_of(b) ? -1 : 1;
    }
    if (a.length != b.length) {
        return a.length > b.length ? -1 : 1;
    }
    return memcmp(a.bytes, b.bytes, a.length);
}

static clef_status insert_token(clef_added_tokens *added, const clef_vocabulary *vocabulary,
                                uint32_t id, clef_error *error) {
    clef_text text = clef_vocabulary_bytes(vocabulary, id);
    size_t at = added->count;
    while (at > 0) {
        int order = compare_tokens(clef_vocabulary_bytes(vocabulary, added->ids[at - 1]), text);
        if (order == 0) {
            return clef_fail(error, CLEF_BAD_FILE, "ids %u and %u have the same text",
                             added->ids[at - 1], id);
        }
        if (order < 0) {
            break;
        }
        added->ids[at] = added->ids[at - 1];
        at--;
    }
    added->ids[at] = id;
    added->count++;
    return CLEF_OK;
}

static void index_first_bytes(clef_added_tokens *added, const clef_vocabulary *vocabulary) {
    for (size_t i = 0; i < added->count; i++) {
        unsigned first = first_byte_of(clef_vocabulary_bytes(vocabulary, added->ids[i]));
        added->begins[first + 1]++;
        added->only_first = i == 0 || added->only_first == (int)first ? (int)first : -1;
    }
    for (size_t i = 1; i < 257; i++) {
        added->begins[i] = (uint16_t)(added->begins[i] + added->begins[i - 1]);
    }
}

clef_status clef_added_tokens_build(clef_added_tokens *added, const clef_vocabulary *vocabulary,
                                    clef_error *error) {
    size_t count = 0;
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        count += clef_vocabulary_kind(vocabulary, id) > CLEF_ENTRY_BASE;
    }
    if (count > CLEF_ADDED_TOKEN_LIMIT) {
        return clef_fail(error, CLEF_BAD_FILE, "there are %zu; the limit is %d", count,
                         CLEF_ADDED_TOKEN_LIMIT);
    }
    added->ids = clef_allocate(count, sizeof *added->ids);
    if (added->ids == NULL) {
        return clef_fail_memory(error, count * sizeof *added->ids, "the added tokens");
    }
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        if (clef_vocabulary_kind(vocabulary, id) > CLEF_ENTRY_BASE) {
            clef_status status = insert_token(added, vocabulary, id, error);
            if (status != CLEF_OK) {
                return status;
            }
        }
    }
    index_first_bytes(added, vocabulary);
    return CLEF_OK;
}

void clef_added_tokens_release(clef_added_tokens *added) {
    clef_release(added->ids);
    *added = (clef_added_tokens){0};
}

/* Offset at or after `at` of a byte that begins an added token, or text.length. */
static size_t skip_to_first(const clef_added_tokens *added, clef_text text, size_t at) {
    if (added->count == 0) {
        return text.length;
    }
    if (added->only_first >= 0) {
        const char *found = memchr(text.bytes + at, added->only_first, text.length - at);
        return found == NULL ? text.length : (size_t)(found - text.bytes);
    }
    while (at < text.length) {
        unsigned char byte = (unsigned char)text.bytes[at];
        if (added->begins[byte] != added->begins[byte + 1]) {
            break;
        }
        at++;
    }
    return at;
}

bool clef_added_tokens_find(const clef_added_tokens *added, const clef_vocabulary *vocabulary,
                            clef_text text, size_t from, size_t *begin, uint32_t *id) {
    for (size_t at = from; at < text.length; at++) {
        at = skip_to_first(added, text, at);
        if (at == text.length) {
            break;
        }
        unsigned char first = (unsigned char)text.bytes[at];
        for (size_t i = added->begins[first]; i < added->begins[first + 1]; i++) {
            clef_text token = clef_vocabulary_bytes(vocabulary, added->ids[i]);
            if (token.length <= text.length - at &&
                memcmp(token.bytes, text.bytes + at, token.length) == 0) {
                *begin = at;
                *id = added->ids[i];
                return true;
            }
        }
    }
    return false;
}

bool clef_added_tokens_find_whole(const clef_added_tokens *added, const clef_vocabulary *vocabulary,
                                  clef_text text, uint32_t *id) {
    for (size_t i = 0; i < added->count; i++) {
        if (clef_text_equals(clef_vocabulary_bytes(vocabulary, added->ids[i]), text)) {
            *id = added->ids[i];
            return true;
        }
    }
    return false;
}
