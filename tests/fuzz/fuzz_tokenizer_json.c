/* Fuzzing of the reader of tokenizer.json. A file that is accepted must make a tokenizer that
 * works: a text goes through it and comes back. */
#include "tokenizer/tokenizer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ASCII and a few multi-byte characters, in NFC, with what the split pattern looks at. */
static const char sample_bytes[] = "We'll see: caf\xC3\xA9, \xE6\x97\xA5\xE6\x9C\xAC 42%\n\n  "
                                   "<think>x</think>\t\xF0\x9F\x98\x80";

static void check_sample(const clef_tokenizer *tokenizer) {
    clef_text sample = {sample_bytes, sizeof sample_bytes - 1};
    clef_token_list list = {0};
    clef_token_decoder decoder = {0};
    clef_buffer out = {0};
    if (clef_tokenizer_encode(tokenizer, sample, CLEF_CONTROL_PARSE, 0, &list, NULL) != CLEF_OK) {
        abort();
    }
    for (size_t i = 0; i < list.count; i++) {
        if (list.ids[i] >= clef_tokenizer_count(tokenizer)) {
            abort();
        }
        clef_token_decoder_push(&decoder, tokenizer, list.ids[i], &out);
    }
    clef_token_decoder_finish(&decoder, &out);
    if (!clef_text_equals(clef_buffer_text(&out), sample)) {
        abort();
    }
    clef_buffer_release(&out);
    clef_token_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    clef_tokenizer *tokenizer = NULL;
    clef_error error = {0};
    clef_status status = clef_tokenizer_parse(
        "tokenizer.json", (clef_text){(const char *)data, size}, &tokenizer, &error);
    if (status == CLEF_OK) {
        check_sample(tokenizer);
        clef_tokenizer_close(tokenizer);
    } else if (tokenizer != NULL || error.message[0] == '\0' || error.place[0] == '\0') {
        abort();
    }
    return 0;
}
