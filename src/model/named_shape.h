/* Shapes of published models by name: what their config.json and joint_head_config.json say, for
 * measuring without their files. The vocabulary is cut down, because rows that no token of a
 * measurement reads would only take memory. */
#ifndef CLEF_MODEL_NAMED_SHAPE_H
#define CLEF_MODEL_NAMED_SHAPE_H

#include "model/head_config.h"

#define CLEF_NAMED_SHAPE_VOCABULARY 4096

/* Fills config (owned by the caller, clef_config_release) with the first `layer_count` layers of
 * the shape, 0: all, and its vision tower when asked for; head with its joint head, or *has_head
 * with false. CLEF_USAGE naming the shapes there are, or the number of layers there is;
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_named_shape_find(const char *name, uint32_t layer_count, bool with_vision,
                                  clef_config *config, clef_head_config *head, bool *has_head,
                                  clef_error *error);

/* Names of all shapes, separated by spaces; static. */
const char *clef_named_shape_list(void);

#endif
