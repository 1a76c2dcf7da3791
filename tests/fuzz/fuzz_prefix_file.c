/* libFuzzer entry: a kept state as its file, once as it is and once with the digest of its header
 * put right, so that what lies behind that check is reached too. */
#include "state/prefix_file.h"

#include "base/memory.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

static bool read_bytes(void *context, uint64_t offset, void *out, size_t length) {
    const bytes *from = context;
    if (offset > from->size || length > from->size - offset) {
        return false;
    }
    memcpy(out, from->data + offset, length);
    return true;
}

static void read_content(const clef_prefix_source *source, const clef_prefix_header *header) {
    size_t pages = (size_t)(header->position - header->from) / 64;
    uint32_t *tokens = malloc(pages * 64 * sizeof *tokens);
    float **places = calloc(pages, sizeof *places);
    float *floats =
        malloc((size_t)(pages * header->page_floats + header->fixed_floats + 1) * sizeof *floats);
    if (tokens != NULL && places != NULL && floats != NULL &&
        source->read(source->context, CLEF_PREFIX_HEADER_BYTES, tokens,
                     pages * 64 * sizeof *tokens)) {
        for (size_t i = 0; i < pages; i++) {
            places[i] = floats + i * header->page_floats;
        }
        (void)clef_prefix_file_read_pages(source, header, tokens, places);
        (void)clef_prefix_file_read_fixed(source, header, floats);
        tokens[0] ^= 1;
        if (clef_prefix_file_read_pages(source, header, tokens, places)) {
            __builtin_trap(); /* other tokens were taken for these */
        }
    }
    free(tokens);
    free(places);
    free(floats);
}

static void read_file(const uint8_t *data, size_t size) {
    bytes whole = {data, size};
    clef_prefix_source source = {read_bytes, &whole, size};
    clef_prefix_header header;
    if (!clef_prefix_header_read(&source, &header)) {
        return;
    }
    /* What was read writes itself, but for the bytes that mean nothing. */
    unsigned char again[CLEF_PREFIX_HEADER_BYTES];
    clef_prefix_header copy;
    bytes written = {again, sizeof again};
    clef_prefix_header_write(&header, again);
    clef_prefix_source other = {read_bytes, &written, size};
    if (clef_prefix_file_bytes(&header) != size || !clef_prefix_header_read(&other, &copy) ||
        memcmp(&copy.key, &header.key, sizeof copy.key) != 0) {
        __builtin_trap();
    }
    read_content(&source, &header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_file(data, size);
    if (size >= CLEF_PREFIX_HEADER_BYTES) {
        uint8_t *copy = malloc(size);
        if (copy != NULL) {
            const size_t end = CLEF_PREFIX_HEADER_BYTES - CLEF_DIGEST_BYTES;
            memcpy(copy, data, size);
            clef_digest self = clef_digest_of(copy, end);
            memcpy(copy + end, &self, sizeof self);
            read_file(copy, size);
            free(copy);
        }
    }
    return 0;
}
