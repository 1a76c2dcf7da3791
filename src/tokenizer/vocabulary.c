/* Entries lie one behind the other in one pool; the index holds ids and compares bytes in the pool.
 * See vocabulary.h. */
#include "tokenizer/vocabulary.h"

#include "base/memory.h"

#define FIRST_CAPACITY 1024

/* ---- entries ---- */

static clef_status reserve_entries(clef_vocabulary *vocabulary, uint32_t needed,
                                   clef_error *error) {
    if (needed <= vocabulary->capacity) {
        return CLEF_OK;
    }
    uint32_t capacity =
        vocabulary->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : vocabulary->capacity;
    while (capacity < needed) {
        capacity *= 2; /* the id limit is a power of two, so this stops there */
    }
    clef_vocabulary_entry *entries =
        clef_reallocate(vocabulary->entries, capacity, sizeof *entries);
    if (entries == NULL) {
        return clef_fail_memory(error, capacity * sizeof *entries, "the vocabulary");
    }
    memset(entries + vocabulary->capacity, 0, (capacity - vocabulary->capacity) * sizeof *entries);
    vocabulary->entries = entries;
    vocabulary->capacity = capacity;
    return CLEF_OK;
}

clef_status clef_vocabulary_add(clef_vocabulary *vocabulary, clef_text bytes, uint32_t id,
                                clef_entry_kind kind, clef_error *error) {
    if (id >= CLEF_VOCABULARY_ID_LIMIT) {
        return clef_fail(error, CLEF_BAD_FILE, "id %u is too large; the limit is %u", id,
                         CLEF_VOCABULARY_ID_LIMIT - 1);
    }
    if (bytes.length == 0 || bytes.length > CLEF_VOCABULARY_ENTRY_LIMIT) {
        return clef_fail(error, CLEF_BAD_FILE, "entry %u has %zu bytes; supported: 1 to %d", id,
                         bytes.length, CLEF_VOCABULARY_ENTRY_LIMIT);
    }
    if (clef_vocabulary_kind(vocabulary, id) != CLEF_ENTRY_ABSENT) {
        return clef_fail(error, CLEF_BAD_FILE, "id %u is given to two entries", id);
    }
    clef_status status = reserve_entries(vocabulary, id + 1, error);
    if (status != CLEF_OK) {
        return status;
    }
    size_t offset = vocabulary->pool.length;
    clef_buffer_append_text(&vocabulary->pool, bytes);
    if (vocabulary->pool.has_failed || offset > UINT32_MAX) {
        return clef_fail_memory(error, offset, "the vocabulary");
    }
    vocabulary->entries[id] = (clef_vocabulary_entry){
        .offset = (uint32_t)offset, .length = (uint16_t)bytes.length, .kind = (uint8_t)kind};
    vocabulary->count = id >= vocabulary->count ? id + 1 : vocabulary->count;
    vocabulary->base_count += kind == CLEF_ENTRY_BASE;
    vocabulary->longest = bytes.length > vocabulary->longest ? bytes.length : vocabulary->longest;
    return CLEF_OK;
}

clef_text clef_vocabulary_bytes(const clef_vocabulary *vocabulary, uint32_t id) {
    if (id >= vocabulary->count) {
        return CLEF_TEXT("");
    }
    const clef_vocabulary_entry *entry = &vocabulary->entries[id];
    return (clef_text){vocabulary->pool.bytes + entry->offset, entry->length};
}

clef_entry_kind clef_vocabulary_kind(const clef_vocabulary *vocabulary, uint32_t id) {
    return id < vocabulary->count ? (clef_entry_kind)vocabulary->entries[id].kind
                                  : CLEF_ENTRY_ABSENT;
}

void clef_vocabulary_release(clef_vocabulary *vocabulary) {
    clef_buffer_release(&vocabulary->pool);
    clef_release(vocabulary->entries);
    *vocabulary = (clef_vocabulary){0};
}

/* ---- index ---- */

/* Up to eight bytes are compared in the slot itself; most entries are no longer, and following
 * their ids into the pool would miss the cache once or twice a lookup. */
typedef struct clef_vocabulary_slot {
    uint64_t head; /* the first eight bytes, zeros behind shorter entries */
    uint32_t length;
    uint32_t id; /* FREE_SLOT: no entry */
} clef_vocabulary_slot;

#define FREE_SLOT UINT32_MAX
/* Entries between asking for a slot and using it, so that the misses of several overlap. */
#define PREFETCH_DISTANCE 8

static uint64_t read_head(clef_text bytes) {
    uint64_t head = 0;
    if (bytes.length >= 8) {
        memcpy(&head, bytes.bytes, 8);
        return head;
    }
    for (size_t i = 0; i < bytes.length; i++) {
        head |= (uint64_t)(unsigned char)bytes.bytes[i] << (8 * i);
    }
    return head;
}

static size_t find_home(const clef_vocabulary_index *index, clef_text bytes, uint64_t head) {
    uint64_t hash = bytes.length > 8 ? clef_hash(bytes.bytes, bytes.length)
                                     : (head + bytes.length) * UINT64_C(0x9E3779B97F4A7C15);
    /* The high bits of a product depend on all bytes, the low ones do not. */
    return (size_t)(hash >> index->shift);
}

/* The slot that holds these bytes, or the free one where they belong. */
static clef_vocabulary_slot *find_slot(const clef_vocabulary_index *index,
                                       const clef_vocabulary *vocabulary, clef_text bytes,
                                       uint64_t head) {
    size_t mask = UINT64_MAX >> index->shift;
    size_t at = find_home(index, bytes, head);
    for (;;) {
        clef_vocabulary_slot *slot = &index->slots[at];
        if (slot->id == FREE_SLOT) {
            return slot;
        }
        if (slot->head == head && slot->length == bytes.length &&
            (bytes.length <= 8 ||
             clef_text_equals(clef_vocabulary_bytes(vocabulary, slot->id), bytes))) {
            return slot;
        }
        at = (at + 1) & mask;
    }
}

void clef_vocabulary_index_prefetch(const clef_vocabulary_index *index, clef_text bytes) {
    if (index->slots != NULL && bytes.length > 0) {
        __builtin_prefetch(&index->slots[find_home(index, bytes, read_head(bytes))]);
    }
}

clef_status clef_vocabulary_index_build(clef_vocabulary_index *index,
                                        const clef_vocabulary *vocabulary, clef_error *error) {
    size_t slot_count = 16;
    index->shift = 60;
    while (slot_count < (size_t)vocabulary->base_count * 2) {
        slot_count *= 2;
        index->shift--;
    }
    index->slots = clef_allocate_aligned(slot_count, sizeof *index->slots);
    if (index->slots == NULL) {
        return clef_fail_memory(error, slot_count * sizeof *index->slots, "the vocabulary index");
    }
    memset(index->slots, 0xFF, slot_count * sizeof *index->slots);
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        clef_vocabulary_index_prefetch(index,
                                       clef_vocabulary_bytes(vocabulary, id + PREFETCH_DISTANCE));
        if (clef_vocabulary_kind(vocabulary, id) != CLEF_ENTRY_BASE) {
            continue;
        }
        clef_text bytes = clef_vocabulary_bytes(vocabulary, id);
        uint64_t head = read_head(bytes);
        clef_vocabulary_slot *slot = find_slot(index, vocabulary, bytes, head);
        if (slot->id != FREE_SLOT) {
            return clef_fail(error, CLEF_BAD_FILE, "ids %u and %u have the same entry", slot->id,
                             id);
        }
        *slot = (clef_vocabulary_slot){.head = head, .length = (uint32_t)bytes.length, .id = id};
    }
    return CLEF_OK;
}

bool clef_vocabulary_index_find(const clef_vocabulary_index *index,
                                const clef_vocabulary *vocabulary, clef_text bytes, uint32_t *id) {
    if (index->slots == NULL) {
        return false;
    }
    *id = find_slot(index, vocabulary, bytes, read_head(bytes))->id;
    return *id != FREE_SLOT;
}

void clef_vocabulary_index_release(clef_vocabulary_index *index) {
    clef_release(index->slots);
    *index = (clef_vocabulary_index){0};
}

/* ---- alphabet ---- */

/* Bytes that are printable in Latin-1 stand for themselves. The others have letters from U+0100 on,
 * in ascending order: 33 up to the space, 34 from DEL to the no-break space, the soft hyphen. */
#define FIRST_LETTER   0x100
#define LOW_BYTES      33
#define MIDDLE_BYTES   34
#define DELETE         0x7F
#define NO_BREAK_SPACE 0xA0
#define SOFT_HYPHEN    0xAD

/* The byte of a letter, or -1. */
static int find_byte(uint32_t letter) {
    if (letter < FIRST_LETTER) {
        bool is_other = letter < LOW_BYTES || (letter >= DELETE && letter <= NO_BREAK_SPACE) ||
                        letter == SOFT_HYPHEN;
        return is_other ? -1 : (int)letter;
    }
    uint32_t place = letter - FIRST_LETTER;
    if (place < LOW_BYTES) {
        return (int)place;
    }
    if (place < LOW_BYTES + MIDDLE_BYTES) {
        return (int)(DELETE + place - LOW_BYTES);
    }
    return place == LOW_BYTES + MIDDLE_BYTES ? SOFT_HYPHEN : -1;
}

bool clef_alphabet_read(clef_text letters, char *bytes, size_t *count) {
    const unsigned char *from = (const unsigned char *)letters.bytes;
    size_t written = 0;
    for (size_t at = 0; at < letters.length;) {
        size_t begin = at;
        uint32_t letter = from[at++];
        if (letter > ' ' && letter < DELETE) {
            bytes[written++] = (char)letter;
            continue;
        }
        if (letter >= 0x80) {
            /* All letters of the alphabet have one or two bytes; a longer one is none of them. */
            letter = letter < 0xE0 ? (letter & 0x1F) << 6 | (from[at++] & 0x3F) : UINT32_MAX;
        }
        int byte = find_byte(letter);
        if (byte < 0) {
            *count = begin;
            return false;
        }
        bytes[written++] = (char)byte;
    }
    *count = written;
    return true;
}

size_t clef_alphabet_write(unsigned char byte, char letter[4]) {
    uint32_t code_point = byte;
    if (byte < LOW_BYTES) {
        code_point = FIRST_LETTER + byte;
    } else if (byte >= DELETE && byte <= NO_BREAK_SPACE) {
        code_point = FIRST_LETTER + LOW_BYTES + byte - DELETE;
    } else if (byte == SOFT_HYPHEN) {
        code_point = FIRST_LETTER + LOW_BYTES + MIDDLE_BYTES;
    }
    return clef_utf8_write(code_point, letter);
}
