/* The entries of the tokenizer by id, and, while a file is loaded, the base entries by their bytes.
 * Also the alphabet in which tokenizer.json writes bytes. Knows no merges. */
#ifndef CLEF_TOKENIZER_VOCABULARY_H
#define CLEF_TOKENIZER_VOCABULARY_H

#include "base/buffer.h"

/* Bounds on what a file can make us allocate; the published vocabulary has 248,077 entries of at
 * most 128 bytes. */
#define CLEF_VOCABULARY_ID_LIMIT    ((uint32_t)1 << 22)
#define CLEF_VOCABULARY_ENTRY_LIMIT 65535

typedef enum clef_entry_kind {
    CLEF_ENTRY_ABSENT,
    CLEF_ENTRY_BASE,
    CLEF_ENTRY_ADDED,
    CLEF_ENTRY_SPECIAL, /* an added token that a decoder may skip */
} clef_entry_kind;

typedef struct clef_vocabulary_entry {
    uint32_t offset; /* into pool */
    uint16_t length;
    uint8_t kind; /* clef_entry_kind */
} clef_vocabulary_entry;

/* Zero-initialised is a valid empty vocabulary. */
typedef struct clef_vocabulary {
    clef_buffer pool;               /* the bytes of all entries */
    clef_vocabulary_entry *entries; /* owned; by id */
    uint32_t count;                 /* highest id + 1 */
    uint32_t capacity;
    uint32_t base_count;
    size_t longest;
} clef_vocabulary;

/* Open addressing over the base entries. Zero-initialised is a valid empty index. */
typedef struct clef_vocabulary_index {
    struct clef_vocabulary_slot *slots; /* owned */
    unsigned shift;                     /* 64 - log2(number of slots) */
} clef_vocabulary_index;

/* Adds an entry. CLEF_BAD_FILE when the id is too large or taken, or the entry too long. */
clef_status clef_vocabulary_add(clef_vocabulary *vocabulary, clef_text bytes, uint32_t id,
                                clef_entry_kind kind, clef_error *error);
/* Bytes of an entry, borrowed until the next add; empty for an id without one. */
clef_text clef_vocabulary_bytes(const clef_vocabulary *vocabulary, uint32_t id);
clef_entry_kind clef_vocabulary_kind(const clef_vocabulary *vocabulary, uint32_t id);
void clef_vocabulary_release(clef_vocabulary *vocabulary);

/* Indexes all base entries. CLEF_BAD_FILE when two have the same bytes. */
clef_status clef_vocabulary_index_build(clef_vocabulary_index *index,
                                        const clef_vocabulary *vocabulary, clef_error *error);
/* The base entry with these bytes; false when there is none. */
bool clef_vocabulary_index_find(const clef_vocabulary_index *index,
                                const clef_vocabulary *vocabulary, clef_text bytes, uint32_t *id);
/* Says that these bytes will be looked up soon. */
void clef_vocabulary_index_prefetch(const clef_vocabulary_index *index, clef_text bytes);
void clef_vocabulary_index_release(clef_vocabulary_index *index);

/* Turns letters of the byte alphabet (valid UTF-8) into the bytes they stand for; `bytes` has room
 * for as many as there are letters' bytes. False, with the offset of the letter in *count, when
 * one is not of the alphabet. */
bool clef_alphabet_read(clef_text letters, char *bytes, size_t *count);
/* The letter of a byte as UTF-8; returns its length, 1 or 2. */
size_t clef_alphabet_write(unsigned char byte, char letter[4]);

#endif
