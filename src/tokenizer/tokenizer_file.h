/* Reads tokenizer.json into the parts of a tokenizer. */
#ifndef CLEF_TOKENIZER_TOKENIZER_FILE_H
#define CLEF_TOKENIZER_TOKENIZER_FILE_H

#include "tokenizer/tokenizer_parts.h"

/* Fills a zero-initialised tokenizer, which the caller closes whatever the outcome. CLEF_BAD_FILE
 * names the field, the value found and what is supported; CLEF_OUT_OF_MEMORY. */
clef_status clef_tokenizer_file_read(clef_text json, clef_tokenizer *tokenizer, clef_error *error);

#endif
