/* A video made ready for the vision tower: sampled, decoded, resized, timed, named by a digest. */
#ifndef CLEF_MEDIA_VIDEO_H
#define CLEF_MEDIA_VIDEO_H

#include "base/memory_budget.h"
#include "base/text.h"
#include "media/decode.h"
#include "media/resize.h"
#include "media/video_frames.h"

/* Where frames come from. The context is borrowed while the source is used. */
typedef struct clef_frame_source {
    uint32_t frame_count;
    uint32_t width, height; /* of every frame */
    /* Decodes frame `index` < frame_count; indices come in ascending order, some twice. *picture is
     * owned by the caller. */
    clef_status (*read)(void *context, uint32_t index, clef_picture *picture, clef_error *error);
    void *context;
} clef_frame_source;

/* Encoded pictures in memory as a source. */
typedef struct clef_frame_list {
    const clef_text *frames; /* borrowed, [frame_count] */
    clef_decode_options options;
    uint32_t frame_count;
    uint32_t fault; /* the frame that the last error is about, or frame_count */
} clef_frame_list;

/* Judges every frame by its header: all are pictures of one size. list->frames, options and
 * frame_count are set by the caller, and the list outlives the source. Errors of kind "media_error"
 * without a frame's number, which list->fault holds, then and after reading. An empty list is a
 * source of no frames. */
clef_status clef_frame_list_open(clef_frame_list *list, clef_frame_source *source,
                                 clef_error *error);

typedef struct clef_video {
    clef_picture *frames; /* owned: [plan->frame_count], resized, for clef_patches_write */
    clef_video_plan plan;
    clef_digest digest; /* of the resized frames in order: what the model sees but the times */
} clef_video;

/* Plans, reads and resizes. Holds one decoded frame beside the resized ones, within what the grant
 * (or NULL) allows; it then holds what the frames take. Leaves nothing on failure. */
clef_status clef_video_read(const clef_frame_source *source, const clef_video_options *options,
                            clef_resize_rule rule, clef_memory_grant *memory, clef_video *video,
                            clef_error *error);
void clef_video_release(clef_video *video);

#endif
