/* The alternatives of the pattern in their order; the first that matches wins:
 *
 *   1  an apostrophe contraction           (?i:'s|'t|'re|'ve|'m|'ll|'d)
 *   2  a word, with one character before   [^\r\n\p{L}\p{N}]?\p{L}+
 *   3  one number character                \p{N}
 *   4  other signs, with a space before     ?[^\s\p{L}\p{N}]+[\r\n]*
 *   5  white space up to its last newline  \s*[\r\n]+
 *   6  white space before white space      \s+(?!\S)
 *   7  white space                         \s+
 *
 * In the qwen3.5 pattern marks (\p{M}) are part of words in 2 and no signs in 4. */
#include "tokenizer/pretokenize.h"

#include "tokenizer/unicode_tables.h"

#define LONG_S                                                                                     \
    0x017F /* the one character outside ASCII that folds to a letter of alternative 1              \
            */

clef_text clef_split_pattern_text(clef_split_pattern pattern) {
    if (pattern == CLEF_SPLIT_PATTERN_QWEN2) {
        return CLEF_TEXT("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                         "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
    }
    return CLEF_TEXT("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                     "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
}

/* Sets of classes, one bit a class. */
#define SET_OF(name) (1u << CLEF_CHARACTER_##name)
#define WHITE_SPACE  (SET_OF(SPACE) | SET_OF(NEWLINE))

typedef struct scanner {
    const char *bytes;
    size_t length;
    unsigned words; /* classes that make a word */
    unsigned signs; /* classes of alternative 4 */
} scanner;

/* The class of the character at `at` as a set of one, and where it ends; 0 at the end of text. */
static inline unsigned read_class(const scanner *scan, size_t at, size_t *end) {
    if (at == scan->length) {
        *end = at;
        return 0;
    }
    *end = at + 1;
    unsigned char byte = (unsigned char)scan->bytes[at];
    uint32_t character = byte;
    if (byte >= 0x80) {
        *end = at;
        character = clef_utf8_next(scan->bytes, scan->length, end);
    }
    return 1u << clef_unicode_class(character);
}

/* Where the run of characters of these classes ends that begins at `at`, or is empty there. */
static inline size_t skip_classes(const scanner *scan, size_t at, unsigned classes) {
    size_t end;
    while ((read_class(scan, at, &end) & classes) != 0) {
        at = end;
    }
    return at;
}

static char fold_letter(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* End of the contraction whose apostrophe is at `at`, or `at`. */
static size_t match_contraction(const scanner *scan, size_t at) {
    size_t left = scan->length - at;
    const char *bytes = scan->bytes + at;
    if (left < 2) {
        return at;
    }
    char first = fold_letter(bytes[1]);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') {
        return at + 2;
    }
    if (left < 3) {
        return at;
    }
    char second = fold_letter(bytes[2]);
    if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) {
        return at + 3;
    }
    if ((unsigned char)first >= 0x80) {
        size_t end = at + 1;
        if (clef_utf8_next(scan->bytes, scan->length, &end) == LONG_S) {
            return end;
        }
    }
    return at;
}

/* Alternatives 5 to 7, for white space at `begin`. */
static size_t match_white_space(const scanner *scan, size_t begin) {
    size_t at = begin;
    size_t last = begin;      /* where the last character of the run begins */
    size_t after_newline = 0; /* end of the last CR or LF of the run; 0: none */
    size_t end;
    unsigned found;
    while (((found = read_class(scan, at, &end)) & WHITE_SPACE) != 0) {
        last = at;
        at = end;
        if (found == SET_OF(NEWLINE)) {
            after_newline = end;
        }
    }
    if (after_newline != 0) {
        return after_newline;
    }
    /* A run before something else leaves its last character to that, unless it is the only one. */
    return at == scan->length || last == begin ? at : last;
}

size_t clef_pretokenize_find_end(clef_split_pattern pattern, clef_text text, size_t begin) {
    scanner scan = {
        .bytes = text.bytes,
        .length = text.length,
        .words = SET_OF(LETTER),
        .signs = SET_OF(OTHER) | SET_OF(MARK),
    };
    if (pattern == CLEF_SPLIT_PATTERN_QWEN35) {
        scan.words = SET_OF(LETTER) | SET_OF(MARK);
        scan.signs = SET_OF(OTHER);
    }
    if (text.bytes[begin] == '\'') {
        size_t contraction = match_contraction(&scan, begin);
        if (contraction != begin) {
            return contraction;
        }
    }
    size_t after;
    unsigned first = read_class(&scan, begin, &after);
    if ((first & scan.words) != 0) {
        return skip_classes(&scan, after, scan.words);
    }
    if (first == SET_OF(NUMBER)) {
        return after;
    }
    size_t after_second;
    unsigned second = read_class(&scan, after, &after_second);
    if (first != SET_OF(NEWLINE) && (second & scan.words) != 0) {
        return skip_classes(&scan, after_second, scan.words);
    }
    bool is_sign = (first & scan.signs) != 0;
    if (is_sign || (text.bytes[begin] == ' ' && (second & scan.signs) != 0)) {
        size_t end = skip_classes(&scan, after, scan.signs);
        return skip_classes(&scan, end, SET_OF(NEWLINE));
    }
    return match_white_space(&scan, begin);
}
