/* The token ids of config.json; see config.h for its members. */
#ifndef CLEF_MODEL_TOKEN_CONFIG_H
#define CLEF_MODEL_TOKEN_CONFIG_H

#include "model/config.h"
#include "model/config_fields.h"

/* Reads the beginning and end tokens from text_config and the media tokens from the top level;
 * needs vocabulary_size and has_vision. */
clef_status clef_token_config_read(const clef_config_fields *top, const clef_config_fields *text,
                                   clef_config *config);

#endif
