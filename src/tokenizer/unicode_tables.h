/* What the tokenizer knows of characters: classes for the split pattern (Unicode 16.0), and the
 * data of NFC (Unicode 9.0). Two stages: a block number for every 128 characters, and the bytes of
 * each different block. The tables are made by tools/make_unicode_tables.py. */
#ifndef CLEF_TOKENIZER_UNICODE_TABLES_H
#define CLEF_TOKENIZER_UNICODE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#define CLEF_UNICODE_BLOCK 128

/* The low bits of a property byte. White space is SPACE or NEWLINE (CR and LF). */
typedef enum clef_character_class {
    CLEF_CHARACTER_OTHER,
    CLEF_CHARACTER_LETTER,
    CLEF_CHARACTER_MARK,
    CLEF_CHARACTER_NUMBER,
    CLEF_CHARACTER_SPACE,
    CLEF_CHARACTER_NEWLINE,
} clef_character_class;

#define CLEF_CHARACTER_CLASS_BITS 7
/* NFC changes, moves or joins this character with what stands before it, or may. A character
 * without the flag begins a stretch that can be normalised by itself. */
#define CLEF_CHARACTER_IS_ACTIVE 8
/* In clef_decompositions (Hangul syllables, which follow a formula, are not). */
#define CLEF_CHARACTER_DECOMPOSES 16

/* Marks first to last have this canonical combining class. Ascending. */
typedef struct clef_combining_range {
    uint32_t first;
    uint32_t last;
    uint8_t combining_class;
} clef_combining_range;

/* A character and its full decomposition, a slice of clef_decomposition_parts. Ascending. */
typedef struct clef_decomposition {
    uint32_t character;
    uint16_t begin;
    uint16_t count;
} clef_decomposition;

/* Two characters that join to one. Ascending by first, then second. */
typedef struct clef_composition {
    uint32_t first;
    uint32_t second;
    uint32_t whole;
} clef_composition;

extern const uint8_t clef_unicode_blocks[];
extern const uint8_t clef_unicode_properties[];
extern const clef_combining_range clef_combining_ranges[];
extern const size_t clef_combining_range_count;
extern const clef_decomposition clef_decompositions[];
extern const size_t clef_decomposition_count;
extern const uint32_t clef_decomposition_parts[];
extern const clef_composition clef_compositions[];
extern const size_t clef_composition_count;

/* Property byte of a character, at most U+10FFFF. */
static inline unsigned clef_unicode_property(uint32_t character) {
    size_t block = clef_unicode_blocks[character / CLEF_UNICODE_BLOCK];
    return clef_unicode_properties[block * CLEF_UNICODE_BLOCK + character % CLEF_UNICODE_BLOCK];
}

static inline clef_character_class clef_unicode_class(uint32_t character) {
    return (clef_character_class)(clef_unicode_property(character) & CLEF_CHARACTER_CLASS_BITS);
}

#endif
