/* The vision part of config.json; see config.h for its struct. */
#ifndef CLEF_MODEL_VISION_CONFIG_H
#define CLEF_MODEL_VISION_CONFIG_H

#include "model/config.h"
#include "model/config_fields.h"

/* Reads vision_config, whose members `fields` holds. `hidden_size` is the text model's. */
clef_status clef_vision_config_read(const clef_config_fields *fields, uint32_t hidden_size,
                                    clef_vision_config *vision);

#endif
