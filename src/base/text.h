/* A text is a pointer and a length: U+0000 is an ordinary character here. Plus UTF-8. */
#ifndef CLEF_BASE_TEXT_H
#define CLEF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes; the header or function that hands one out says until when. */
typedef struct clef_text {
    const char *bytes;
    size_t length;
} clef_text;

/* A C string literal as a text. */
#define CLEF_TEXT(literal) ((clef_text){(literal), sizeof(literal) - 1})

static inline clef_text clef_text_of(const char *string) {
    return (clef_text){string, strlen(string)};
}

/* Equal bytes. */
bool clef_text_equals(clef_text a, clef_text b);
/* Order of the bytes, which for UTF-8 is the order of code points; the shorter of equals first. */
int clef_text_compare(clef_text a, clef_text b);

/* Length of the longest valid UTF-8 prefix (no surrogates, no overlong forms, at most U+10FFFF);
 * equals `length` when all of it is valid. */
size_t clef_utf8_valid_prefix(const char *bytes, size_t length);

/* Decodes one character of valid UTF-8 at *position and moves *position behind it. */
uint32_t clef_utf8_next(const char *bytes, size_t length, size_t *position);

/* Writes one code point (not a surrogate) as UTF-8; returns the number of bytes, 1 to 4. */
size_t clef_utf8_write(uint32_t code_point, char out[4]);

/* 64-bit hash of bytes for tables in memory (not for files: may change between versions). */
uint64_t clef_hash(const void *bytes, size_t length);

#endif
