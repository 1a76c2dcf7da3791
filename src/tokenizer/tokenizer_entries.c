/* The readers of the added tokens, the vocabulary and the merges. They read from events: these are
 * hundreds of thousands of values, and a tree of them would cost more than all the rest. */
#include "tokenizer/tokenizer_loader.h"

#include "base/memory.h"

#define FIRST_MERGE_CAPACITY 4096
/* How much of an entry a message shows. */
#define SHOWN_BYTES 64

static int count_shown(clef_text text) {
    return (int)clef_utf8_valid_prefix(text.bytes,
                                       text.length < SHOWN_BYTES ? text.length : SHOWN_BYTES);
}

/* Reads a number as an id; false for anything but digits, and for what is far too large. */
static bool read_id(clef_text spelling, uint32_t *id) {
    uint32_t value = 0;
    for (size_t i = 0; i < spelling.length; i++) {
        if (spelling.bytes[i] < '0' || spelling.bytes[i] > '9' || value > UINT32_MAX / 10 - 1) {
            return false;
        }
        value = value * 10 + (uint32_t)(spelling.bytes[i] - '0');
    }
    *id = value;
    return spelling.length > 0;
}

/* Appends the bytes that letters of the byte alphabet stand for to loader->bytes. */
static clef_status append_bytes(clef_tokenizer_loader *loader, clef_text letters) {
    clef_buffer *bytes = &loader->bytes;
    if (!clef_buffer_reserve(bytes, letters.length)) {
        return clef_fail_memory(loader->fields.error, letters.length, "an entry of the vocabulary");
    }
    size_t count = 0;
    if (letters.length > 0 && !clef_alphabet_read(letters, bytes->bytes + bytes->length, &count)) {
        return clef_field_fail(&loader->fields,
                               "has the entry \"%.*s\", whose character at byte %zu is not of the "
                               "byte-level alphabet",
                               count_shown(letters), letters.bytes, count);
    }
    bytes->length += count;
    return CLEF_OK;
}

/* ---- added tokens ---- */

static clef_status read_token_id(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    if (event != CLEF_JSON_EVENT_NUMBER || !read_id(loader->fields.json.text, &loader->token.id)) {
        return clef_field_refuse(&loader->fields, event, "a whole number of at least 0");
    }
    return CLEF_OK;
}

static clef_status read_token_text(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    loader->token.text = loader->fields.json.text;
    return clef_field_expect(&loader->fields, event, CLEF_JSON_EVENT_STRING);
}

static clef_status read_token_special(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    if (event != CLEF_JSON_EVENT_TRUE && event != CLEF_JSON_EVENT_FALSE) {
        return clef_field_refuse(&loader->fields, event, "false, true");
    }
    loader->token.kind = event == CLEF_JSON_EVENT_TRUE ? CLEF_ENTRY_SPECIAL : CLEF_ENTRY_ADDED;
    return CLEF_OK;
}

static const clef_field_rule token_rules[] = {
    {.name = "id", .is_required = true, .read = read_token_id},
    {.name = "content", .is_required = true, .read = read_token_text},
    {.name = "single_word", .accepts = CLEF_FIELD_FALSE},
    {.name = "lstrip", .accepts = CLEF_FIELD_FALSE},
    {.name = "rstrip", .accepts = CLEF_FIELD_FALSE},
    {.name = "normalized", .accepts = CLEF_FIELD_FALSE, .is_required = true},
    {.name = "special", .is_required = true, .read = read_token_special},
};

clef_status clef_tokenizer_read_added_tokens(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    clef_field_reader *fields = &loader->fields;
    size_t length = fields->path_length;
    clef_status status = clef_field_expect(fields, event, CLEF_JSON_EVENT_ARRAY_BEGIN);
    for (size_t number = 0; status == CLEF_OK; number++) {
        status = clef_field_read_event(fields, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_ARRAY_END) {
            break;
        }
        clef_field_enter_element(fields, number);
        status = clef_field_expect(fields, event, CLEF_JSON_EVENT_OBJECT_BEGIN);
        if (status == CLEF_OK) {
            status = clef_fields_read(fields, token_rules, sizeof token_rules / sizeof *token_rules,
                                      loader);
        }
        if (status == CLEF_OK) {
            status = clef_vocabulary_add(&loader->tokenizer->vocabulary, loader->token.text,
                                         loader->token.id, loader->token.kind, fields->error);
            status = clef_field_explain(fields, status);
        }
        if (status == CLEF_OK) {
            clef_field_leave(fields, length);
            clef_field_forget_texts(fields);
        }
    }
    return status;
}

/* ---- vocabulary ---- */

/* One member whose KEY event has been read. */
static clef_status read_entry(clef_tokenizer_loader *loader) {
    clef_field_reader *fields = &loader->fields;
    clef_text letters = fields->json.text;
    clef_buffer_clear(&loader->bytes);
    clef_status status = append_bytes(loader, letters);
    clef_json_event event;
    if (status == CLEF_OK) {
        status = clef_field_read_event(fields, &event);
    }
    if (status != CLEF_OK) {
        return status;
    }
    uint32_t id;
    if (event != CLEF_JSON_EVENT_NUMBER || !read_id(fields->json.text, &id)) {
        return clef_field_fail(fields,
                               "gives the entry \"%.*s\" no id: a whole number of at least "
                               "0 and below %u is expected",
                               count_shown(letters), letters.bytes, CLEF_VOCABULARY_ID_LIMIT);
    }
    clef_text bytes = {loader->bytes.bytes, loader->bytes.length};
    status = clef_vocabulary_add(&loader->tokenizer->vocabulary, bytes, id, CLEF_ENTRY_BASE,
                                 fields->error);
    return clef_field_explain(fields, status);
}

/* Every byte must have an entry, or some texts would have no ids. */
static clef_status find_byte_entries(clef_tokenizer_loader *loader) {
    for (unsigned byte = 0; byte < 256; byte++) {
        char single = (char)byte;
        if (!clef_vocabulary_index_find(&loader->index, &loader->tokenizer->vocabulary,
                                        (clef_text){&single, 1},
                                        &loader->tokenizer->pairs.byte_ids[byte])) {
            char letter[4];
            size_t length = clef_alphabet_write((unsigned char)byte, letter);
            return clef_field_fail(&loader->fields, "lacks the entry \"%.*s\" of byte 0x%02X",
                                   (int)length, letter, byte);
        }
    }
    return CLEF_OK;
}

clef_status clef_tokenizer_read_vocabulary(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    clef_field_reader *fields = &loader->fields;
    clef_status status = clef_field_expect(fields, event, CLEF_JSON_EVENT_OBJECT_BEGIN);
    while (status == CLEF_OK) {
        status = clef_field_read_event(fields, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_OBJECT_END) {
            break;
        }
        status = read_entry(loader);
        clef_field_forget_texts(fields);
    }
    if (status == CLEF_OK) {
        status = clef_vocabulary_index_build(&loader->index, &loader->tokenizer->vocabulary,
                                             fields->error);
        status = clef_field_explain(fields, status);
    }
    loader->has_vocabulary = true;
    return status == CLEF_OK ? find_byte_entries(loader) : status;
}

/* ---- merges ---- */

/* The entry of the concatenation in loader->bytes. Files list merges in the order of the entries
 * they make, so the entry after the last one is nearly always it. */
static bool find_merged(const clef_tokenizer_loader *loader, uint32_t *id) {
    const clef_vocabulary *vocabulary = &loader->tokenizer->vocabulary;
    clef_text bytes = clef_buffer_text(&loader->bytes);
    if (loader->merge_count > 0) {
        *id = loader->merges[loader->merge_count - 1].merged + 1;
        if (clef_vocabulary_kind(vocabulary, *id) == CLEF_ENTRY_BASE &&
            clef_text_equals(clef_vocabulary_bytes(vocabulary, *id), bytes)) {
            return true;
        }
    }
    return clef_vocabulary_index_find(&loader->index, vocabulary, bytes, id);
}

static clef_status append_merge(clef_tokenizer_loader *loader, clef_merge merge) {
    if (loader->merge_count == loader->merge_capacity) {
        size_t capacity =
            loader->merge_capacity == 0 ? FIRST_MERGE_CAPACITY : loader->merge_capacity * 2;
        clef_merge *merges = clef_reallocate(loader->merges, capacity, sizeof *merges);
        if (merges == NULL) {
            return clef_fail_memory(loader->fields.error, capacity * sizeof *merges, "the merges");
        }
        loader->merges = merges;
        loader->merge_capacity = capacity;
    }
    loader->merges[loader->merge_count++] = merge;
    return CLEF_OK;
}

static clef_status add_merge(clef_tokenizer_loader *loader, clef_text left, clef_text right) {
    const clef_vocabulary *vocabulary = &loader->tokenizer->vocabulary;
    const clef_vocabulary_index *index = &loader->index;
    clef_buffer_clear(&loader->bytes);
    clef_status status = append_bytes(loader, left);
    clef_text left_bytes = clef_buffer_text(&loader->bytes);
    clef_vocabulary_index_prefetch(index, left_bytes);
    if (status == CLEF_OK) {
        status = append_bytes(loader, right);
    }
    if (status != CLEF_OK) {
        return status;
    }
    clef_text bytes = clef_buffer_text(&loader->bytes);
    left_bytes.bytes = bytes.bytes; /* the buffer may have moved */
    clef_text right_bytes = {bytes.bytes + left_bytes.length, bytes.length - left_bytes.length};
    clef_vocabulary_index_prefetch(index, right_bytes);
    clef_merge merge;
    const char *missing = NULL;
    if (!clef_vocabulary_index_find(index, vocabulary, left_bytes, &merge.left)) {
        missing = "left part";
    } else if (!clef_vocabulary_index_find(index, vocabulary, right_bytes, &merge.right)) {
        missing = "right part";
    } else if (!find_merged(loader, &merge.merged)) {
        missing = "concatenation";
    } else {
        return append_merge(loader, merge);
    }
    return clef_field_fail(&loader->fields,
                           "is \"%.*s\" and \"%.*s\": the %s is not in model.vocab",
                           count_shown(left), left.bytes, count_shown(right), right.bytes, missing);
}

/* One merge whose first event has been read: ["a", "b"] or "a b". */
static clef_status read_merge(clef_tokenizer_loader *loader, clef_json_event event) {
    clef_field_reader *fields = &loader->fields;
    if (event == CLEF_JSON_EVENT_STRING) {
        clef_text both = fields->json.text;
        const char *space = memchr(both.bytes, ' ', both.length);
        if (space == NULL) {
            return clef_field_refuse(fields, event, "two parts with a space between");
        }
        size_t length = (size_t)(space - both.bytes);
        return add_merge(loader, (clef_text){both.bytes, length},
                         (clef_text){space + 1, both.length - length - 1});
    }
    clef_text parts[2];
    clef_status status = clef_field_expect(fields, event, CLEF_JSON_EVENT_ARRAY_BEGIN);
    for (size_t i = 0; i < 2 && status == CLEF_OK; i++) {
        status = clef_field_read_event(fields, &event);
        if (status == CLEF_OK && event != CLEF_JSON_EVENT_STRING) {
            return clef_field_fail(fields, "is not an array of two strings");
        }
        parts[i] = fields->json.text;
    }
    if (status == CLEF_OK) {
        status = clef_field_read_event(fields, &event);
    }
    if (status == CLEF_OK && event != CLEF_JSON_EVENT_ARRAY_END) {
        return clef_field_fail(fields, "is not an array of two strings");
    }
    return status == CLEF_OK ? add_merge(loader, parts[0], parts[1]) : status;
}

/* The elements of the array whose ARRAY_BEGIN has been read. */
static clef_status read_merge_list(clef_tokenizer_loader *loader) {
    clef_field_reader *fields = &loader->fields;
    size_t length = fields->path_length;
    for (;;) {
        clef_json_event event;
        clef_status status = clef_field_read_event(fields, &event);
        if (status != CLEF_OK || event == CLEF_JSON_EVENT_ARRAY_END) {
            return status;
        }
        clef_field_enter_element(fields, loader->merge_count);
        status = read_merge(loader, event);
        if (status != CLEF_OK) {
            return status;
        }
        clef_field_leave(fields, length);
        clef_field_forget_texts(fields);
    }
}

/* Moves behind the container whose begin has been read. */
static clef_status skip_rest(clef_field_reader *fields) {
    unsigned outside = fields->json.depth - 1;
    clef_status status = CLEF_OK;
    while (status == CLEF_OK && fields->json.depth > outside) {
        clef_json_event event;
        status = clef_field_read_event(fields, &event);
        clef_field_forget_texts(fields);
    }
    return status;
}

clef_status clef_tokenizer_read_merges(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    clef_status status = clef_field_expect(&loader->fields, event, CLEF_JSON_EVENT_ARRAY_BEGIN);
    if (status != CLEF_OK) {
        return status;
    }
    if (!loader->has_vocabulary) {
        loader->held_merges = loader->fields.json;
        loader->has_held_merges = true;
        return skip_rest(&loader->fields);
    }
    return read_merge_list(loader);
}

/* ---- the end ---- */

/* A text that is both would have two ids. */
static clef_status check_added_token(clef_tokenizer_loader *loader, uint32_t id) {
    const clef_vocabulary *vocabulary = &loader->tokenizer->vocabulary;
    clef_text text = clef_vocabulary_bytes(vocabulary, id);
    clef_buffer_clear(&loader->bytes);
    if (!clef_buffer_reserve(&loader->bytes, text.length)) {
        return clef_fail_memory(loader->fields.error, text.length, "an added token");
    }
    size_t count;
    uint32_t other;
    if (clef_alphabet_read(text, loader->bytes.bytes, &count) &&
        clef_vocabulary_index_find(&loader->index, vocabulary,
                                   (clef_text){loader->bytes.bytes, count}, &other)) {
        return clef_field_fail(&loader->fields,
                               "has \"%.*s\" with id %u, which is entry %u of model.vocab too",
                               count_shown(text), text.bytes, id, other);
    }
    return CLEF_OK;
}

clef_status clef_tokenizer_finish_entries(clef_tokenizer_loader *loader) {
    clef_field_reader *fields = &loader->fields;
    clef_tokenizer *tokenizer = loader->tokenizer;
    clef_status status = CLEF_OK;
    clef_field_set_path(fields, "model.merges");
    if (loader->has_held_merges) {
        fields->json = loader->held_merges;
        status = read_merge_list(loader);
    }
    if (status == CLEF_OK) {
        status = clef_byte_pairs_build(&tokenizer->pairs, loader->merges, loader->merge_count,
                                       fields->error);
        status = clef_field_explain(fields, status);
    }
    if (status != CLEF_OK) {
        return status;
    }
    clef_field_set_path(fields, "added_tokens");
    status = clef_added_tokens_build(&tokenizer->added, &tokenizer->vocabulary, fields->error);
    status = clef_field_explain(fields, status);
    for (size_t i = 0; i < tokenizer->added.count && status == CLEF_OK; i++) {
        status = check_added_token(loader, tokenizer->added.ids[i]);
    }
    return status;
}
