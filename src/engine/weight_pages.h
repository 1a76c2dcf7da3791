/* The pages of a model's weights over a step: the next layer is fetched from disk while one is
 * computed, and where memory cannot hold all layers, some stay and the others are given back as
 * soon as they are used. Only advice to the system; no number of an answer depends on it. */
#ifndef CLEF_ENGINE_WEIGHT_PAGES_H
#define CLEF_ENGINE_WEIGHT_PAGES_H

#include "engine/handles.h"

typedef struct clef_weight_pages clef_weight_pages;

/* For a session that computes the first `layer_count` layers and does not outlive the model. *out
 * is NULL when no weight is mapped from a file. CLEF_OUT_OF_MEMORY. */
clef_status clef_weight_pages_create(const clef_model *model, size_t layer_count,
                                     clef_weight_pages **out, clef_error *error);
void clef_weight_pages_close(clef_weight_pages *pages);

/* Before a step: looks whether weights were missing in the last one, and how much memory there is.
 * Returns what shall be told of the step's layers: NULL when all is in memory. `pages` may be NULL.
 */
const clef_layer_watch *clef_weight_pages_begin(clef_weight_pages *pages);

/* The same for a step of which weights are missing, with room for `room` bytes of files. */
const clef_layer_watch *clef_weight_pages_plan(clef_weight_pages *pages, uint64_t room);

/* The policy: how many of the first layers stay in memory when pages of files may take `room` bytes
 * in all, `other_bytes` of them not for layers. All, when they fit; else as many as leave room for
 * two more, the one at work and the one that is fetched. *can_fetch tells whether there is room for
 * these two. */
size_t clef_weight_pages_keep(const uint64_t *layer_bytes, size_t layer_count, uint64_t other_bytes,
                              uint64_t room, bool *can_fetch);

#endif
