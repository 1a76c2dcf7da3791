/* The tensors a configuration demands: name, shape and place of each, for the text backbone, the
 * vision tower and the joint head; and the check of opened weights against that list. The one place
 * that spells tensor names. Whoever binds weights after a passed check finds every tensor by name
 * and trusts its shape; the type is BF16, F16 or F32. */
#ifndef CLEF_MODEL_TENSOR_NAMES_H
#define CLEF_MODEL_TENSOR_NAMES_H

#include "base/arena.h"
#include "model/config.h"
#include "model/head_config.h"
#include "weights/weight_store.h"

#define CLEF_DEMAND_RANK_LIMIT 5

typedef enum clef_tensor_part {
    CLEF_TENSOR_PART_TEXT,          /* model.language_model.… without a layer, and lm_head */
    CLEF_TENSOR_PART_LAYER,         /* model.language_model.layers.N.… */
    CLEF_TENSOR_PART_VISION,        /* model.visual.… without a block */
    CLEF_TENSOR_PART_VISION_BLOCK,  /* model.visual.blocks.N.… */
    CLEF_TENSOR_PART_HEAD,          /* joint head, without a layer */
    CLEF_TENSOR_PART_HEAD_EVIDENCE, /* joint head: evidence_layers.N.… */
    CLEF_TENSOR_PART_HEAD_DECODER,  /* joint head: layers.N.… */
} clef_tensor_part;

typedef struct clef_tensor_demand {
    clef_text
        name; /* whole name, "model.language_model.layers.3.mlp.up_proj.weight"; ends in NUL */
    clef_text local; /* its end behind the part's prefix and number, "mlp.up_proj.weight" */
    clef_tensor_part part;
    int32_t layer;                          /* N, or -1 */
    unsigned rank;                          /* 0: a scalar */
    uint64_t shape[CLEF_DEMAND_RANK_LIMIT]; /* [rank] */
} clef_tensor_demand;

static inline bool clef_tensor_demand_is_of_head(const clef_tensor_demand *demand) {
    return demand->part >= CLEF_TENSOR_PART_HEAD;
}

/* In the order text, layers, vision, head. Everything lives in the arena given to _list. */
typedef struct clef_tensor_demands {
    const clef_tensor_demand *items;
    size_t count;
} clef_tensor_demands;

/* Lists what `config` and `head` (NULL: a base model without a head) demand. CLEF_OUT_OF_MEMORY. */
clef_status clef_tensor_demands_list(const clef_config *config, const clef_head_config *head,
                                     clef_arena *arena, clef_tensor_demands *demands,
                                     clef_error *error);

/* Sum of elements of the backbone's or of the head's tensors. */
uint64_t clef_tensor_demands_parameters(const clef_tensor_demands *demands, bool of_head);

/* Checks whole stores against the list: every demanded tensor is there with its exact shape and
 * type BF16, F16 or F32, and nothing unknown (names that begin with "mtp." in the backbone are
 * ignored). `backbone` and `head` are the stores of `directory`, NULL when their files are absent.
 * Three scalars of the head may have shape [1]. CLEF_BAD_FILE with the directory in error->place
 * and one message that lists every missing, misshapen and unknown tensor, those that differ only in
 * their layer on one line; CLEF_OUT_OF_MEMORY. */
clef_status clef_tensor_demands_check(const clef_tensor_demands *demands, const char *directory,
                                      const clef_weight_store *backbone,
                                      const clef_weight_store *head, clef_error *error);

/* A quantised matrix NAME [rows, columns] is stored as NAME of type I8 [rows, columns], or U8
 * [rows, columns / 2] with two 4-bit values a byte (columns a multiple of 32; layout in
 * tensor/matrix.h), and NAME.scale of type F32 [rows, groups]. */
#define CLEF_SCALE_SUFFIX ".scale"

/* Columns that share a scale, from the number of groups of a row: 32, 64, or all; 0 when no such
 * group gives that number. */
size_t clef_quantised_group(size_t columns, size_t groups);

/* Whole name of a tensor of a part: its prefix, the number `layer` where the part has one, and
 * `local`. Written into out (cut at its size, NUL at the end). Returns the text in out. */
clef_text clef_tensor_name(clef_tensor_part part, int32_t layer, const char *local, char *out,
                           size_t size);

#endif
