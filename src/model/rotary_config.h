/* The rotary part of config.json; see config.h for its members. */
#ifndef CLEF_MODEL_ROTARY_CONFIG_H
#define CLEF_MODEL_ROTARY_CONFIG_H

#include "model/config.h"
#include "model/config_fields.h"

/* Reads rotary_size, mrope_section and rope_theta from text_config and its rope_parameters; needs
 * head_size. */
clef_status clef_rotary_config_read(const clef_config_fields *text, const clef_config_fields *rope,
                                    clef_config *config);

#endif
