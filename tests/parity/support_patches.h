/* Recorded pictures as patches: resized 8-bit frames, normalised and cut as the reference does it,
 * written a second time and plainly. */
#ifndef CLEF_PARITY_SUPPORT_PATCHES_H
#define CLEF_PARITY_SUPPORT_PATCHES_H

#include "support.h"

#include "model/vision_tower.h"
#include "weights/safetensors.h"

#define PATCH_VALUES 1536 /* of the recorded processor: 3 colours, 2 frames, 16 × 16 */

/* A picture whose patches it owns. */
typedef struct cut_picture {
    clef_patch_grid grid;
    float *patches;
} cut_picture;

/* Frames are the tensors "NAME" [height, width, 3] of a file; a missing second one of a pair is the
 * first again. Released with clef_release(patches). */
cut_picture cut_frames(const clef_safetensors *file, const char *const *names, size_t count);

/* The picture for the tower; borrows. */
clef_vision_picture picture_of(const cut_picture *cut);

#endif
