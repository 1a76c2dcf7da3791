/* tokenizer.json as rules. How the text is normalised, split and decoded is fixed: the rules check
 * that the file says what the code does. The lists are read in tokenizer_entries.c. */
#include "tokenizer/tokenizer_file.h"

#include "base/memory.h"
#include "tokenizer/tokenizer_loader.h"

#include <stdio.h>

/* Keeps every offset in 32 bits; the published file has 20 MB. */
#define LARGEST_FILE    ((size_t)1 << 30)
#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

static clef_status read_pattern_text(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    clef_text found = loader->fields.json.text;
    for (unsigned i = 0; i < CLEF_SPLIT_PATTERN_COUNT && event == CLEF_JSON_EVENT_STRING; i++) {
        if (clef_text_equals(found, clef_split_pattern_text((clef_split_pattern)i))) {
            loader->tokenizer->pattern = (clef_split_pattern)i;
            return CLEF_OK;
        }
    }
    char supported[512];
    snprintf(supported, sizeof supported, "\"%s\" and \"%s\"",
             clef_split_pattern_text(CLEF_SPLIT_PATTERN_QWEN2).bytes,
             clef_split_pattern_text(CLEF_SPLIT_PATTERN_QWEN35).bytes);
    return clef_field_refuse(&loader->fields, event, supported);
}

static const clef_field_rule pattern_rules[] = {
    {.name = "Regex", .is_required = true, .read = read_pattern_text},
};

static const clef_field_rule split_rules[] = {
    {.name = "type", .is_required = true, .string = "Split"},
    {.name = "pattern", .is_required = true, CLEF_FIELD_OBJECT(pattern_rules)},
    {.name = "behavior", .is_required = true, .string = "Isolated"},
    {.name = "invert", .accepts = CLEF_FIELD_FALSE},
};

static const clef_field_rule byte_level_rules[] = {
    {.name = "type", .is_required = true, .string = "ByteLevel"},
    {.name = "add_prefix_space", .is_required = true, .accepts = CLEF_FIELD_FALSE},
    {.name = "trim_offsets", .accepts = CLEF_FIELD_BOOLEAN},
    {.name = "use_regex", .is_required = true, .accepts = CLEF_FIELD_FALSE},
};

/* After the ids are made, the flags of a ByteLevel step change offsets alone. */
static const clef_field_rule after_rules[] = {
    {.name = "type", .is_required = true, .string = "ByteLevel"},
    {.name = "add_prefix_space", .accepts = CLEF_FIELD_BOOLEAN},
    {.name = "trim_offsets", .accepts = CLEF_FIELD_BOOLEAN},
    {.name = "use_regex", .accepts = CLEF_FIELD_BOOLEAN},
};

static clef_status read_steps(void *context, clef_json_event event) {
    clef_tokenizer_loader *loader = context;
    clef_field_reader *fields = &loader->fields;
    size_t length = fields->path_length;
    clef_status status = clef_field_expect(fields, event, CLEF_JSON_EVENT_ARRAY_BEGIN);
    for (size_t number = 0; status == CLEF_OK; number++) {
        status = clef_field_read_event(fields, &event);
        if (status == CLEF_OK && (event == CLEF_JSON_EVENT_ARRAY_END) != (number == 2)) {
            return clef_field_fail(fields, "does not have two steps; supported: Split, ByteLevel");
        }
        if (status != CLEF_OK || number == 2) {
            break;
        }
        clef_field_enter_element(fields, number);
        status = clef_field_expect(fields, event, CLEF_JSON_EVENT_OBJECT_BEGIN);
        if (status == CLEF_OK) {
            status = number == 0
                         ? clef_fields_read(fields, split_rules, COUNT_OF(split_rules), loader)
                         : clef_fields_read(fields, byte_level_rules, COUNT_OF(byte_level_rules),
                                            loader);
        }
        if (status == CLEF_OK) {
            clef_field_leave(fields, length);
        }
    }
    return status;
}

static const clef_field_rule sequence_rules[] = {
    {.name = "type", .is_required = true, .string = "Sequence"},
    {.name = "pretokenizers", .is_required = true, .read = read_steps},
};

static const clef_field_rule normalizer_rules[] = {
    {.name = "type", .is_required = true, .string = "NFC"},
};

static const clef_field_rule model_rules[] = {
    {.name = "type", .is_required = true, .string = "BPE"},
    {.name = "dropout", .accepts = CLEF_FIELD_NULL},
    {.name = "unk_token", .accepts = CLEF_FIELD_NULL},
    {.name = "continuing_subword_prefix", .accepts = CLEF_FIELD_NULL | CLEF_FIELD_EMPTY},
    {.name = "end_of_word_suffix", .accepts = CLEF_FIELD_NULL | CLEF_FIELD_EMPTY},
    {.name = "fuse_unk", .accepts = CLEF_FIELD_FALSE},
    {.name = "byte_fallback", .accepts = CLEF_FIELD_FALSE},
    {.name = "ignore_merges", .accepts = CLEF_FIELD_FALSE},
    {.name = "vocab", .is_required = true, .read = clef_tokenizer_read_vocabulary},
    {.name = "merges", .is_required = true, .read = clef_tokenizer_read_merges},
};

static const clef_field_rule file_rules[] = {
    {.name = "version", .string = "1.0"},
    {.name = "truncation", .accepts = CLEF_FIELD_NULL},
    {.name = "padding", .accepts = CLEF_FIELD_NULL},
    {.name = "added_tokens", .read = clef_tokenizer_read_added_tokens},
    {.name = "normalizer", .is_required = true, CLEF_FIELD_OBJECT(normalizer_rules)},
    {.name = "pre_tokenizer", .is_required = true, CLEF_FIELD_OBJECT(sequence_rules)},
    {.name = "post_processor", .accepts = CLEF_FIELD_NULL, CLEF_FIELD_OBJECT(after_rules)},
    {.name = "decoder", .is_required = true, CLEF_FIELD_OBJECT(after_rules)},
    {.name = "model", .is_required = true, CLEF_FIELD_OBJECT(model_rules)},
};

static clef_status read_file(clef_tokenizer_loader *loader) {
    clef_field_reader *fields = &loader->fields;
    clef_json_event event;
    clef_status status = clef_field_read_event(fields, &event);
    if (status == CLEF_OK) {
        status = clef_field_expect(fields, event, CLEF_JSON_EVENT_OBJECT_BEGIN);
    }
    if (status == CLEF_OK) {
        status = clef_fields_read(fields, file_rules, COUNT_OF(file_rules), loader);
    }
    if (status == CLEF_OK) {
        status = clef_field_read_event(fields, &event);
    }
    return status == CLEF_OK ? clef_tokenizer_finish_entries(loader) : status;
}

clef_status clef_tokenizer_file_read(clef_text json, clef_tokenizer *tokenizer, clef_error *error) {
    if (json.length > LARGEST_FILE) {
        return clef_fail(error, CLEF_BAD_FILE, "the file has %zu bytes; the limit is %zu",
                         json.length, LARGEST_FILE);
    }
    clef_tokenizer_loader loader = {.tokenizer = tokenizer};
    clef_field_reader_init(&loader.fields, json, error);
    clef_status status = read_file(&loader);
    clef_vocabulary_index_release(&loader.index);
    clef_buffer_release(&loader.bytes);
    clef_release(loader.merges);
    clef_field_reader_release(&loader.fields);
    return status;
}
