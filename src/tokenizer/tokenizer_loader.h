/* A tokenizer.json at work: what its readers share. Private to tokenizer_file.c, which knows the
 * rules of the file, and tokenizer_entries.c, which reads its three long lists. */
#ifndef CLEF_TOKENIZER_TOKENIZER_LOADER_H
#define CLEF_TOKENIZER_TOKENIZER_LOADER_H

#include "tokenizer/field_reader.h"
#include "tokenizer/tokenizer_parts.h"

typedef struct clef_tokenizer_loader {
    clef_field_reader fields;
    clef_tokenizer *tokenizer;
    clef_vocabulary_index index; /* base entries, once they are read */
    bool has_vocabulary;
    bool has_held_merges;         /* the merges stand before the vocabulary in the file */
    clef_json_reader held_merges; /* where they begin */
    clef_merge *merges;           /* owned */
    size_t merge_count;
    size_t merge_capacity;
    clef_buffer bytes; /* of the entry or merge at work */
    struct {
        clef_text text;
        uint32_t id;
        clef_entry_kind kind;
    } token; /* the added token at work */
} clef_tokenizer_loader;

/* Readers for clef_field_rule.read; the context is the loader. */
clef_status clef_tokenizer_read_added_tokens(void *context, clef_json_event event);
clef_status clef_tokenizer_read_vocabulary(void *context, clef_json_event event);
clef_status clef_tokenizer_read_merges(void *context, clef_json_event event);

/* Reads merges that were held back, when there are any, and makes the tables for encoding. Call
 * once the whole file is read. */
clef_status clef_tokenizer_finish_entries(clef_tokenizer_loader *loader);

#endif
