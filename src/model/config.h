/* The shape of a model: config.json, checked field by field. Owns every rule about which values the
 * rest of the code can honour; whoever holds a clef_config may trust it and checks nothing again.
 * Knows no tensor and no token text. The head's own file is in head_config.h. */
#ifndef CLEF_MODEL_CONFIG_H
#define CLEF_MODEL_CONFIG_H

#include "base/error.h"
#include "base/text.h"

/* Bounds of what a file may ask for; far above every published model, far below any overflow. */
#define CLEF_CONFIG_SIZE_LIMIT    (1u << 20) /* one width, height or count */
#define CLEF_CONFIG_PRODUCT_LIMIT (1u << 24) /* rows of one matrix, heads × head size */
#define CLEF_CONFIG_LAYER_LIMIT   1024u
#define CLEF_CONFIG_CONTEXT_LIMIT (1u << 24)
#define CLEF_CONFIG_TAP_LIMIT     16u
#define CLEF_CONFIG_EOS_LIMIT     8

#define CLEF_TOKEN_NONE UINT32_MAX /* a token id the file does not give (absent or null) */

/* vision_config. Symbols: V hidden_size. */
typedef struct clef_vision_config {
    uint32_t depth;               /* depth: blocks */
    uint32_t hidden_size;         /* hidden_size, V */
    uint32_t head_count;          /* num_heads; divides V, V / head_count is a multiple of 4 */
    uint32_t intermediate_size;   /* intermediate_size */
    uint32_t patch_size;          /* patch_size: pixels of a patch's side */
    uint32_t temporal_patch_size; /* temporal_patch_size: frames of a patch */
    uint32_t spatial_merge_size;  /* spatial_merge_size: patches of a merged cell's side */
    uint32_t position_count;      /* num_position_embeddings: rows of the position table */
    uint32_t position_side;       /* its square root: the table is a grid */
    uint32_t in_channels;         /* in_channels: 3 */
    uint32_t out_hidden_size;     /* out_hidden_size: equals H of the text model */
} clef_vision_config;

/* config.json. JSON names are those of text_config unless marked; symbols as in the formulas. */
typedef struct clef_config {
    uint32_t hidden_size;          /* hidden_size, H */
    uint32_t layer_count;          /* num_hidden_layers, L */
    uint32_t intermediate_size;    /* intermediate_size, I */
    uint32_t vocabulary_size;      /* vocab_size: rows of embed_tokens and lm_head */
    uint32_t attention_head_count; /* num_attention_heads, NH; a multiple of NKV */
    uint32_t key_value_head_count; /* num_key_value_heads, NKV */
    uint32_t head_size;            /* head_dim, D */
    uint32_t rotary_size;          /* R = D · partial_rotary_factor; even, 2 … D */
    uint32_t mrope_section[3];     /* rope_parameters.mrope_section: T, H, W; sum R / 2 */
    double rope_theta;             /* rope_parameters.rope_theta, θ */
    float rms_epsilon;             /* rms_norm_eps */

    uint32_t delta_key_head_count;   /* linear_num_key_heads, NK */
    uint32_t delta_value_head_count; /* linear_num_value_heads, NV; a multiple of NK */
    uint32_t delta_key_size;         /* linear_key_head_dim, DK */
    uint32_t delta_value_size;       /* linear_value_head_dim, DV */
    uint32_t delta_channel_count;    /* derived: 2·NK·DK + NV·DV, channels of the convolution */
    uint32_t convolution_taps;       /* linear_conv_kernel_dim; 2 … CLEF_CONFIG_TAP_LIMIT */

    bool *is_full_attention; /* [layer_count] layer_types (or full_attention_interval); owned */
    uint32_t full_attention_layer_count; /* derived: true entries */

    bool has_tied_embeddings; /* tie_word_embeddings: lm_head is embed_tokens */
    uint32_t context_length;  /* max_position_embeddings */

    uint32_t bos_token_id;                         /* bos_token_id, or CLEF_TOKEN_NONE */
    uint32_t eos_token_ids[CLEF_CONFIG_EOS_LIMIT]; /* eos_token_id: one or a list */
    uint32_t eos_token_count;
    uint32_t image_token_id;        /* top level image_token_id; NONE only without vision */
    uint32_t video_token_id;        /* top level video_token_id; likewise */
    uint32_t vision_start_token_id; /* top level vision_start_token_id; likewise */
    uint32_t vision_end_token_id;   /* top level vision_end_token_id; likewise */

    bool has_vision;           /* a vision_config is there */
    clef_vision_config vision; /* zero without */
} clef_config;

/* Reads `directory`/config.json. CLEF_BAD_FILE with the path in error->place and the field, the
 * value found and the values allowed in the message; CLEF_OUT_OF_MEMORY. On failure *config is
 * zeroed and owns nothing. */
clef_status clef_config_load(const char *directory, clef_config *config, clef_error *error);

/* The same from text in memory, borrowed during the call; `name` stands for the path. */
clef_status clef_config_parse(const char *name, clef_text text, clef_config *config,
                              clef_error *error);

/* Frees what the config owns and zeroes it; a zeroed config is fine. */
void clef_config_release(clef_config *config);

#endif
