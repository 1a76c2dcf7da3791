/* Fuzzing of everything a client's bytes reach before the model: parsing, checking, encoding and
 * writing. The first byte chooses the options, the rest is the body. The vocabulary is small, so
 * that inputs and tokens stay close. */
#include "decide/answer.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static clef_tokenizer *tokenizer;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    clef_error error = {0};
    (void)argc;
    (void)argv;
    if (clef_tokenizer_load(CLEF_FIXTURES "/tokenizer/small/tokenizer.json", &tokenizer, &error) !=
        CLEF_OK) {
        abort();
    }
    return 0;
}

/* A reply with made-up logits: it must be JSON again. */
static void write_reply(const clef_request *request, const clef_prompt *prompt, clef_arena *arena) {
    float *logits = calloc(request->option_count, sizeof *logits);
    float *probabilities = calloc(request->option_count, sizeof *probabilities);
    clef_buffer out = {0};
    clef_json *value;
    if (logits == NULL || probabilities == NULL) {
        abort();
    }
    for (size_t i = 0; i < request->option_count; i++) {
        logits[i] = (float)(i * 7 % 5);
    }
    if (clef_answer_probabilities(request, logits, probabilities, NULL) != CLEF_OK) {
        abort();
    }
    clef_answer_write_body(request, probabilities, prompt->tokens.count, NULL, arena, &out);
    if (clef_json_parse(clef_buffer_text(&out), arena, &value, NULL) != CLEF_OK) {
        abort();
    }
    clef_buffer_release(&out);
    free(logits);
    free(probabilities);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    clef_prompt_options options = {
        .token_limit = (data[0] & 1) != 0 ? 300 : 0,
        .truncate = (data[0] & 2) != 0,
        .control_tokens = (data[0] & 4) != 0 ? CLEF_CONTROL_PARSE : CLEF_CONTROL_PLAIN,
    };
    clef_text body = {(const char *)data + 1, size - 1};
    clef_arena arena = {0};
    clef_error error = {0};
    clef_request *request;
    clef_prompt prompt;
    if (clef_request_parse(body, NULL, &arena, &request, &error) == CLEF_OK &&
        clef_prompt_encode(tokenizer, request, &options, &arena, &prompt, &error) == CLEF_OK) {
        clef_buffer out = {0};
        clef_answer_write_encoding(request, &prompt, &out);
        clef_buffer_release(&out);
        write_reply(request, &prompt, &arena);
        clef_prompt_release(&prompt);
    }
    clef_arena_release(&arena);
    return 0;
}
