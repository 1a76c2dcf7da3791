/* From a request to token ids and spans: the pieces of the prompt, each tokenised apart. */
#ifndef CLEF_DECIDE_PROMPT_H
#define CLEF_DECIDE_PROMPT_H

#include "decide/media.h"
#include "tokenizer/tokenizer.h"

/* Half-open token range [begin, end) in the whole record. */
typedef struct clef_span {
    uint32_t begin;
    uint32_t end;
} clef_span;

/* Zero means the default beside each field. */
typedef struct clef_prompt_options {
    size_t token_limit;        /* 16,384 in the whole record */
    size_t state_token_limit;  /* the token limit; prefix, media and state */
    size_t schema_token_limit; /* the token limit; schema and suffix */
    bool truncate;             /* cut the end of an over-long state instead of refusing */
    clef_control_tokens control_tokens;
    const clef_media *media; /* of the request, borrowed; NULL: none */
} clef_prompt_options;

/* A record ready for the model. Arrays live in the arena given to clef_prompt_encode, but for
 * `tokens`, which is owned: release with clef_prompt_release. */
typedef struct clef_prompt {
    clef_token_list tokens;
    clef_span *question_spans; /* [question_count] */
    clef_span *option_spans; /* [option_count] of all questions in order, options in prompt order */
    size_t prefix_tokens;    /* the fixed text before media and state */
    size_t media_end;        /* prefix and media; placeholders of features stand between the two */
    size_t state_tokens;     /* prefix, media and state as sent */
    size_t state_tokens_used; /* prefix, media and state as read; less only when truncated */
    bool is_cut_allowed;      /* the options asked for truncation */
    bool is_truncated;
} clef_prompt;

/* Encodes. CLEF_OVER_LIMIT with the counts and the limit, before any model work and, when nothing
 * may be cut, before more than about twice the limit was tokenised; CLEF_OUT_OF_MEMORY. `options`
 * may be NULL. On failure *out is empty. */
clef_status clef_prompt_encode(const clef_tokenizer *tokenizer, const clef_request *request,
                               const clef_prompt_options *options, clef_arena *arena,
                               clef_prompt *out, clef_error *error);
void clef_prompt_release(clef_prompt *prompt);

/* Appends the fixed text that every prompt begins with. CLEF_OUT_OF_MEMORY. */
clef_status clef_prompt_encode_prefix(const clef_tokenizer *tokenizer, clef_token_list *tokens,
                                      clef_error *error);

/* The pieces of a request without media as text, in order, for tests and tools: piece(context,
 * text) each. Failure to build one is CLEF_OUT_OF_MEMORY. */
clef_status clef_prompt_pieces(const clef_request *request, clef_arena *arena,
                               void (*piece)(void *context, clef_text text), void *context,
                               clef_error *error);

#endif
