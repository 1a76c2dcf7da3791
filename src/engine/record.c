/* A record: the request's text is copied, parsed, checked and encoded once; afterwards it is read
 * only, by any thread. */
#include "engine/handles.h"

#include "base/memory.h"
#include "decide/selection.h"

/* The head's view of the record: plain arrays of types, counts and ranges. */
static clef_status make_task(clef_record *record, clef_error *error) {
    const clef_request *request = record->request;
    unsigned char *types = clef_arena_allocate(&record->arena, request->question_count, 1);
    size_t *counts = clef_arena_allocate(&record->arena, request->question_count, sizeof *counts);
    clef_range *questions =
        clef_arena_allocate(&record->arena, request->question_count, sizeof *questions);
    clef_range *options =
        clef_arena_allocate(&record->arena, request->option_count, sizeof *options);
    if (types == NULL || counts == NULL || questions == NULL || options == NULL) {
        return clef_fail_memory(error, request->option_count * sizeof *options,
                                "the spans of a record");
    }
    for (size_t i = 0; i < request->question_count; i++) {
        types[i] = (unsigned char)request->questions[i].type;
        counts[i] = request->questions[i].option_count;
        questions[i] = (clef_range){record->prompt.question_spans[i].begin,
                                    record->prompt.question_spans[i].end};
    }
    for (size_t j = 0; j < request->option_count; j++) {
        options[j] =
            (clef_range){record->prompt.option_spans[j].begin, record->prompt.option_spans[j].end};
    }
    record->task = (clef_head_task){.tokens = record->prompt.tokens.ids,
                                    .token_count = record->prompt.tokens.count,
                                    .question_count = request->question_count,
                                    .option_total = request->option_count,
                                    .types = types,
                                    .option_counts = counts,
                                    .question_spans = questions,
                                    .option_spans = options};
    return CLEF_OK;
}

static clef_status choose_prompt_options(const clef_model *model,
                                         const clef_record_options *options,
                                         clef_prompt_options *chosen, clef_error *error) {
    uint32_t context = model->network.config.context_length;
    uint32_t limit = options->token_limit == 0 ? CLEF_TOKEN_LIMIT_DEFAULT : options->token_limit;
    if (!model->is_tokenizer_only && limit > context) {
        if (options->token_limit != 0) {
            return clef_fail(error, CLEF_USAGE,
                             "a limit of %u tokens is over the model's context of %u", limit,
                             context);
        }
        limit = context;
    }
    *chosen = (clef_prompt_options){
        .token_limit = limit,
        .state_token_limit = options->state_token_limit,
        .schema_token_limit = options->schema_token_limit,
        .truncate = options->truncate,
        .control_tokens = options->control_tokens == CLEF_CONTROL_TOKENS_PARSE ? CLEF_CONTROL_PARSE
                                                                               : CLEF_CONTROL_PLAIN,
    };
    return CLEF_OK;
}

static clef_status select_question(clef_record *record, const clef_record_options *options,
                                   clef_error *error) {
    if (options->question == NULL) {
        return CLEF_OK;
    }
    const clef_selection selection = {.question = {options->question, options->question_bytes},
                                      .is_alone = options->question_alone,
                                      .option_order = options->option_order,
                                      .option_count = options->option_order_count};
    return clef_request_select(record->request, &selection, &record->arena, error);
}

static clef_status read_media(clef_record *record, const clef_record_options *options,
                              clef_error *error) {
    clef_media *media = &record->media.media;
    if (options->media_record != NULL && options->media_record->model != record->model) {
        return clef_fail(error, CLEF_USAGE,
                         "the record with the media was encoded for another "
                         "model");
    }
    if (options->media_record != NULL) {
        record->media_owner = clef_record_share(options->media_record);
        *media = record->media_owner->media.media;
        return CLEF_OK;
    }
    const clef_remote_images *remote = options->remote_images;
    clef_fetch_rules rules = {0};
    if (remote != NULL) {
        rules = (clef_fetch_rules){remote->hosts, remote->host_count, remote->ports,
                                   remote->port_count, remote->certificates};
    }
    const clef_media_settings settings = {
        .usual = &record->model->media_usual,
        .remote = remote != NULL ? &rules : NULL,
        .ignores_exif = options->exif == CLEF_EXIF_IGNORE,
        .reach = options->media == CLEF_MEDIA_NONE       ? CLEF_MEDIA_REACH_NONE
                 : options->media == CLEF_MEDIA_ENCLOSED ? CLEF_MEDIA_REACH_ENCLOSED
                                                         : CLEF_MEDIA_REACH_ALL,
        .budget = record->model->media_memory,
        .byte_limit = options->media_bytes,
        .stop = {options->is_abandoned, options->context},
    };
    clef_status status = clef_media_read(record->request, &settings, &record->arena, media, error);
    return status == CLEF_OK ? clef_record_media_check(record->model, media, error) : status;
}

static clef_status encode(clef_record *record, clef_text body, const clef_record_options *options,
                          clef_error *error) {
    clef_prompt_options chosen;
    clef_status status = choose_prompt_options(record->model, options, &chosen, error);
    if (status != CLEF_OK) {
        return status;
    }
    clef_request_limits limits = {.questions = options->question_limit,
                                  .options = options->option_limit,
                                  .levels = options->level_limit};
    clef_text copy = clef_arena_copy(&record->arena, body);
    if (copy.bytes == NULL) {
        return clef_fail_memory(error, body.length, "a request");
    }
    status = clef_request_parse(copy, &limits, &record->arena, &record->request, error);
    if (status == CLEF_OK) {
        status = select_question(record, options, error);
    }
    if (status == CLEF_OK) {
        status = read_media(record, options, error);
    }
    if (status == CLEF_OK) {
        chosen.media = &record->media.media;
        status = clef_prompt_encode(record->model->tokenizer, record->request, &chosen,
                                    &record->arena, &record->prompt, error);
    }
    if (status == CLEF_OK) {
        status = clef_record_media_place(record->model, &record->prompt, &record->arena,
                                         &record->media, error);
    }
    if (status != CLEF_OK) {
        return status;
    }
    /* Handed out by clef_record_model, so it ends in NUL. */
    record->request->model = clef_arena_copy(&record->arena, record->request->model);
    if (record->request->model.bytes == NULL) {
        return clef_fail_memory(error, sizeof *record, "the name of a model");
    }
    return make_task(record, error);
}

/* Without a scope and without media, tokens alone decide whose state may be shared. Pixels decide
 * from the first placeholder on. */
static void set_salt(clef_record *record, const char *scope) {
    const clef_media *media = &record->media.media;
    record->cache_salt_begin = SIZE_MAX;
    if (scope != NULL) {
        record->cache_scope = clef_digest_of(scope, strlen(scope));
        record->cache_salt = record->cache_scope;
        record->cache_salt_begin = 0;
    }
    if (clef_media_count(media) > 0) {
        clef_digest_state state;
        clef_digest_begin(&state, CLEF_DIGEST_KEY);
        clef_digest_add(&state, record->cache_salt.bytes, sizeof record->cache_salt.bytes);
        clef_digest_add(&state, media->digest.bytes, sizeof media->digest.bytes);
        record->cache_salt = clef_digest_finish(&state);
        record->cache_salt_begin = scope == NULL ? record->prompt.prefix_tokens : 0;
    }
}

clef_status clef_record_encode(clef_model *model, const char *body, size_t body_bytes,
                               const clef_record_options *options, clef_record **out,
                               clef_error *error) {
    *out = NULL;
    clef_record_options chosen = options == NULL ? (clef_record_options){0} : *options;
    if (model->tokenizer == NULL) {
        return clef_fail(error, CLEF_USAGE, "the model %s was made for measuring and reads no text",
                         model->directory);
    }
    clef_record *record = clef_allocate(1, sizeof *record);
    if (record == NULL) {
        return clef_fail_memory(error, sizeof *record, "a record");
    }
    atomic_init(&record->references, 1);
    record->model = clef_model_share(model);
    clef_status status = encode(record, (clef_text){body, body_bytes}, &chosen, error);
    if (status != CLEF_OK) {
        clef_record_close(record);
        return status;
    }
    set_salt(record, chosen.cache_scope);
    *out = record;
    return CLEF_OK;
}

clef_record *clef_record_share(clef_record *record) {
    atomic_fetch_add(&record->references, 1);
    return record;
}

void clef_record_close(clef_record *record) {
    if (record == NULL || atomic_fetch_sub(&record->references, 1) != 1) {
        return;
    }
    clef_prompt_release(&record->prompt);
    if (record->media_owner == NULL) {
        clef_record_media_release(&record->media);
    }
    clef_record_close(record->media_owner);
    clef_arena_release(&record->arena);
    clef_model_close(record->model);
    clef_release(record);
}

uint32_t clef_record_token_count(const clef_record *record) {
    return (uint32_t)record->prompt.tokens.count;
}

const uint32_t *clef_record_tokens(const clef_record *record) {
    return record->prompt.tokens.ids;
}

const char *clef_record_model(const clef_record *record, size_t *bytes) {
    *bytes = record->request->model.length;
    return record->request->model.bytes;
}

bool clef_record_equals(const clef_record *a, const clef_record *b) {
    const clef_head_task *x = &a->task;
    const clef_head_task *y = &b->task;
    return a->model == b->model && x->token_count == y->token_count &&
           x->question_count == y->question_count && x->option_total == y->option_total &&
           clef_digest_equals(&a->cache_salt, &b->cache_salt) &&
           clef_digest_equals(&a->media.media.digest, &b->media.media.digest) &&
           memcmp(x->tokens, y->tokens, x->token_count * sizeof *x->tokens) == 0 &&
           memcmp(x->types, y->types, x->question_count) == 0 &&
           memcmp(x->option_counts, y->option_counts,
                  x->question_count * sizeof *x->option_counts) == 0 &&
           memcmp(x->question_spans, y->question_spans,
                  x->question_count * sizeof *x->question_spans) == 0 &&
           memcmp(x->option_spans, y->option_spans, x->option_total * sizeof *x->option_spans) == 0;
}

clef_status clef_record_json(const clef_record *record, char **json, size_t *bytes,
                             clef_error *error) {
    clef_buffer buffer = {0};
    clef_answer_write_encoding(record->request, &record->prompt, &buffer);
    clef_status status = clef_buffer_check(&buffer, "an encoding", error);
    *json = clef_buffer_take(&buffer, bytes);
    return status;
}

void clef_text_free(char *text) {
    clef_release(text);
}
