/* The shape of the joint schema head: joint_head_config.json, checked like config.h. Knows the
 * backbone only by the width it must agree with. */
#ifndef CLEF_MODEL_HEAD_CONFIG_H
#define CLEF_MODEL_HEAD_CONFIG_H

#include "model/config.h"

typedef struct clef_head_config {
    uint32_t hidden_size;          /* hidden_size, H: equals the backbone's */
    uint32_t width;                /* width, W; a multiple of heads */
    uint32_t evidence_layer_count; /* routing_layers */
    uint32_t decoder_layer_count;  /* layers */
    uint32_t head_count;           /* heads; head size d = W / heads */
    uint32_t feedforward_size;     /* feedforward, F */
} clef_head_config;

/* Reads `directory`/joint_head_config.json; `hidden_size` is the backbone's. Errors as
 * clef_config_load. When there is no such file the status is CLEF_BAD_FILE and *is_absent (may be
 * NULL) is true: a base model has no head. */
clef_status clef_head_config_load(const char *directory, uint32_t hidden_size,
                                  clef_head_config *head, bool *is_absent, clef_error *error);

/* The same from text in memory, borrowed during the call; `name` stands for the path. */
clef_status clef_head_config_parse(const char *name, clef_text text, uint32_t hidden_size,
                                   clef_head_config *head, clef_error *error);

#endif
