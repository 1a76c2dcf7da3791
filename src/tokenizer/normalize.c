/* NFC: see normalize.h. A character at work is its code point with its combining class above it, so
 * that ordering and composing read one word each. */
#include "tokenizer/normalize.h"

#include "base/memory.h"
#include "tokenizer/unicode_tables.h"

#define CLASS_SHIFT       24
#define CODE_POINT_BITS   0x1FFFFF
#define LARGEST_EXPANSION 4 /* characters in the longest decomposition */
/* Longer runs of marks are ordered by counting, so that no text makes the work quadratic. */
#define LONGEST_INSERTION_RUN 16

/* Hangul syllables: 19 leads × 21 vowels × 28 tails, of which the first tail is none. */
#define HANGUL_FIRST  0xAC00
#define HANGUL_COUNT  11172
#define HANGUL_LEAD   0x1100
#define HANGUL_LEADS  19
#define HANGUL_VOWEL  0x1161
#define HANGUL_VOWELS 21
#define HANGUL_TAIL   0x11A7
#define HANGUL_TAILS  28

/* The first two-byte lead whose characters can be active: U+0300 begins with 0xCC. */
#define FIRST_ACTIVE_LEAD 0xCC

static unsigned find_combining_class(uint32_t character) {
    size_t low = 0;
    size_t high = clef_combining_range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (clef_combining_ranges[middle].last < character) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found =
        low < clef_combining_range_count && clef_combining_ranges[low].first <= character;
    return is_found ? clef_combining_ranges[low].combining_class : 0;
}

static const clef_decomposition *find_decomposition(uint32_t character) {
    size_t low = 0;
    size_t high = clef_decomposition_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (clef_decompositions[middle].character <= character) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &clef_decompositions[low];
}

/* The character that two join to, or 0. */
static uint32_t find_composition(uint32_t first, uint32_t second) {
    if (first - HANGUL_LEAD < HANGUL_LEADS && second - HANGUL_VOWEL < HANGUL_VOWELS) {
        uint32_t pair = (first - HANGUL_LEAD) * HANGUL_VOWELS + (second - HANGUL_VOWEL);
        return HANGUL_FIRST + pair * HANGUL_TAILS;
    }
    /* A tail joins a syllable that has none; the "no tail" code point itself joins nothing. */
    if (first - HANGUL_FIRST < HANGUL_COUNT && (first - HANGUL_FIRST) % HANGUL_TAILS == 0 &&
        second > HANGUL_TAIL && second < HANGUL_TAIL + HANGUL_TAILS) {
        return first + (second - HANGUL_TAIL);
    }
    size_t low = 0;
    size_t high = clef_composition_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const clef_composition *at = &clef_compositions[middle];
        if (at->first == first && at->second == second) {
            return at->whole;
        }
        if (at->first < first || (at->first == first && at->second < second)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

/* Appends the decomposition of a character to characters[count…]; returns the new count. */
static size_t decompose(uint32_t character, uint32_t *characters, size_t count) {
    if (character - HANGUL_FIRST < HANGUL_COUNT) {
        uint32_t place = character - HANGUL_FIRST;
        characters[count++] = HANGUL_LEAD + place / HANGUL_TAILS / HANGUL_VOWELS;
        characters[count++] = HANGUL_VOWEL + place / HANGUL_TAILS % HANGUL_VOWELS;
        if (place % HANGUL_TAILS != 0) {
            characters[count++] = HANGUL_TAIL + place % HANGUL_TAILS;
        }
        return count;
    }
    unsigned property = clef_unicode_property(character);
    if ((property & CLEF_CHARACTER_DECOMPOSES) != 0) {
        const clef_decomposition *found = find_decomposition(character);
        for (size_t i = 0; i < found->count; i++) {
            uint32_t part = clef_decomposition_parts[found->begin + i];
            characters[count++] = part | find_combining_class(part) << CLASS_SHIFT;
        }
        return count;
    }
    unsigned combining =
        (property & CLEF_CHARACTER_IS_ACTIVE) != 0 ? find_combining_class(character) : 0;
    characters[count++] = character | combining << CLASS_SHIFT;
    return count;
}

/* Orders one run of marks by class, equals as they stand. */
static void insert_in_order(uint32_t *run, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t moving = run[i];
        size_t at = i;
        while (at > 0 && run[at - 1] >> CLASS_SHIFT > moving >> CLASS_SHIFT) {
            run[at] = run[at - 1];
            at--;
        }
        run[at] = moving;
    }
}

/* The same by counting. `spare` has room for the run. */
static void count_in_order(uint32_t *run, size_t count, uint32_t *spare) {
    size_t begins[257] = {0};
    for (size_t i = 0; i < count; i++) {
        begins[(run[i] >> CLASS_SHIFT) + 1]++;
    }
    for (size_t i = 1; i < 257; i++) {
        begins[i] += begins[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        spare[begins[run[i] >> CLASS_SHIFT]++] = run[i];
    }
    memcpy(run, spare, count * sizeof *run);
}

static clef_status reserve_characters(clef_character_list *list, size_t needed, clef_error *error) {
    if (needed <= list->capacity) {
        return CLEF_OK;
    }
    size_t capacity = needed < SIZE_MAX / 2 ? needed * 2 : needed;
    uint32_t *characters = clef_reallocate(list->characters, capacity, sizeof *characters);
    if (characters == NULL) {
        return clef_fail_memory(error, capacity, "the characters to normalise");
    }
    list->characters = characters;
    list->capacity = capacity;
    return CLEF_OK;
}

static clef_status order_marks(clef_normalizer *normalizer, size_t count, clef_error *error) {
    uint32_t *characters = normalizer->stretch.characters;
    for (size_t begin = 0; begin < count;) {
        size_t end = begin;
        while (end < count && characters[end] >> CLASS_SHIFT != 0) {
            end++;
        }
        if (end - begin > LONGEST_INSERTION_RUN) {
            clef_status status = reserve_characters(&normalizer->spare, end - begin, error);
            if (status != CLEF_OK) {
                return status;
            }
            count_in_order(characters + begin, end - begin, normalizer->spare.characters);
        } else {
            insert_in_order(characters + begin, end - begin);
        }
        begin = end + 1;
    }
    return CLEF_OK;
}

/* Joins each starter with what can reach it: a character is blocked by one of the same or a higher
 * class between them. Returns the new count. */
static size_t compose(uint32_t *characters, size_t count) {
    size_t starter = count; /* place of the last starter; count while there is none */
    size_t written = 0;
    unsigned last_class = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned combining = characters[i] >> CLASS_SHIFT;
        uint32_t character = characters[i] & CODE_POINT_BITS;
        bool is_next = starter != count && starter + 1 == written;
        bool is_reached = starter != count && (is_next || last_class < combining);
        uint32_t whole =
            is_reached ? find_composition(characters[starter] & CODE_POINT_BITS, character) : 0;
        if (whole != 0) {
            characters[starter] = whole;
            continue;
        }
        if (combining == 0) {
            starter = written;
        }
        last_class = combining;
        characters[written++] = characters[i];
    }
    return written;
}

/* Appends the NFC of one stretch to the result. */
static clef_status normalize_stretch(clef_normalizer *normalizer, clef_text stretch,
                                     clef_error *error) {
    size_t count = 0;
    for (size_t at = 0; at < stretch.length;) {
        clef_status status =
            reserve_characters(&normalizer->stretch, count + LARGEST_EXPANSION, error);
        if (status != CLEF_OK) {
            return status;
        }
        uint32_t character = clef_utf8_next(stretch.bytes, stretch.length, &at);
        count = decompose(character, normalizer->stretch.characters, count);
    }
    clef_status status = order_marks(normalizer, count, error);
    if (status != CLEF_OK) {
        return status;
    }
    count = compose(normalizer->stretch.characters, count);
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        uint32_t character = normalizer->stretch.characters[i] & CODE_POINT_BITS;
        clef_buffer_append(&normalizer->text, bytes, clef_utf8_write(character, bytes));
    }
    return CLEF_OK;
}

/* Offset of the first byte at or after `at` whose character might be active. */
static size_t skip_inactive(clef_text text, size_t at) {
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    for (;;) {
        while (text.length - at >= 8) {
            uint64_t word;
            memcpy(&word, bytes + at, 8);
            if ((word & UINT64_C(0x8080808080808080)) != 0) {
                break;
            }
            at += 8;
        }
        if (at < text.length && bytes[at] < FIRST_ACTIVE_LEAD) {
            at++;
            continue;
        }
        return at;
    }
}

/* Finds the next stretch to normalise at or after `at`: from the inactive character that the first
 * active one leans on, up to the next inactive one. False when there is none. */
static bool find_stretch(clef_text text, size_t at, size_t *begin, size_t *end) {
    const char *bytes = text.bytes;
    size_t floor = at;
    size_t base = at; /* where the last inactive character seen begins */
    for (;;) {
        size_t next = skip_inactive(text, at);
        if (next == text.length) {
            return false;
        }
        if (next > at) {
            /* Step back over the character that was skipped last. */
            base = next - 1;
            while (base > floor && ((unsigned char)bytes[base] & 0xC0) == 0x80) {
                base--;
            }
        }
        at = next;
        uint32_t character = clef_utf8_next(bytes, text.length, &at);
        if ((clef_unicode_property(character) & CLEF_CHARACTER_IS_ACTIVE) != 0) {
            break;
        }
        base = next;
    }
    *begin = base;
    *end = at;
    while (*end < text.length) {
        size_t next = *end;
        uint32_t character = clef_utf8_next(bytes, text.length, &next);
        if ((clef_unicode_property(character) & CLEF_CHARACTER_IS_ACTIVE) == 0) {
            break;
        }
        *end = next;
    }
    return true;
}

clef_status clef_normalize(clef_normalizer *normalizer, clef_text text, clef_text *normalized,
                           clef_error *error) {
    size_t begin;
    size_t end;
    *normalized = text;
    if (!find_stretch(text, 0, &begin, &end)) {
        return CLEF_OK;
    }
    clef_buffer_clear(&normalizer->text);
    size_t done = 0;
    do {
        clef_buffer_append(&normalizer->text, text.bytes + done, begin - done);
        clef_status status =
            normalize_stretch(normalizer, (clef_text){text.bytes + begin, end - begin}, error);
        if (status != CLEF_OK) {
            return status;
        }
        done = end;
    } while (find_stretch(text, done, &begin, &end));
    clef_buffer_append(&normalizer->text, text.bytes + done, text.length - done);
    *normalized = clef_buffer_text(&normalizer->text);
    return clef_buffer_check(&normalizer->text, "the normalised text", error);
}

void clef_normalizer_release(clef_normalizer *normalizer) {
    clef_buffer_release(&normalizer->text);
    clef_release(normalizer->stretch.characters);
    clef_release(normalizer->spare.characters);
    *normalizer = (clef_normalizer){0};
}
