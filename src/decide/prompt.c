/* Encoding: pieces to ids and spans, within the limits. Each piece is tokenised on its own: a merge
 * across a border would move every span. The schema is encoded before the state although it stands
 * behind it, because what it leaves of the limit says how much of the state is worth reading. */
#include "decide/prompt.h"

#include "base/memory.h"
#include "decide/pieces.h"
#include "decide/render.h"

#include <stdio.h>

#define DEFAULT_TOKEN_LIMIT 16384
#define FOUND_BYTES         (CLEF_COUNT_BYTES + 16) /* "more than " and a count */

/* NFC makes a text at most three times shorter (Hangul, U+212A); four is on the safe side. */
#define NORMALISATION_RATIO 4

/* ---- refusals ------------------------------------------------------------------------------ */

typedef struct prompt_encoder {
    const clef_tokenizer *tokenizer;
    clef_prompt_options limits; /* none is zero */
    size_t ceiling;             /* tokens after which counting is not worth going on */
    size_t ceiling_bytes;       /* a text of more bytes certainly has more tokens than that */
    clef_prompt *prompt;
    clef_token_list schema; /* owned; schema and suffix, until they are appended to the prompt */
} prompt_encoder;

static clef_status mark_over_limit(clef_error *error, const char *place) {
    clef_error_set_kind(error, "over_limit", 0);
    clef_error_set_place(error, "%s", place);
    return CLEF_OVER_LIMIT;
}

/* The words of the reference. */
static clef_status refuse_fixed(const prompt_encoder *encoder, size_t fixed, clef_error *error) {
    bool is_counted = fixed <= encoder->ceiling;
    clef_fail(error, CLEF_OVER_LIMIT, "schema requires %s%zu tokens before state; maximum is %zu",
              is_counted ? "" : "more than ", is_counted ? fixed : encoder->ceiling,
              encoder->limits.token_limit);
    return mark_over_limit(error, "questions");
}

/* A text that was counted only up to the ceiling is "more than" that. */
static void describe_count(const prompt_encoder *encoder, size_t count, bool is_counted,
                           char text[FOUND_BYTES]) {
    char digits[CLEF_COUNT_BYTES];
    clef_render_count(is_counted ? count : encoder->ceiling, digits);
    snprintf(text, FOUND_BYTES, "%s%s", is_counted ? "" : "more than ", digits);
}

static clef_status refuse_input(const prompt_encoder *encoder, size_t fixed, size_t total,
                                bool is_counted, clef_error *error) {
    char found[FOUND_BYTES], other[CLEF_COUNT_BYTES], limit[CLEF_COUNT_BYTES];
    describe_count(encoder, total, is_counted, found);
    clef_render_count(fixed, other);
    clef_render_count(encoder->limits.token_limit, limit);
    clef_fail(error, CLEF_OVER_LIMIT,
              "input is %s tokens (%s of them the prompt, media and questions), over the %s-token "
              "limit: shorten the state, use fewer or shorter questions, or split it across "
              "requests; or use --truncate to read only the beginning of the state (responses "
              "then say truncated: true)",
              found, other, limit);
    return mark_over_limit(error, "state");
}

static clef_status refuse_state(const prompt_encoder *encoder, size_t prefix, size_t total,
                                bool is_counted, clef_error *error) {
    char found[FOUND_BYTES], other[CLEF_COUNT_BYTES], limit[CLEF_COUNT_BYTES];
    describe_count(encoder, total, is_counted, found);
    clef_render_count(prefix, other);
    clef_render_count(encoder->limits.state_token_limit, limit);
    clef_fail(error, CLEF_OVER_LIMIT,
              "state is %s tokens (%s of them the prompt and media), over the %s-token limit: %s",
              found, other, limit,
              prefix > encoder->limits.state_token_limit
                  ? "no state fits; raise the limit"
                  : "shorten the state or split it across requests; or use --truncate to read only "
                    "the beginning of the state (responses then say truncated: true)");
    return mark_over_limit(error, "state");
}

static clef_status refuse_schema(const prompt_encoder *encoder, clef_error *error) {
    char found[CLEF_COUNT_BYTES], limit[CLEF_COUNT_BYTES];
    clef_render_count(encoder->schema.count, found);
    clef_render_count(encoder->limits.schema_token_limit, limit);
    clef_fail(error, CLEF_OVER_LIMIT,
              "schema is %s tokens, over the %s-token limit: use fewer or shorter questions, or "
              "split them across requests",
              found, limit);
    return mark_over_limit(error, "questions");
}

static const char *media_place(const clef_media *media) {
    return media->image_count > 0 ? "images" : "videos";
}

static clef_status refuse_media(const prompt_encoder *encoder, size_t count, clef_error *error) {
    const clef_media *media = encoder->limits.media;
    char found[CLEF_COUNT_BYTES], limit[CLEF_COUNT_BYTES];
    clef_render_count(count, found);
    clef_render_count(encoder->limits.token_limit, limit);
    clef_fail(error, CLEF_OVER_LIMIT,
              "prompt and media are %s tokens, over the %s-token limit: send fewer or smaller "
              "pictures",
              found, limit);
    return mark_over_limit(error, media_place(media));
}

/* Features belong to the placeholders of the media piece; the same tokens elsewhere, which only
 * parsed control tokens can be, would stand for nothing. */
static clef_status check_placeholders(const prompt_encoder *encoder, clef_error *error) {
    const clef_prompt *prompt = encoder->prompt;
    const clef_media *media = encoder->limits.media;
    static const char *const names[] = {"<|image_pad|>", "<|video_pad|>"};
    if (prompt->media_end == prompt->prefix_tokens) {
        return CLEF_OK;
    }
    for (size_t n = 0; n < 2; n++) {
        uint32_t id;
        if (!clef_tokenizer_find_added(encoder->tokenizer, clef_text_of(names[n]), &id)) {
            continue;
        }
        for (size_t i = prompt->media_end; i < prompt->tokens.count; i++) {
            if (prompt->tokens.ids[i] == id) {
                clef_fail(error, CLEF_BAD_REQUEST,
                          "%s in the state or the questions cannot stand beside %s while control "
                          "tokens are parsed",
                          names[n], media_place(media));
                clef_error_set_kind(error, "media_error", 0);
                clef_error_set_place(error, "%s", media_place(media));
                return CLEF_BAD_REQUEST;
            }
        }
    }
    return CLEF_OK;
}

/* ---- encoding ------------------------------------------------------------------------------ */

static clef_status encode_schema_piece(void *context, clef_piece_role role, size_t index,
                                       clef_text text, clef_error *error) {
    prompt_encoder *encoder = context;
    clef_token_list *schema = &encoder->schema;
    clef_control_tokens mode =
        role == CLEF_PIECE_SUFFIX ? CLEF_CONTROL_PARSE : encoder->limits.control_tokens;
    size_t begin = schema->count;
    clef_status status =
        clef_tokenizer_encode(encoder->tokenizer, text, mode, encoder->ceiling, schema, error);
    if (status != CLEF_OK) {
        return status;
    }
    if (schema->count > encoder->ceiling) {
        return refuse_fixed(encoder, encoder->prompt->tokens.count + schema->count, error);
    }
    clef_span span = {(uint32_t)begin, (uint32_t)schema->count};
    if (role == CLEF_PIECE_QUESTION) {
        encoder->prompt->question_spans[index] = span;
    } else if (role == CLEF_PIECE_OPTION) {
        encoder->prompt->option_spans[index] = span;
    }
    return CLEF_OK;
}

static clef_status encode_state_piece(void *context, clef_piece_role role, size_t index,
                                      clef_text text, clef_error *error) {
    prompt_encoder *encoder = context;
    (void)role;
    (void)index;
    /* A cut state is counted to its end, because its reply tells how much there was. */
    size_t ceiling = encoder->limits.truncate ? 0 : encoder->ceiling;
    return clef_tokenizer_encode(encoder->tokenizer, text, encoder->limits.control_tokens, ceiling,
                                 &encoder->prompt->tokens, error);
}

/* Refuses or cuts a state that is too long. `prefix`: tokens of the prompt that stand before it. */
static clef_status fit_state(prompt_encoder *encoder, size_t prefix, clef_error *error) {
    clef_prompt *prompt = encoder->prompt;
    size_t schema = encoder->schema.count;
    size_t sent = prompt->tokens.count;
    size_t room = encoder->limits.token_limit - schema; /* the schema alone has been checked */
    size_t state_limit = encoder->limits.state_token_limit;
    prompt->state_tokens = sent;
    prompt->state_tokens_used = sent;
    prompt->is_cut_allowed = encoder->limits.truncate;
    if (!encoder->limits.truncate) {
        bool is_counted = sent <= encoder->ceiling;
        if (sent > room) {
            return refuse_input(encoder, prefix + schema, sent + schema, is_counted, error);
        }
        return sent > state_limit ? refuse_state(encoder, prefix, sent, is_counted, error)
                                  : CLEF_OK;
    }
    if (prefix > state_limit) {
        return refuse_state(encoder, prefix, sent, true, error);
    }
    room = room < state_limit ? room : state_limit;
    if (sent > room) {
        prompt->tokens.count = room;
        prompt->state_tokens_used = room;
        prompt->is_truncated = true;
    }
    return CLEF_OK;
}

/* Moves the schema behind the state and its spans with it. */
static clef_status append_schema(prompt_encoder *encoder, const clef_request *request,
                                 clef_error *error) {
    clef_prompt *prompt = encoder->prompt;
    size_t count = encoder->schema.count;
    clef_status status = clef_token_list_reserve(&prompt->tokens, count, error);
    if (status != CLEF_OK) {
        return status;
    }
    uint32_t base = (uint32_t)prompt->tokens.count;
    memcpy(prompt->tokens.ids + base, encoder->schema.ids, count * sizeof *encoder->schema.ids);
    prompt->tokens.count += count;
    for (size_t i = 0; i < request->question_count; i++) {
        prompt->question_spans[i].begin += base;
        prompt->question_spans[i].end += base;
    }
    for (size_t i = 0; i < request->option_count; i++) {
        prompt->option_spans[i].begin += base;
        prompt->option_spans[i].end += base;
    }
    return CLEF_OK;
}

static clef_status encode_prefix_piece(void *context, clef_piece_role role, size_t index,
                                       clef_text text, clef_error *error) {
    prompt_encoder *encoder = context;
    (void)role;
    (void)index;
    return clef_tokenizer_encode(encoder->tokenizer, text, CLEF_CONTROL_PARSE, 0,
                                 &encoder->prompt->tokens, error);
}

/* The fixed text, then the placeholders of media, counted before they are written. */
static clef_status encode_front(prompt_encoder *encoder, clef_piece_walk *walk, clef_error *error) {
    clef_prompt *prompt = encoder->prompt;
    const clef_media *media = encoder->limits.media;
    walk->visit = encode_prefix_piece;
    clef_status status = clef_pieces_visit_prefix(walk);
    prompt->prefix_tokens = prompt->tokens.count;
    size_t least = prompt->tokens.count + (media == NULL ? 0 : clef_media_token_count(media));
    if (status == CLEF_OK && least > encoder->limits.token_limit && media != NULL &&
        clef_media_count(media) > 0) {
        return refuse_media(encoder, least, error);
    }
    if (status == CLEF_OK) {
        status = clef_pieces_visit_media(walk, media);
    }
    prompt->media_end = prompt->tokens.count;
    return status;
}

/* A lower bound of the bytes of all questions; counting ends soon after it passes `enough`. */
static size_t least_of_schema(const clef_request *request, size_t enough) {
    size_t least = 0;
    for (size_t i = 0; i < request->question_count && least <= enough; i++) {
        const clef_question *question = &request->questions[i];
        least += question->id.length;
        if (question->instructions != NULL) {
            least += clef_render_least(question->instructions, enough);
        }
        for (size_t j = 0; j < question->option_count && least <= enough; j++) {
            least += question->options[j].id.length;
            if (question->options[j].description != NULL) {
                least += clef_render_least(question->options[j].description, enough);
            }
        }
    }
    return least;
}

/* Tokens that are certainly more than the ceiling are not counted, and their text not even
 * written. */
static clef_status encode_pieces(prompt_encoder *encoder, const clef_request *request,
                                 clef_piece_walk *walk, clef_error *error) {
    clef_status status = encode_front(encoder, walk, error);
    if (status != CLEF_OK) {
        return status;
    }
    size_t prefix = encoder->prompt->media_end;
    size_t enough = encoder->ceiling_bytes;
    if (least_of_schema(request, enough) > enough) {
        return refuse_fixed(encoder, encoder->ceiling + 1, error);
    }
    walk->visit = encode_schema_piece;
    status = clef_pieces_visit_schema(walk, request);
    if (status != CLEF_OK) {
        return status;
    }
    if (prefix + encoder->schema.count > encoder->limits.token_limit) {
        return refuse_fixed(encoder, prefix + encoder->schema.count, error);
    }
    if (!encoder->limits.truncate && clef_render_least(request->state, enough) > enough) {
        return refuse_input(encoder, prefix + encoder->schema.count, 0, false, error);
    }
    walk->visit = encode_state_piece;
    status = clef_pieces_visit_state(walk, request);
    if (status == CLEF_OK) {
        status = fit_state(encoder, prefix, error);
    }
    if (status == CLEF_OK && encoder->schema.count > encoder->limits.schema_token_limit) {
        status = refuse_schema(encoder, error);
    }
    if (status == CLEF_OK) {
        status = append_schema(encoder, request, error);
    }
    return status == CLEF_OK ? check_placeholders(encoder, error) : status;
}

static clef_prompt_options fill_options(const clef_prompt_options *options) {
    clef_prompt_options filled = options == NULL ? (clef_prompt_options){0} : *options;
    if (filled.token_limit == 0) {
        filled.token_limit = DEFAULT_TOKEN_LIMIT;
    }
    if (filled.state_token_limit == 0) {
        filled.state_token_limit = filled.token_limit;
    }
    if (filled.schema_token_limit == 0) {
        filled.schema_token_limit = filled.token_limit;
    }
    return filled;
}

clef_status clef_prompt_encode(const clef_tokenizer *tokenizer, const clef_request *request,
                               const clef_prompt_options *options, clef_arena *arena,
                               clef_prompt *out, clef_error *error) {
    *out = (clef_prompt){0};
    prompt_encoder encoder = {
        .tokenizer = tokenizer, .limits = fill_options(options), .prompt = out};
    clef_arena scratch = {.cap_bytes = arena->cap_bytes};
    clef_piece_walk walk = {.context = &encoder, .scratch = &scratch, .error = error};
    clef_status status;

    /* Twice the limit: far enough to tell a user the true count of an input a little too long. */
    if (!clef_multiply_size(encoder.limits.token_limit, 2, &encoder.ceiling)) {
        encoder.ceiling = SIZE_MAX - 1;
    }
    if (!clef_multiply_size(encoder.ceiling + 1, NORMALISATION_RATIO, &encoder.ceiling_bytes) ||
        !clef_multiply_size(encoder.ceiling_bytes, clef_tokenizer_longest(tokenizer),
                            &encoder.ceiling_bytes)) {
        encoder.ceiling_bytes = SIZE_MAX;
    }
    out->question_spans = clef_arena_allocate(arena, request->question_count, sizeof(clef_span));
    out->option_spans = clef_arena_allocate(arena, request->option_count, sizeof(clef_span));
    if (out->question_spans == NULL || out->option_spans == NULL) {
        status = clef_fail_memory(error, request->option_count * sizeof(clef_span), "the spans");
    } else {
        status = encode_pieces(&encoder, request, &walk, error);
    }
    clef_buffer_release(&walk.buffer);
    clef_arena_release(&scratch);
    clef_token_list_release(&encoder.schema);
    if (status != CLEF_OK) {
        clef_prompt_release(out);
    }
    return status;
}

void clef_prompt_release(clef_prompt *prompt) {
    clef_token_list_release(&prompt->tokens);
    *prompt = (clef_prompt){0};
}

clef_status clef_prompt_encode_prefix(const clef_tokenizer *tokenizer, clef_token_list *tokens,
                                      clef_error *error) {
    clef_prompt prompt = {.tokens = *tokens};
    prompt_encoder encoder = {.tokenizer = tokenizer, .prompt = &prompt};
    clef_piece_walk walk = {.visit = encode_prefix_piece, .context = &encoder, .error = error};
    clef_status status = clef_pieces_visit_prefix(&walk);
    *tokens = prompt.tokens;
    return status;
}

/* ---- pieces as text ------------------------------------------------------------------------ */

typedef struct piece_listener {
    void (*piece)(void *context, clef_text text);
    void *context;
} piece_listener;

static clef_status tell_piece(void *context, clef_piece_role role, size_t index, clef_text text,
                              clef_error *error) {
    const piece_listener *listener = context;
    (void)role;
    (void)index;
    (void)error;
    listener->piece(listener->context, text);
    return CLEF_OK;
}

clef_status clef_prompt_pieces(const clef_request *request, clef_arena *arena,
                               void (*piece)(void *context, clef_text text), void *context,
                               clef_error *error) {
    piece_listener listener = {piece, context};
    clef_piece_walk walk = {tell_piece, &listener, arena, {0}, error};
    clef_status status = clef_pieces_visit_prefix(&walk);
    if (status == CLEF_OK) {
        status = clef_pieces_visit_state(&walk, request);
    }
    if (status == CLEF_OK) {
        status = clef_pieces_visit_schema(&walk, request);
    }
    clef_buffer_release(&walk.buffer);
    return status;
}
