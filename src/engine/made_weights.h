/* Weights by formula: numbers of a sensible size for every tensor that a configuration demands, in
 * memory instead of files and in the layouts of files. Good for speed, for nothing else: the
 * answers of such a model mean nothing. */
#ifndef CLEF_ENGINE_MADE_WEIGHTS_H
#define CLEF_ENGINE_MADE_WEIGHTS_H

#include "base/thread_pool.h"
#include "model/recipe.h"

typedef struct clef_made_weights {
    clef_arena arena;            /* demands, names */
    clef_tensor_demands demands; /* in the arena */
    clef_stored_tensor *tensors; /* in the arena; those of the backbone first */
    size_t count, backbone_count;
    unsigned char *data; /* owned; what the tensors point into */
    size_t bytes, backbone_bytes;
} clef_made_weights;

/* Lists tensors and their sizes: matrices as the recipe says, NULL: as everything else in bfloat16;
 * `head` NULL: no head. Takes no memory for data yet. On failure everything is released.
 * CLEF_OUT_OF_MEMORY. */
clef_status clef_made_weights_plan(const clef_config *config, const clef_head_config *head,
                                   const clef_recipe *recipe, clef_made_weights *made,
                                   clef_error *error);

/* Takes the planned memory and fills it on the threads of `pool`. CLEF_OUT_OF_MEMORY. */
clef_status clef_made_weights_fill(clef_made_weights *made, clef_thread_pool *pool,
                                   clef_error *error);

/* A zeroed one is fine. */
void clef_made_weights_release(clef_made_weights *made);

#endif
