/* Where the tokens of a record with pictures or videos stand: runs of placeholders, and M-RoPE
 * positions from the types of its tokens and the grids of its media. Knows no pixel and no token
 * id. */
#ifndef CLEF_MODEL_MEDIA_POSITIONS_H
#define CLEF_MODEL_MEDIA_POSITIONS_H

#include "model/decoder.h"
#include "tensor/patch_grid.h"

typedef enum clef_token_type {
    CLEF_TOKEN_TEXT = 0,
    CLEF_TOKEN_IMAGE = 1, /* placeholder of a picture's feature row */
    CLEF_TOKEN_VIDEO = 2, /* placeholder of a video's */
} clef_token_type;

/* The media of a record, each list in the order of its placeholders. */
typedef struct clef_media_grids {
    const clef_patch_grid *images, *videos; /* [image_count], [video_count] */
    size_t image_count, video_count;
    size_t merge; /* spatial_merge_size */
} clef_media_grids;

/* Positions of a sequence's tokens. Text alone needs no table. */
typedef struct clef_position_table {
    const int32_t *positions; /* [3, count]: time, height, width */
    size_t count;
    int32_t shift; /* a token behind the table stands at its index plus this (rope_delta) */
} clef_position_table;

/* Writes positions [3, count] of `count` tokens and the shift of what follows. Runs of equal type:
 * text counts on all axes; a picture, and each frame of a video, keeps its time, spreads its merged
 * cells over height and width, and moves the count on by the longer side. `types` [count] are
 * clef_token_type. CLEF_INTERNAL when a run of placeholders and its grid differ in size, or when
 * grids are left over. */
clef_status clef_media_positions_make(const unsigned char *types, size_t count,
                                      const clef_media_grids *grids, int32_t *positions,
                                      int32_t *shift, clef_error *error);

/* Lists the runs of placeholders, at most `limit`; returns how many there are. Their feature rows
 * follow in the order of the runs. */
size_t clef_feature_runs_find(const unsigned char *types, size_t count, clef_feature_run *runs,
                              size_t limit);

/* Positions of one slice into those of a step, [3, rows]. `table` NULL: text alone. */
void clef_positions_fill(const clef_position_table *table, const clef_slice *slice, size_t rows,
                         int32_t *positions);

#endif
