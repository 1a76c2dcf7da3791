/* The split pattern as a scanner: where the part that begins at an offset ends. One pass, no
 * recursion, no backtracking over more than one run. Knows two patterns and no tokens. */
#ifndef CLEF_TOKENIZER_PRETOKENIZE_H
#define CLEF_TOKENIZER_PRETOKENIZE_H

#include "base/text.h"

/* The patterns differ in where marks belong: with other signs (qwen2) or with letters (qwen3.5). */
typedef enum clef_split_pattern {
    CLEF_SPLIT_PATTERN_QWEN2,
    CLEF_SPLIT_PATTERN_QWEN35,
} clef_split_pattern;

#define CLEF_SPLIT_PATTERN_COUNT 2

/* The regular expression of a pattern, as tokenizer.json spells it. */
clef_text clef_split_pattern_text(clef_split_pattern pattern);

/* End of the part that begins at `begin`, which is below text.length. Text is valid UTF-8 in NFC.
 * Going through a whole text costs time linear in its length. */
size_t clef_pretokenize_find_end(clef_split_pattern pattern, clef_text text, size_t begin);

#endif
