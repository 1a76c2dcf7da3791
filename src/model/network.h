/* A model bound to its weights: configuration, views of matrices as stored, and the few vectors
 * widened to fp32. Immutable and shared by sessions. Dimension names: H hidden, I intermediate, V
 * vocabulary, D head size, NH and NKV attention heads, NK and NV delta heads of DK and DV, C
 * convolution channels, W and F width and feed-forward of the joint head. */
#ifndef CLEF_MODEL_NETWORK_H
#define CLEF_MODEL_NETWORK_H

#include "backend/backend.h"
#include "model/tensor_names.h"
#include "state/state_layout.h"

/* Full attention of one layer. */
typedef struct clef_attention_weights {
    clef_weight query; /* [NH·2·D, H]; per head D rows of query, then D rows of gate */
    clef_weight key;   /* [NKV·D, H] */
    clef_weight value; /* [NKV·D, H] */
    clef_weight out;   /* [H, NH·D] */
    const float *query_norm, *key_norm; /* [D] */
} clef_attention_weights;

/* Gated delta net of one layer. */
typedef struct clef_delta_weights {
    clef_weight qkv;              /* [C, H]; NK·DK rows of query, NK·DK of key, NV·DV of value */
    clef_weight z;                /* [NV·DV, H] */
    clef_weight b;                /* [NV, H] */
    clef_weight a;                /* [NV, H] */
    clef_weight out;              /* [H, NV·DV] */
    const float *convolution;     /* [C, taps] */
    const float *a_log, *dt_bias; /* [NV] */
    const float *norm;            /* [DV] */
} clef_delta_weights;

typedef struct clef_layer_weights {
    bool is_full_attention;
    const float *input_norm;          /* [H] */
    const float *post_attention_norm; /* [H] */
    clef_attention_weights attention; /* when is_full_attention */
    clef_delta_weights delta;         /* otherwise */
    clef_weight gate, up;             /* [I, H] */
    clef_weight down;                 /* [H, I] */
} clef_layer_weights;

/* A linear layer with bias, a LayerNorm, and a multi-head attention of the joint head. */
typedef struct clef_affine {
    clef_weight weight; /* [out, in] */
    const float *bias;  /* [out] */
} clef_affine;

typedef struct clef_layer_norm_weights {
    const float *weight, *bias; /* [W] or [H] */
} clef_layer_norm_weights;

typedef struct clef_head_attention_weights {
    clef_affine in;  /* [3·W, W]: rows of query, key, value */
    clef_affine out; /* [W, W] */
} clef_head_attention_weights;

/* Options read the memory. */
typedef struct clef_evidence_layer_weights {
    clef_layer_norm_weights query_norm, memory_norm, feedforward_norm;
    clef_head_attention_weights attention;
    clef_affine expand;   /* [F, W] */
    clef_affine contract; /* [W, F] */
} clef_evidence_layer_weights;

/* Fields read each other and the memory. */
typedef struct clef_decoder_layer_weights {
    clef_layer_norm_weights norm1, norm2, norm3;
    clef_head_attention_weights self_attention, memory_attention;
    clef_affine expand;   /* [F, W] */
    clef_affine contract; /* [W, F] */
} clef_decoder_layer_weights;

typedef struct clef_head_weights {
    clef_layer_norm_weights hidden_norm; /* [H] */
    clef_weight memory, question, option_question, global, option_context,
        option_lexical;                    /* projections [W, H] */
    const float *type_embedding;           /* [3, W]: noul, choice, score */
    clef_evidence_layer_weights *evidence; /* [evidence_layer_count] */
    clef_decoder_layer_weights *decoder;   /* [decoder_layer_count] */
    clef_layer_norm_weights option_summary_norm, field_norm, option_norm; /* [W] */
    clef_affine scorer_expand;                                            /* [W, 4·W] */
    clef_affine scorer_contract;                                          /* [1, W] */
    float prior_logit_scale, joint_logit_scale, residual_gate;
} clef_head_weights;

/* One block of the vision tower: V its width, F its feed-forward width. */
typedef struct clef_vision_block_weights {
    clef_layer_norm_weights norm1, norm2; /* [V] */
    clef_affine qkv;                      /* [3·V, V]: rows of query, key, value */
    clef_affine out;                      /* [V, V] */
    clef_affine expand;                   /* [F, V] */
    clef_affine contract;                 /* [V, F] */
} clef_vision_block_weights;

typedef struct clef_vision_weights {
    clef_affine patch;                   /* [V, P], P values of a patch */
    clef_weight positions;               /* [side·side, V] */
    clef_vision_block_weights *blocks;   /* [depth] */
    clef_layer_norm_weights merger_norm; /* [V] */
    clef_affine merger_expand;           /* [M·V, M·V], M patches of a merged cell */
    clef_affine merger_contract;         /* [H, M·V] */
    float *rotary_frequencies;           /* [head size / 4] */
} clef_vision_weights;

typedef struct clef_network {
    clef_config config;
    clef_head_config head_config;
    bool has_head;
    clef_weight embedding;      /* [V, H] */
    clef_weight output;         /* [V, H]; the embedding when tied */
    const float *norm;          /* [H] */
    clef_layer_weights *layers; /* [layer_count] */
    clef_head_weights head;     /* when has_head */
    clef_vision_weights vision; /* when config.has_vision */
    float *rotary_frequencies;  /* [rotary_size / 2] */
    clef_state_layout layout;
    clef_arena arena; /* holds layers, vectors, frequencies */
} clef_network;

/* Most columns that one product of backbone or vision tower takes in: what clef_operations.reserve
 * must hold. */
size_t clef_network_widest_input(const clef_network *network);

/* Binds tensors that clef_tensor_demands_check has passed. `arithmetic` is that of the backbone's
 * and the tower's unquantised matrices; the head always computes in fp32, quantised matrices in
 * int8. Takes over config (the caller's becomes zero); head NULL: no head. The stores must outlive
 * the network. CLEF_OUT_OF_MEMORY. */
clef_status clef_network_bind(clef_config *config, const clef_head_config *head,
                              const clef_weight_store *backbone,
                              const clef_weight_store *head_store, clef_arithmetic arithmetic,
                              clef_network *network, clef_error *error);
void clef_network_release(clef_network *network);

#endif
