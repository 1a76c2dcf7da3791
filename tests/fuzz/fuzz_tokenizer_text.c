/* Fuzzing of encoding and decoding. The first byte chooses the pattern and the mode, the rest is
 * the text. What goes in comes back in NFC; the pieces of the split make up the text; encoding the
 * NFC gives the same ids; a limit gives a shorter list. */
#include "tokenizer/normalize.h"
#include "tokenizer/tokenizer.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static clef_tokenizer *tokenizers[2];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *paths[] = {CLEF_FIXTURES "/tokenizer/tokenizer-qwen2.json",
                           CLEF_FIXTURES "/tokenizer/tokenizer-qwen35.json"};
    for (int i = 0; i < 2; i++) {
        if (clef_tokenizer_load(paths[i], &tokenizers[i], NULL) != CLEF_OK) {
            abort();
        }
    }
    return 0;
}

static void require(bool is_true) {
    if (!is_true) {
        abort();
    }
}

static void count_piece(void *context, clef_text part) {
    clef_text *rest = context;
    require(part.length > 0 && part.bytes == rest->bytes && part.length <= rest->length);
    *rest = (clef_text){rest->bytes + part.length, rest->length - part.length};
}

static clef_token_list encode_text(const clef_tokenizer *tokenizer, clef_text text,
                                   clef_control_tokens mode, size_t limit) {
    clef_token_list list = {0};
    require(clef_tokenizer_encode(tokenizer, text, mode, limit, &list, NULL) == CLEF_OK);
    return list;
}

static bool have_same_ids(const clef_token_list *a, const clef_token_list *b, size_t count) {
    return count == 0 || memcmp(a->ids, b->ids, count * sizeof *a->ids) == 0;
}

static clef_buffer decode_ids(const clef_tokenizer *tokenizer, const clef_token_list *list) {
    clef_token_decoder decoder = {0};
    clef_buffer out = {0};
    for (size_t i = 0; i < list->count; i++) {
        clef_token_decoder_push(&decoder, tokenizer, list->ids[i], &out);
    }
    clef_token_decoder_finish(&decoder, &out);
    return out;
}

static void check_plain(const clef_tokenizer *tokenizer, clef_text text) {
    clef_normalizer normalizer = {0};
    clef_text composed;
    require(clef_normalize(&normalizer, text, &composed, NULL) == CLEF_OK);
    clef_text rest = composed;
    clef_tokenizer_split(tokenizer, composed, count_piece, &rest);
    require(rest.length == 0);

    clef_token_list list = encode_text(tokenizer, text, CLEF_CONTROL_PLAIN, 0);
    clef_token_list again = encode_text(tokenizer, composed, CLEF_CONTROL_PLAIN, 0);
    require(list.count == again.count && have_same_ids(&list, &again, list.count));
    clef_buffer out = decode_ids(tokenizer, &list);
    require(clef_text_equals(clef_buffer_text(&out), composed));

    size_t limit = 1 + text.length / 3;
    clef_token_list cut = encode_text(tokenizer, text, CLEF_CONTROL_PLAIN, limit);
    require(list.count > limit ? cut.count > limit
                               : cut.count == list.count && have_same_ids(&cut, &list, list.count));

    clef_token_list_release(&cut);
    clef_buffer_release(&out);
    clef_token_list_release(&again);
    clef_token_list_release(&list);
    clef_normalizer_release(&normalizer);
}

/* Parts between added tokens are normalised apart, so the text that comes back is only known to be
 * one that stays as it is. */
static void check_parse(const clef_tokenizer *tokenizer, clef_text text) {
    clef_token_list list = encode_text(tokenizer, text, CLEF_CONTROL_PARSE, 0);
    clef_buffer out = decode_ids(tokenizer, &list);
    clef_token_list again = encode_text(tokenizer, clef_buffer_text(&out), CLEF_CONTROL_PARSE, 0);
    require(list.count == again.count && have_same_ids(&list, &again, list.count));
    clef_token_list_release(&again);
    clef_buffer_release(&out);
    clef_token_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    clef_text text = {(const char *)data + 1, size - 1};
    text.length = clef_utf8_valid_prefix(text.bytes, text.length);
    const clef_tokenizer *tokenizer = tokenizers[data[0] & 1];
    if ((data[0] & 2) != 0) {
        check_parse(tokenizer, text);
    } else {
        check_plain(tokenizer, text);
    }
    return 0;
}
