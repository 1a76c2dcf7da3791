/* The vision tower: patches of pictures and videos become feature rows of the text model, which
 * take the place of embeddings at placeholder tokens (clef_features in decoder.h). Knows no pixel
 * format and no token.
 *
 * A frame sees itself alone, so frames are computed one behind the other, small ones of a video
 * together; in a frame, matrices of rows are computed in blocks. Neither changes a bit. */
#ifndef CLEF_MODEL_VISION_TOWER_H
#define CLEF_MODEL_VISION_TOWER_H

#include "model/network.h"
#include "model/trace.h"
#include "tensor/patch_grid.h"

/* A block of this many rows keeps its inputs in cache; more gains nothing. */
#define CLEF_VISION_ROWS 512

/* Patches of P = in_channels · temporal_patch_size · patch_size² values each, as they are or as
 * they are made: a few at a time stay in cache, while those of a large picture take 100 MB. */
typedef struct clef_vision_picture {
    clef_patch_grid grid;
    const float *patches; /* [patches, P], borrowed; or NULL: */
    /* Writes patches first … first + count − 1 to out [count, P]. */
    void (*write)(const void *context, size_t first, size_t count, float *out);
    const void *context; /* borrowed */
} clef_vision_picture;

/* Activations of the tower, sized for some pictures. With the published tower, a frame takes 14 KB
 * for each of its patches (9.6 KB in bfloat16) and a block of 512 rows another 16 MB: 245 MB for
 * 16,384 patches (170 MB). */
typedef struct clef_vision_workspace {
    size_t row_limit;                 /* rows of a block: whole merged cells */
    size_t patch_limit;               /* patches of frames that are computed together */
    float *floats;                    /* owned; the matrices below */
    clef_matrix hidden;               /* [patch_limit, V] residual stream */
    clef_matrix cosine, sine;         /* [patch_limit, head size / 2] */
    float *keys, *values;             /* [heads, patch_limit, head size], or NULL: */
    clef_rounded_frames rounded;      /* the same in bfloat16 */
    clef_matrix normed, query, mixed; /* [row_limit, V] */
    float *wide;            /* [row_limit, ≥ P, 2·V and I], [row_limit / cell, cell·V] */
    uint32_t *ids;          /* owned; [row_limit, 4] rows of the position table */
    float *factors;         /* owned; [row_limit, 4] */
    clef_frame_part *parts; /* owned; [row_limit / cell] */
} clef_vision_workspace;

/* Whether attention is computed in bfloat16: where products are. Rounded values lie in pairs of
 * rows, which merged cells of an odd number of patches would tear apart between frames. */
static inline bool clef_vision_is_rounded(const clef_network *network) {
    return network->vision.patch.weight.arithmetic == CLEF_ARITHMETIC_BF16 &&
           network->config.vision.spatial_merge_size % 2 == 0;
}

typedef struct clef_vision_pass {
    const clef_network *network;
    clef_backend *backend; /* has reserved row_limit × clef_network_widest_input */
    clef_vision_workspace *workspace;
    const clef_trace *trace; /* or NULL */
} clef_vision_pass;

/* Bytes of a workspace for these pictures. row_limit is the most rows a product may have, a
 * multiple of CLEF_GRID. */
uint64_t clef_vision_workspace_bytes(const clef_network *network,
                                     const clef_vision_picture *pictures, size_t count,
                                     size_t row_limit);

/* CLEF_OUT_OF_MEMORY. */
clef_status clef_vision_workspace_create(const clef_network *network,
                                         const clef_vision_picture *pictures, size_t count,
                                         size_t row_limit, clef_vision_workspace *workspace,
                                         clef_error *error);
void clef_vision_workspace_release(clef_vision_workspace *workspace);

/* Features [Σ patches / cell, H] of the pictures, one behind the other, each frame by frame and
 * cell by cell in raster order. The workspace fits every one of them; a picture's rows depend on
 * nothing but that picture. Allocates nothing and cannot fail. */
void clef_vision_tower_run(const clef_vision_pass *pass, const clef_vision_picture *pictures,
                           size_t count, clef_matrix out);

#endif
