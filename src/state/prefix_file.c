/* Every length is checked before it is multiplied, every byte is under a digest. */
#include "state/prefix_file.h"

#include "backend/backend.h"

/* The last character counts the format. */
static const char magic[8] = {'c', 'l', 'e', 'f', 'k', 'e', 'p', '1'};

/* Far above every context and every layout there will be. */
#define POSITION_LIMIT ((uint64_t)1 << 30)
#define PAGE_LIMIT     ((uint64_t)1 << 28)
#define FIXED_LIMIT    ((uint64_t)1 << 40)
/* Tokens looked at together. */
#define TOKENS_AT_ONCE CLEF_GRID

/* The header as it lies in the file. */
typedef struct header_bytes {
    char magic[8];
    uint64_t from, position, page_floats, fixed_floats;
    clef_digest identity, key, parent, pages_digest, fixed_digest;
    unsigned char padding[CLEF_PREFIX_HEADER_BYTES - 40 - 6 * CLEF_DIGEST_BYTES];
    clef_digest self; /* of all before it */
} header_bytes;

_Static_assert(sizeof(header_bytes) == CLEF_PREFIX_HEADER_BYTES, "no gaps");

clef_digest clef_prefix_key_next(const clef_digest *before, const clef_digest *salt,
                                 const uint32_t *tokens) {
    clef_digest_state state;
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    clef_digest_add(&state, before->bytes, CLEF_DIGEST_BYTES);
    clef_digest_add(&state, salt->bytes, CLEF_DIGEST_BYTES);
    clef_digest_add(&state, tokens, CLEF_GRID * sizeof *tokens);
    return clef_digest_finish(&state);
}

void clef_prefix_header_write(const clef_prefix_header *header,
                              unsigned char bytes[CLEF_PREFIX_HEADER_BYTES]) {
    header_bytes raw = {.from = header->from,
                        .position = header->position,
                        .page_floats = header->page_floats,
                        .fixed_floats = header->fixed_floats,
                        .identity = header->identity,
                        .key = header->key,
                        .parent = header->parent,
                        .pages_digest = header->pages_digest,
                        .fixed_digest = header->fixed_digest};
    memcpy(raw.magic, magic, sizeof magic);
    raw.self = clef_digest_of(&raw, offsetof(header_bytes, self));
    memcpy(bytes, &raw, sizeof raw);
}

bool clef_prefix_header_read(const clef_prefix_source *source, clef_prefix_header *header) {
    header_bytes raw;
    if (source->bytes < sizeof raw || !source->read(source->context, 0, &raw, sizeof raw)) {
        return false;
    }
    clef_digest self = clef_digest_of(&raw, offsetof(header_bytes, self));
    if (memcmp(raw.magic, magic, sizeof magic) != 0 || !clef_digest_equals(&self, &raw.self)) {
        return false;
    }
    *header = (clef_prefix_header){.identity = raw.identity,
                                   .key = raw.key,
                                   .parent = raw.parent,
                                   .from = raw.from,
                                   .position = raw.position,
                                   .page_floats = raw.page_floats,
                                   .fixed_floats = raw.fixed_floats,
                                   .pages_digest = raw.pages_digest,
                                   .fixed_digest = raw.fixed_digest};
    return raw.position <= POSITION_LIMIT && raw.from < raw.position && raw.from % CLEF_GRID == 0 &&
           raw.position % CLEF_GRID == 0 && raw.page_floats <= PAGE_LIMIT &&
           raw.fixed_floats <= FIXED_LIMIT && source->bytes == clef_prefix_file_bytes(header);
}

static uint64_t page_count(const clef_prefix_header *header) {
    return (header->position - header->from) / CLEF_GRID;
}

static uint64_t pages_offset(const clef_prefix_header *header) {
    return CLEF_PREFIX_HEADER_BYTES + page_count(header) * CLEF_GRID * sizeof(uint32_t);
}

static uint64_t fixed_offset(const clef_prefix_header *header) {
    return pages_offset(header) + page_count(header) * header->page_floats * sizeof(float);
}

uint64_t clef_prefix_file_bytes(const clef_prefix_header *header) {
    return fixed_offset(header) + header->fixed_floats * sizeof(float);
}

/* Tokens must be the expected ones; adds them to a digest. */
static bool check_tokens(const clef_prefix_source *source, const clef_prefix_header *header,
                         const uint32_t *tokens, clef_digest_state *state) {
    uint32_t found[TOKENS_AT_ONCE];
    uint64_t offset = CLEF_PREFIX_HEADER_BYTES;
    for (uint64_t i = 0; i < page_count(header); i++) {
        if (!source->read(source->context, offset, found, sizeof found) ||
            memcmp(found, tokens + i * CLEF_GRID, sizeof found) != 0) {
            return false;
        }
        clef_digest_add(state, found, sizeof found);
        offset += sizeof found;
    }
    return true;
}

bool clef_prefix_file_read_pages(const clef_prefix_source *source, const clef_prefix_header *header,
                                 const uint32_t *tokens, float *const *pages) {
    clef_digest_state state;
    uint64_t offset = pages_offset(header);
    size_t bytes = (size_t)header->page_floats * sizeof(float);
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    if (!check_tokens(source, header, tokens, &state)) {
        return false;
    }
    for (uint64_t i = 0; i < page_count(header); i++) {
        if (!source->read(source->context, offset + i * bytes, pages[i], bytes)) {
            return false;
        }
        clef_digest_add(&state, pages[i], bytes);
    }
    clef_digest found = clef_digest_finish(&state);
    return clef_digest_equals(&found, &header->pages_digest);
}

bool clef_prefix_file_read_fixed(const clef_prefix_source *source, const clef_prefix_header *header,
                                 float *fixed) {
    size_t bytes = (size_t)header->fixed_floats * sizeof(float);
    if (!source->read(source->context, fixed_offset(header), fixed, bytes)) {
        return false;
    }
    clef_digest found = clef_digest_of(fixed, bytes);
    return clef_digest_equals(&found, &header->fixed_digest);
}
