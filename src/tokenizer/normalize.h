/* Unicode normalisation form C. Text is cut into stretches that do not influence each other; only
 * stretches that hold an active character (unicode_tables.h) are decomposed, ordered and composed.
 * Linear in the length for any text. Knows nothing of tokens. */
#ifndef CLEF_TOKENIZER_NORMALIZE_H
#define CLEF_TOKENIZER_NORMALIZE_H

#include "base/buffer.h"

typedef struct clef_character_list {
    uint32_t *characters; /* owned */
    size_t capacity;
} clef_character_list;

/* Memory that calls share. Zero-initialised is valid; one call at a time. */
typedef struct clef_normalizer {
    clef_buffer text;            /* the last result, where it is not the input itself */
    clef_character_list stretch; /* the stretch at work */
    clef_character_list spare;   /* for ordering long runs of marks */
} clef_normalizer;

/* NFC of valid UTF-8: the input itself when nothing in it is active, else a text borrowed until the
 * next call with this normalizer. CLEF_OUT_OF_MEMORY. */
clef_status clef_normalize(clef_normalizer *normalizer, clef_text text, clef_text *normalized,
                           clef_error *error);
void clef_normalizer_release(clef_normalizer *normalizer);

#endif
