/* The format of a kept state on disk, read as if an enemy had written it.
 *
 *     header   CLEF_PREFIX_HEADER_BYTES, with a digest of itself
 *     tokens   uint32 [position - from]
 *     pages    fp32 [(position - from) / CLEF_GRID, page_floats]
 *     fixed    fp32 [fixed_floats]
 *
 * A file holds what is behind its parent: the file whose key is `parent` and whose position is
 * `from` (0: it has none). Numbers are those of the machine that wrote it; the identity says so.
 * Knows neither names nor directories. */
#ifndef CLEF_STATE_PREFIX_FILE_H
#define CLEF_STATE_PREFIX_FILE_H

#include "state/prefix_tree.h"
#include "state/state_layout.h"

#define CLEF_PREFIX_HEADER_BYTES 320

typedef struct clef_prefix_header {
    clef_digest identity; /* of the model and of how it computes */
    clef_digest key;      /* chained over the pages up to `position` */
    clef_digest parent;
    uint64_t from, position; /* multiples of CLEF_GRID, from < position */
    uint64_t page_floats, fixed_floats;
    clef_digest pages_digest; /* tokens and pages */
    clef_digest fixed_digest;
} clef_prefix_header;

/* What holds the bytes: reads `length` of them at `offset`; false when it cannot. */
typedef struct clef_prefix_source {
    bool (*read)(void *context, uint64_t offset, void *bytes, size_t length);
    void *context;
    uint64_t bytes; /* in all */
} clef_prefix_source;

/* The key behind one page more. */
clef_digest clef_prefix_key_next(const clef_digest *before, const clef_digest *salt,
                                 const uint32_t *tokens);

void clef_prefix_header_write(const clef_prefix_header *header,
                              unsigned char bytes[CLEF_PREFIX_HEADER_BYTES]);

/* Reads the header of a source. False unless it is whole, says what it may say, fits a layout of so
 * many floats, and the source is as long as it says. */
bool clef_prefix_header_read(const clef_prefix_source *source, clef_prefix_header *header);

/* Bytes of a file with this header. The header was read, or is small. */
uint64_t clef_prefix_file_bytes(const clef_prefix_header *header);

/* Reads tokens and pages: `tokens` [position - from] are those expected, pages[i] [page_floats]
 * receive. False when anything is not what the header or the caller says. */
bool clef_prefix_file_read_pages(const clef_prefix_source *source, const clef_prefix_header *header,
                                 const uint32_t *tokens, float *const *pages);
/* The same for the fixed part, [fixed_floats]. */
bool clef_prefix_file_read_fixed(const clef_prefix_source *source, const clef_prefix_header *header,
                                 float *fixed);

#endif
