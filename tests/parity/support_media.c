/* Helpers of the media suites. */
#include "support_media.h"

#include "base/memory.h"

#include <stdio.h>

clef_text load_picture_file(clef_text name) {
    char path[1024];
    snprintf(path, sizeof path, "tiny-random/media/images/%.*s", (int)name.length, name.bytes);
    return load_file(fixture(path));
}

void assert_digest_text(clef_digest_state *state, const clef_json *row, const char *key) {
    clef_digest digest = clef_digest_finish(state);
    char text[2 * CLEF_DIGEST_BYTES + 1];
    for (size_t i = 0; i < CLEF_DIGEST_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", digest.bytes[i]);
    }
    clef_text expected = member(row, key)->text;
    if (!clef_text_equals(expected, clef_text_of(text))) {
        const clef_json *name = clef_json_member(row, "file");
        name = name != NULL ? name : member(row, "name");
        fail_msg("%.*s: %s is %s, expected %.*s", (int)name->text.length, name->text.bytes, key,
                 text, (int)expected.length, expected.bytes);
    }
}

void assert_sha256(const void *bytes, size_t length, const clef_json *row, const char *key) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_SHA256);
    clef_digest_add(&state, bytes, length);
    assert_digest_text(&state, row, key);
}

uint64_t number_at(const clef_json *list, size_t index) {
    const clef_json *item = list->first;
    for (; item != NULL && index > 0; index--) {
        item = item->next;
    }
    uint64_t number = 0;
    assert_true(clef_json_unsigned(item, &number));
    return number;
}

bool has_member(const clef_json *object, const char *key) {
    return clef_json_member(object, key) != NULL;
}

double sum_floats(const float *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}
