/* The structs behind the public handles, for the files of this layer. Counted by reference: a child
 * keeps its parent alive. */
#ifndef CLEF_ENGINE_HANDLES_H
#define CLEF_ENGINE_HANDLES_H

#include <clef/clef.h>
#include <stdatomic.h>

#include "base/digest.h"
#include "base/thread_pool.h"
#include "decide/answer.h"
#include "engine/made_weights.h"
#include "engine/record_media.h"
#include "model/joint_head.h"
#include "tokenizer/tokenizer.h"
#include "weights/weight_store.h"

struct clef_runtime {
    atomic_size_t references;
    clef_thread_pool *pool; /* of every session, whoever comes first */
    char level[32];
    char levels[128];
};

struct clef_model {
    atomic_size_t references;
    clef_runtime *runtime;
    char *directory;
    char *warning;
    clef_tokenizer *tokenizer;
    bool is_tokenizer_only;
    clef_precision precision;
    clef_media_arguments media_usual; /* how its processor prepares pictures and videos */
    clef_memory_budget *media_memory; /* of decoded pictures of its records */
    /* Only when not tokenizer-only: */
    clef_weight_store *backbone_store, *head_store;
    clef_made_weights made; /* what the stores lie over when nothing was read from files */
    clef_network network;
    uint64_t backbone_parameters, head_parameters;
};

/* One request as text, tokens and spans. */
struct clef_record {
    atomic_size_t references;
    clef_model *model;
    clef_arena arena; /* the body's copy, the request, the arrays below */
    clef_request *request;
    clef_prompt prompt;
    clef_record_media media;
    clef_record *media_owner; /* whose media these are, when another's; or NULL */
    clef_head_task task;
    /* What decides the state beside the tokens, and from which of them on. */
    clef_digest cache_salt;
    size_t cache_salt_begin;
    clef_digest cache_scope; /* zero: none. Whose features may be shared */
};

struct clef_answer {
    clef_record *record;
    float *logits;        /* [option_count] in prompt order */
    float *probabilities; /* [option_count] in prompt order */
    /* Texts of the answer, ending in NUL; in the arena. */
    clef_text *question_ids; /* [question_count] */
    clef_text *option_ids;   /* [option_count] in prompt order */
    clef_text *labels;       /* [option_count] in prompt order */
    clef_arena arena;
    double latency_ms;
    uint32_t cached_tokens;
};

clef_runtime *clef_runtime_share(clef_runtime *runtime);
clef_model *clef_model_share(clef_model *model);
clef_record *clef_record_share(clef_record *record);

/* A model with a runtime, a name and a precision, and nothing else. CLEF_OUT_OF_MEMORY. */
clef_status clef_model_begin(clef_runtime *runtime, const char *directory, clef_precision precision,
                             clef_model **out, clef_error *error);

/* Checks the stores of a model against its configuration and binds them; takes over config (see
 * clef_network_bind). `head` NULL: no head. CLEF_BAD_FILE, CLEF_OUT_OF_MEMORY. */
clef_status clef_model_bind(clef_model *model, clef_config *config, const clef_head_config *head,
                            clef_error *error);

/* All bytes of the model's weight files. */
uint64_t clef_model_mapped_bytes(const clef_model *model);

/* Bytes that a session of so many rows takes when it is created, as far as it will touch them. */
uint64_t clef_model_session_bytes(const clef_model *model, size_t rows);

/* Whether the tokenizer fits prompts and configuration. CLEF_BAD_FILE naming token, ids and field.
 */
clef_status clef_model_check_tokenizer(const clef_model *model, clef_error *error);

/* A record's answer from its logits (copied). CLEF_INTERNAL when one is not finite;
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_answer_create(clef_record *record, const float *logits, double latency_ms,
                               size_t cached_tokens, clef_answer **answer, clef_error *error);

#endif
