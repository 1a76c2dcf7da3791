/* Byte-level BPE as tokenizer.json describes it: NFC, a split pattern, bytes, merges. Immutable
 * after loading and shared by threads. Knows no prompts and no model. */
#ifndef CLEF_TOKENIZER_TOKENIZER_H
#define CLEF_TOKENIZER_TOKENIZER_H

#include "base/buffer.h"

typedef struct clef_tokenizer clef_tokenizer;

/* A growing list of ids. Zero-initialised is a valid empty list. */
typedef struct clef_token_list {
    uint32_t *ids; /* owned; released with clef_token_list_release */
    size_t count;
    size_t capacity;
} clef_token_list;

/* Room for `more` ids behind the last; CLEF_OUT_OF_MEMORY. */
clef_status clef_token_list_reserve(clef_token_list *list, size_t more, clef_error *error);
void clef_token_list_release(clef_token_list *list);

/* Loads DIRECTORY/tokenizer.json's path. CLEF_BAD_FILE, place = path, naming the field, the value
 * found and the values supported; CLEF_OUT_OF_MEMORY. Owned by the caller. */
clef_status clef_tokenizer_load(const char *path, clef_tokenizer **out, clef_error *error);

/* The same from bytes, borrowed only during the call; `name` stands for the path. */
clef_status clef_tokenizer_parse(const char *name, clef_text json, clef_tokenizer **out,
                                 clef_error *error);
void clef_tokenizer_close(clef_tokenizer *tokenizer);

/* Bytes of memory that the tokenizer holds. */
size_t clef_tokenizer_memory(const clef_tokenizer *tokenizer);

typedef enum clef_control_tokens {
    CLEF_CONTROL_PLAIN, /* added tokens in the text are ordinary text */
    CLEF_CONTROL_PARSE, /* added tokens in the text become their ids */
} clef_control_tokens;

/* Appends the ids of `text` (valid UTF-8) to `list`. No ids for empty text. Stops early once the
 * list holds more than `id_limit` ids (0: no limit); what it holds then only tells that there are
 * too many, because a huge piece is cut to what passes the limit. Thread-safe. CLEF_OUT_OF_MEMORY
 * (list is then as before). Time n log n in the length. */
clef_status clef_tokenizer_encode(const clef_tokenizer *tokenizer, clef_text text,
                                  clef_control_tokens mode, size_t id_limit, clef_token_list *list,
                                  clef_error *error);

/* Ids run from 0 to count - 1: base vocabulary and added tokens. */
uint32_t clef_tokenizer_count(const clef_tokenizer *tokenizer);
/* Longest entry in bytes. */
size_t clef_tokenizer_longest(const clef_tokenizer *tokenizer);
/* Id of an added token by its text; false when there is none. */
bool clef_tokenizer_find_added(const clef_tokenizer *tokenizer, clef_text text, uint32_t *id);
/* Bytes of an entry (an added token: its text); length 0 for ids the tokenizer does not know. */
clef_text clef_tokenizer_bytes(const clef_tokenizer *tokenizer, uint32_t id);
/* An added token marked special. */
bool clef_tokenizer_is_special(const clef_tokenizer *tokenizer, uint32_t id);

/* Decoding a stream of ids: bytes that do not yet make a whole character are held back. Each
 * maximal invalid sequence becomes one U+FFFD. Zero-initialised is a valid start. */
typedef struct clef_token_decoder {
    bool skip_special;
    unsigned char held[4];
    unsigned held_count;
} clef_token_decoder;

/* Appends the text that id completes. Failure to grow sticks in out. */
void clef_token_decoder_push(clef_token_decoder *decoder, const clef_tokenizer *tokenizer,
                             uint32_t id, clef_buffer *out);
/* Ends the stream: a held tail becomes one U+FFFD (the two bytes of half a surrogate become two).
 */
void clef_token_decoder_finish(clef_token_decoder *decoder, clef_buffer *out);

/* The splits of the pre-tokeniser alone, for tests: calls piece for every part of NFC text. */
void clef_tokenizer_split(const clef_tokenizer *tokenizer, clef_text nfc_text,
                          void (*piece)(void *context, clef_text part), void *context);

#endif
