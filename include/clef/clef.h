/* libclef: typed decisions from open models, in one forward pass.
 *
 *     clef_runtime   threads and instruction-set level
 *       clef_model     a model directory, opened; immutable, shared by threads
 *         clef_record    one request, parsed, checked and encoded; immutable
 *         clef_session   computes records in packed steps; one thread at a time
 *           clef_answer    the answer to one record; immutable
 *
 * Handles are opaque. Children hold a reference to their parents, so the order of closing does not
 * matter, and every close accepts NULL. The library prints nothing, never exits, installs no
 * handlers and has no global state. A zeroed option struct, or NULL in its place, means defaults.
 * Texts are UTF-8 with explicit length; returned texts also end in NUL. */
#ifndef CLEF_CLEF_H
#define CLEF_CLEF_H

#include <clef/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEF_VERSION_MAJOR 0
#define CLEF_VERSION_MINOR 1
#define CLEF_VERSION_PATCH 0

/* "0.1.0"; static. */
CLEF_API const char *clef_version(void);

typedef struct clef_runtime clef_runtime;
typedef struct clef_model clef_model;
typedef struct clef_record clef_record;
typedef struct clef_session clef_session;
typedef struct clef_answer clef_answer;

/* ---- runtime ------------------------------------------------------------------------------- */

typedef struct clef_runtime_options {
    uint32_t
        thread_count; /* 0: the CPUs this process may use (affinity and quota); at most 1,024 */
    const char *cpu_level; /* highest level of kernels to use, by name; NULL: the best there is */
} clef_runtime_options;

/* Starts the threads, which sleep while there is nothing to do. Sessions of one runtime may compute
 * at the same time, each on a thread of its own; the other threads then help whoever came first.
 * A forked process has none of them: it creates a runtime of its own, and leaves handles made
 * before the fork alone. CLEF_USAGE for a thread count or level out of range; CLEF_OUT_OF_MEMORY,
 * also when the system gives fewer threads. */
CLEF_API clef_status clef_runtime_create(const clef_runtime_options *options,
                                         clef_runtime **runtime, clef_error *error);
CLEF_API void clef_runtime_close(clef_runtime *runtime);

/* Threads in use. */
CLEF_API uint32_t clef_runtime_threads(const clef_runtime *runtime);
/* Name of the level in use ("avx2"); static. */
CLEF_API const char *clef_runtime_level(const clef_runtime *runtime);
/* Names of all levels this build and this machine allow, separated by spaces, lowest first; until
 * the runtime is closed. */
CLEF_API const char *clef_runtime_levels(const clef_runtime *runtime);

/* ---- model --------------------------------------------------------------------------------- */

typedef enum clef_precision {
    CLEF_PRECISION_AUTO, /* f32 in this version */
    CLEF_PRECISION_F32,  /* weights widened exactly, fp32 everywhere */
    CLEF_PRECISION_BF16, /* inputs of the matrix products of backbone and vision tower, and of the
                            tower's attention, rounded to bfloat16, fp32 sums; the backbone's
                            attention, norms, softmax, delta rule and joint head in fp32 */
} clef_precision;

typedef struct clef_model_options {
    clef_precision precision;
    bool tokenizer_only; /* open tokenizer.json alone: records can be encoded, not computed */
} clef_model_options;

/* Maps and checks the files of a model directory; copies and converts no weights. CLEF_BAD_FILE
 * naming file, tensor, found and expected; CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_model_open(clef_runtime *runtime, const char *directory,
                                     const clef_model_options *options, clef_model **model,
                                     clef_error *error);
CLEF_API void clef_model_close(clef_model *model);

typedef struct clef_model_facts {
    const char *directory; /* texts: until the model is closed */
    const char *precision; /* of the backbone's products: "f32", "bf16"; for a quantised model
                              "int8", "int4" or "mixed" */
    const char *warning;   /* something odd about the directory, or NULL */
    uint32_t hidden_size, layer_count, full_attention_layer_count, intermediate_size;
    uint32_t attention_head_count, key_value_head_count, head_size;
    uint32_t delta_key_head_count, delta_value_head_count, delta_key_size, delta_value_size;
    uint32_t vocabulary_size; /* rows of the embedding matrix */
    uint32_t token_count;     /* ids the tokenizer knows */
    uint32_t context_length;  /* tokens */
    uint32_t head_width, head_evidence_layer_count, head_decoder_layer_count;
    bool has_head; /* false for a base model: it can not decide */
    bool has_vision;
    uint32_t vision_block_count; /* of the vision tower; 0 without one */
    bool has_tied_embeddings;
    uint64_t backbone_parameter_count, head_parameter_count;
    uint64_t mapped_bytes; /* weight files */
    uint64_t media_bytes;  /* decoded pictures of its open records, now */
} clef_model_facts;

/* With tokenizer_only, all but directory, precision, token_count and media_bytes are zero. */
CLEF_API void clef_model_describe(const clef_model *model, clef_model_facts *facts);

typedef struct clef_memory_estimate {
    uint64_t mapped_bytes;   /* weight files; shared and reclaimable */
    uint64_t model_bytes;    /* of the opened model besides: tokenizer, vectors, lists of tensors */
    uint64_t scratch_bytes;  /* one session: activations, threads, the head while it decides */
    uint64_t sequence_bytes; /* state of one record of the given tokens */
} clef_memory_estimate;

/* What a session with `rows_per_step` rows (0: default) and a record of `tokens` tokens, four
 * questions and sixteen options take. */
CLEF_API void clef_model_estimate(const clef_model *model, uint32_t rows_per_step, uint32_t tokens,
                                  clef_memory_estimate *estimate);

/* Zero means the default beside each field. */
typedef struct clef_quantize_options {
    const char *recipe; /* "int8" (the default), "int4", "mixed", or a recipe as JSON */
    uint32_t group;     /* columns that share a scale, 32 or 64; what the recipe says, without that
                           64 for 8 and 32 for 4 bits */
    bool may_replace;   /* write into an output that holds files: those of the new model's names and
                           old weight files are replaced, others stay */
    uint64_t file_bytes; /* weights are split into files of about so many; 5·10⁹ */
    /* Records like those the model will answer, encoded for it or for another handle of it; none
     * by default. With some, what the matrices of its layers read is measured on them, a layer at a
     * time, and each weight is rounded to that one of its two neighbours whose error the others
     * cancel. Takes the hidden rows of all of them as memory; the same level of kernels gives the
     * same bits. calibration_source is written into the files beside their number, such as a file's
     * name and digest; may be NULL. */
    clef_record *const *calibration_records; /* [calibration_record_count] */
    size_t calibration_record_count;
    const char *calibration_source;
    /* Called now and then from the calling thread with bytes of weights and hidden rows; true:
     * stop. May be NULL. */
    bool (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *context;
} clef_quantize_options;

/* Writes a model with quantised weights into `output`: the matrices of the text model with 8 or 4
 * bits a weight, all else and the other files of `directory` as they are. Embeddings and output
 * matrix get 8 bits and one scale a row. The directory above output must exist. What was written is
 * opened and compared with its source before it is moved into place; on any failure nothing of it
 * stays. CLEF_USAGE for a recipe, an output or records nobody can honour, CLEF_BAD_FILE for the
 * source, CLEF_INTERNAL when a file cannot be written, CLEF_VERIFY_FAILED naming file and tensor,
 * CLEF_CANCELLED, CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_model_quantize(clef_runtime *runtime, const char *directory,
                                         const char *output, const clef_quantize_options *options,
                                         clef_error *error);

/* ---- record -------------------------------------------------------------------------------- */

typedef enum clef_control_token_mode {
    CLEF_CONTROL_TOKENS_PLAIN, /* control tokens written in a request are ordinary text */
    CLEF_CONTROL_TOKENS_PARSE, /* they act as control tokens, as in the reference */
} clef_control_token_mode;

typedef enum clef_exif_mode {
    CLEF_EXIF_APPLY,  /* pictures are turned upright, as a camera says they are to be seen */
    CLEF_EXIF_IGNORE, /* they stay as they are stored, as in the reference */
} clef_exif_mode;

/* Which hosts pictures may be fetched from. All-zero: the public internet, ports 80 and 443. */
typedef struct clef_remote_images {
    const char *const *hosts; /* [host_count] names and addresses that may also lie in a network
                                 that others do not reach, as they stand in requests */
    size_t host_count;
    const uint16_t *ports; /* [port_count], in place of 80 and 443 */
    size_t port_count;
    const char *certificates; /* PEM file of authorities whose word counts for https, in place of
                                 the system's; NULL: those */
} clef_remote_images;

/* Which pictures and videos may be read in a call. A request with others fails with CLEF_BUSY
 * before anything slow begins, so that a thread that must not take long can leave it to another. */
typedef enum clef_media_mode {
    CLEF_MEDIA_ALL,
    CLEF_MEDIA_ENCLOSED, /* those in the request, and none that has to be fetched */
    CLEF_MEDIA_NONE,
} clef_media_mode;

#define CLEF_TOKEN_LIMIT_DEFAULT    16384
#define CLEF_QUESTION_LIMIT_DEFAULT 64
#define CLEF_OPTION_LIMIT_DEFAULT   255
#define CLEF_LEVEL_LIMIT_DEFAULT    255

/* Zero means the default beside each field. */
typedef struct clef_record_options {
    uint32_t token_limit;        /* 16,384; at most the model's context length */
    uint32_t state_token_limit;  /* the token limit */
    uint32_t schema_token_limit; /* the token limit */
    uint32_t question_limit;     /* 64 */
    uint32_t option_limit;       /* 255 options of one choice */
    uint32_t level_limit;        /* 255 levels of one score */
    bool truncate;               /* cut the end of an over-long state instead of refusing */
    clef_control_token_mode control_tokens;
    clef_exif_mode exif; /* of pictures and frames, and the turn that a video file asks for */
    /* What http:// and https:// addresses of pictures do: NULL refuses them, else they are fetched
     * during the call, up to ten seconds each. CLEF_NETWORK when that does not work out. */
    const clef_remote_images *remote_images;
    clef_media_mode media;
    uint64_t
        media_bytes; /* decoded pictures of all records of the model that are open; a call waits
                        until others are closed, so not where one thread does both; 0: no limit */
    /* Asked now and then while media are read; true ends the call with CLEF_CANCELLED. May be
     * NULL. */
    bool (*is_abandoned)(void *context);
    void *context;
    /* A record of the same body whose pictures and videos are shared instead of being read again;
     * NULL: none. */
    clef_record *media_record;
    const char *cache_scope; /* records of different scopes never share kept states or features, so
                                that nobody learns from a fast answer what others asked; NULL: all
                                share */
    /* One question in another light, chosen once the whole request has been checked. CLEF_USAGE
     * when there is no such question, or the order is none of its options. */
    const char *question; /* its id; NULL: none, and the fields below mean nothing */
    size_t question_bytes;
    bool question_alone;          /* the other questions are left out */
    const uint32_t *option_order; /* [option_order_count], or NULL: sorted by id. The places of a
                                     choice's options as sent, in the order of the prompt */
    uint32_t option_order_count;
} clef_record_options;

/* Parses, checks and encodes a request body (the JSON of POST /v1/systemone, borrowed only during
 * the call). Needs no session and may run on any thread. CLEF_BAD_TEXT, CLEF_BAD_REQUEST,
 * CLEF_OVER_LIMIT, CLEF_TOO_LARGE, CLEF_OUT_OF_MEMORY, with kind and place in error; CLEF_BUSY and
 * CLEF_CANCELLED as the options say. */
CLEF_API clef_status clef_record_encode(clef_model *model, const char *body, size_t body_bytes,
                                        const clef_record_options *options, clef_record **record,
                                        clef_error *error);
CLEF_API void clef_record_close(clef_record *record);

CLEF_API uint32_t clef_record_token_count(const clef_record *record);
/* Token ids, clef_record_token_count of them; until the record is closed. */
CLEF_API const uint32_t *clef_record_tokens(const clef_record *record);

/* The model's name as the request gives it; until the record is closed. */
CLEF_API const char *clef_record_model(const clef_record *record, size_t *bytes);
/* Equal tokens, spans, types of questions, media and cache scope: one computation answers both. */
CLEF_API bool clef_record_equals(const clef_record *a, const clef_record *b);

/* The encoding as one JSON object: model, input_ids, questions with spans, state_tokens. Owned by
 * the caller, freed with clef_text_free. CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_record_json(const clef_record *record, char **json, size_t *bytes,
                                      clef_error *error);
CLEF_API void clef_text_free(char *text);

/* ---- session ------------------------------------------------------------------------------- */

typedef struct clef_session_options {
    uint32_t rows_per_step; /* tokens computed at once, of all records together; 0: 512; rounded up
                               to a multiple of 64; at most 65,536 */
    uint64_t state_bytes;   /* for the states of running records; 0: no limit. A record waits while
                               others hold the memory, and fails when it needs more than that alone */
    bool made_answers; /* compute nothing: logits are a fixed function of a record's tokens, for
                          tests of clients; a model opened as tokenizer only is enough */
    /* States kept for records that begin with the same tokens. Answers are equal to the bit with
     * and without. */
    uint64_t prefix_cache_bytes;   /* memory for them, beside state_bytes; 0: none are kept */
    uint32_t prefix_cache_entries; /* how many at most; 0: as many as fit */
    /* An existing directory where they are kept over restarts too; NULL: none. Needs
     * prefix_cache_bytes. One session at a time may use a directory. */
    const char *prefix_cache_directory;
    uint64_t prefix_cache_directory_bytes; /* 0: four times prefix_cache_bytes */
    /* What the vision tower made of pictures and videos, kept for records that show the same ones
     * under other texts. Answers are equal to the bit with and without. */
    uint64_t feature_cache_bytes; /* memory for it; 0: nothing is kept */
} clef_session_options;

/* Takes all memory that a step needs. CLEF_USAGE when the model has no head or was opened as
 * tokenizer only, or for a cache directory that cannot be used; CLEF_BUSY when another session uses
 * it; CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_session_create(clef_model *model, const clef_session_options *options,
                                         clef_session **session, clef_error *error);
/* With a cache directory, kept states that are not in it yet are written first. */
CLEF_API void clef_session_close(clef_session *session);

/* Computes the fixed text that stands before every state, which brings the weights into memory; a
 * session that keeps states keeps it. For servers, at start; nothing may be pending (CLEF_USAGE).
 * CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_session_warm(clef_session *session, clef_error *error);

/* Called once for every submitted record, from clef_session_step. On CLEF_OK `answer` is owned by
 * the callee; otherwise it is NULL and `error`, borrowed during the call, says why. */
typedef void clef_answer_callback(void *context, clef_status status, clef_answer *answer,
                                  const clef_error *error);

/* Queues a record; it takes a reference, so the caller may close its own at once.
 * CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_session_submit(clef_session *session, clef_record *record,
                                         clef_answer_callback *callback, void *context,
                                         clef_error *error);

/* Drops the oldest record that was submitted with this context and is not yet answered; its
 * callback is called with CLEF_CANCELLED. false when there is none. Not from a callback. */
CLEF_API bool clef_session_cancel(clef_session *session, const void *context);

/* Computes one step: slices of queued records, packed, oldest first with a share for short ones,
 * and calls back for every record that is complete. Answers are equal to the bit whatever shares a
 * step. *pending (may be NULL) receives the records not yet answered. A record's own failure goes
 * to its callback; CLEF_OK here. */
CLEF_API clef_status clef_session_step(clef_session *session, size_t *pending, clef_error *error);

/* Submits one record and steps until its answer is there (others submitted before go on too). */
CLEF_API clef_status clef_session_decide(clef_session *session, clef_record *record,
                                         clef_answer **answer, clef_error *error);

typedef struct clef_session_statistics {
    uint64_t pending_records; /* submitted and not yet answered */
    uint64_t running_records; /* of these: have state */
    uint64_t steps;
    uint64_t computed_tokens;
    uint64_t state_bytes;   /* of running records */
    uint64_t scratch_bytes; /* activations of a step */
    uint64_t cached_tokens; /* taken from kept states instead of being computed */
    uint64_t prefix_cache_entries;
    uint64_t prefix_cache_bytes;
    uint64_t prefix_cache_hits,
        prefix_cache_misses; /* records that began with a kept state, or not */
    uint64_t prefix_cache_evictions;
    uint64_t prefix_cache_directory_bytes;
    uint64_t feature_cache_entries; /* pictures and videos */
    uint64_t feature_cache_bytes;
    uint64_t feature_cache_hits, feature_cache_misses; /* kept, or computed by the vision tower */
    uint64_t feature_cache_evictions;
} clef_session_statistics;

CLEF_API void clef_session_describe(const clef_session *session,
                                    clef_session_statistics *statistics);

/* ---- answer -------------------------------------------------------------------------------- */

CLEF_API void clef_answer_close(clef_answer *answer);

/* The answer to a record that equals (clef_record_equals) the one that was answered, in the words
 * of its own request. CLEF_USAGE when it does not; CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_answer_repeat(const clef_answer *answer, clef_record *record,
                                        clef_answer **repeated, clef_error *error);

typedef enum clef_answer_format {
    CLEF_ANSWER_BODY, /* the response body of POST /v1/systemone, as the reference writes it */
    CLEF_ANSWER_RAW,  /* model, input_ids, questions with spans, logits, probabilities */
} clef_answer_format;

typedef enum clef_confidence {
    CLEF_CONFIDENCE_PROBABILITY, /* the largest probability, as the reference */
    CLEF_CONFIDENCE_TYPESAFE,    /* how far it stands above chance */
} clef_confidence;

typedef struct clef_answer_style {
    clef_answer_format format;
    bool unrounded; /* print probabilities as shortest decimals instead of four places */
    clef_confidence confidence;
    bool with_latency; /* add latency_ms */
} clef_answer_style;

/* The answer as compact JSON. Owned by the caller, freed with clef_text_free.
 * CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_answer_json(const clef_answer *answer, const clef_answer_style *style,
                                      char **json, size_t *bytes, clef_error *error);

typedef struct clef_answer_option {
    const char *id; /* texts: until the answer is closed */
    size_t id_bytes;
    const char *label; /* the description sent with it, as text; its id when there was none */
    size_t label_bytes;
    float logit;
    float probability;
} clef_answer_option;

typedef struct clef_answer_question {
    const char *id;
    size_t id_bytes;
    const char *type; /* "noul", "choice", "score"; static */
    uint32_t option_count;
    uint32_t best;     /* index of the option that answers */
    double confidence; /* its probability */
    double score;      /* score questions: the mean level */
} clef_answer_question;

CLEF_API uint32_t clef_answer_question_count(const clef_answer *answer);
/* Question `index` in request order. false when there is none. */
CLEF_API bool clef_answer_question_at(const clef_answer *answer, uint32_t index,
                                      clef_answer_question *question);
/* Option `option` of question `index`, options in request order. false when there is none. */
CLEF_API bool clef_answer_option_at(const clef_answer *answer, uint32_t index, uint32_t option,
                                    clef_answer_option *result);

typedef struct clef_answer_usage {
    uint32_t input_tokens;      /* computed or restored, after any cut */
    uint32_t cached_tokens;     /* restored from a kept state */
    uint32_t state_tokens;      /* prefix and state as sent */
    uint32_t state_tokens_used; /* as read */
    bool is_truncated;
    double latency_ms; /* from the first step the record took part in to its answer */
} clef_answer_usage;

CLEF_API void clef_answer_describe(const clef_answer *answer, clef_answer_usage *usage);

#ifdef __cplusplus
}
#endif
#endif
