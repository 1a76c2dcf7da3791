/* Any bytes as a request: cut at any place they are judged the same, slices stay inside, and what a
 * head says about its body leads through the body to one end. The first byte chooses the cuts. */
#include "server/http_chunks.h"
#include "server/http_head.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

static void require_inside(clef_text part, clef_text whole) {
    require(part.length == 0 ||
            (part.bytes >= whole.bytes && part.bytes + part.length <= whole.bytes + whole.length) ||
            clef_text_equals(part, CLEF_TEXT("/")));
}

/* Looks for the head in pieces of `step` bytes. */
static size_t find(clef_text text, size_t step, clef_http_refusal *refusal) {
    size_t scanned = 0;
    size_t found = 0;
    *refusal = (clef_http_refusal){0};
    for (size_t length = 0; length < text.length && found == 0 && refusal->status == 0;) {
        length = text.length - length < step ? text.length : length + step;
        found = clef_http_head_find(text.bytes, length, &scanned, refusal);
    }
    return found;
}

static clef_chunk_result decode(clef_text text, size_t step, clef_buffer *body, size_t *total) {
    clef_http_chunks chunks = {0};
    clef_chunk_result result = CLEF_CHUNKS_MORE;
    *total = 0;
    while (*total < text.length && result == CLEF_CHUNKS_MORE) {
        size_t here = text.length - *total < step ? text.length - *total : step;
        size_t used = 0;
        result = clef_http_chunks_feed(&chunks, (clef_text){text.bytes + *total, here}, 1 << 16,
                                       body, &used);
        require(used <= here);
        *total += used;
    }
    return result;
}

static void require_same_body(clef_text text, size_t step) {
    clef_buffer whole = {0};
    clef_buffer pieces = {0};
    size_t first, second;
    clef_chunk_result result = decode(text, text.length + 1, &whole, &first);
    require(decode(text, step, &pieces, &second) == result && first == second);
    require(clef_text_equals(clef_buffer_text(&whole), clef_buffer_text(&pieces)));
    clef_buffer_release(&whole);
    clef_buffer_release(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    size_t step = (size_t)data[0] % 7 + 1;
    clef_text text = {(const char *)data + 1, size - 1};
    clef_http_refusal refusal, again;
    size_t length = find(text, text.length + 1, &refusal);
    require(find(text, step, &again) == length && again.status == refusal.status);
    require_same_body(text, step);
    if (length == 0) {
        return 0;
    }
    static clef_http_head head;
    clef_text bytes = {text.bytes, length};
    if (clef_http_head_parse(bytes, &head, &refusal)) {
        require(refusal.status == 0 && !(head.is_chunked && head.has_content_length));
        require_inside(head.method, bytes);
        require_inside(head.path, bytes);
        require_inside(head.query, bytes);
        for (size_t i = 0; i < head.field_count; i += 1) {
            require_inside(head.fields[i].name, bytes);
            require_inside(head.fields[i].value, bytes);
        }
    } else {
        require(refusal.status >= 400 && refusal.reason != NULL);
    }
    return 0;
}
