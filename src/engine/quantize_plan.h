/* What a quantised model will hold: for every tensor of the source how it is stored, and in which
 * file and place its parts go. Reads no weight and writes nothing. */
#ifndef CLEF_ENGINE_QUANTIZE_PLAN_H
#define CLEF_ENGINE_QUANTIZE_PLAN_H

#include "engine/quantize_inputs.h"
#include "model/recipe.h"
#include "weights/safetensors_header.h"

/* One tensor of the source. */
typedef struct clef_quantize_item {
    const clef_stored_tensor *source;
    clef_weight format;     /* of the result, without data; group 0: stays as it is */
    size_t values, scales;  /* its parts; scales only when the group is not 0 */
    clef_layer_input input; /* what it reads, when quantised and of a layer */
    uint32_t layer;
} clef_quantize_item;

/* One file of weights. */
typedef struct clef_quantize_file {
    const char *name;
    size_t first, count; /* of the parts */
} clef_quantize_file;

/* Everything lives in the arena, but names of kept tensors, which are the model's. */
typedef struct clef_quantize_plan {
    clef_arena arena;
    clef_quantize_item *items; /* [item_count], in the order of the layers */
    size_t item_count;
    clef_header_tensor *parts; /* [part_count], file by file; begin and end within their file */
    size_t *part_files;        /* [part_count], index of each one's file */
    size_t part_count;
    clef_quantize_file *files; /* [file_count] */
    const char **file_names;   /* [file_count] */
    size_t file_count;
    uint64_t source_bytes; /* of all items */
    size_t widest;         /* most columns of a matrix */
} clef_quantize_plan;

/* CLEF_USAGE when a rule of the recipe decides nothing or nothing would be quantised; CLEF_BAD_FILE
 * when the model is quantised already; CLEF_OUT_OF_MEMORY. On failure the plan is released. */
clef_status clef_quantize_plan_make(const clef_model *model, const clef_recipe *recipe,
                                    uint64_t file_bytes, clef_quantize_plan *plan,
                                    clef_error *error);
void clef_quantize_plan_release(clef_quantize_plan *plan);

#endif
