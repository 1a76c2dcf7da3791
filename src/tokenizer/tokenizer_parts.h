/* What a tokenizer is made of; private to this folder. */
#ifndef CLEF_TOKENIZER_TOKENIZER_PARTS_H
#define CLEF_TOKENIZER_TOKENIZER_PARTS_H

#include "tokenizer/added_tokens.h"
#include "tokenizer/byte_pairs.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

struct clef_tokenizer {
    clef_vocabulary vocabulary;
    clef_added_tokens added;
    clef_byte_pairs pairs;
    clef_split_pattern pattern;
};

#endif
