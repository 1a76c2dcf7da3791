/* Which frames of a video are used, to which size they come, and what time their pairs are given.
 * Pure functions; no pixels. */
#ifndef CLEF_MEDIA_VIDEO_FRAMES_H
#define CLEF_MEDIA_VIDEO_FRAMES_H

#include "media/patches.h"
#include "media/picture_size.h"

/* Frames used of one video. */
#define CLEF_VIDEO_FRAME_LIMIT 768
#define CLEF_VIDEO_PAIR_LIMIT  (CLEF_VIDEO_FRAME_LIMIT / 2)
/* "86400.0" and its NUL, with room for a year of seconds at any rate that is accepted. */
#define CLEF_VIDEO_LABEL_BYTES 24

/* The keys of media_kwargs. All-zero means default. */
typedef struct clef_video_options {
    bool uses_all_frames;          /* do_sample_frames: false */
    bool has_rate;                 /* fps is a number: `rate`, frames a second to sample */
    bool has_no_rate;              /* fps: null */
    bool has_frame_target;         /* num_frames: `frame_target`; only with has_no_rate */
    bool has_metadata_rate;        /* video_metadata.fps: `metadata_rate`; else 24 */
    bool has_metadata_frame_count; /* video_metadata.total_num_frames */
    double rate, metadata_rate;
    uint64_t frame_target, metadata_frame_count;
    const uint64_t *metadata_indices; /* video_metadata.frames_indices, borrowed; NULL: none. They
                                       * give the times of frames that are not sampled. */
    size_t metadata_index_count;
    clef_pixel_budget pixels; /* size or min_pixels and max_pixels; 0: CLEF_VIDEO_PIXELS */
    bool caps_frame_pixels;   /* cap_pixels_per_frame */
    /* What the model's processor is set to. */
    double usual_rate;                  /* sampled without `rate`; 0: 2 */
    uint32_t frames_least, frames_most; /* of sampling; 0: 4 and CLEF_VIDEO_FRAME_LIMIT */
} clef_video_options;

typedef struct clef_video_plan {
    uint32_t frame_count;                     /* used, 1 to the limit */
    uint32_t indices[CLEF_VIDEO_FRAME_LIMIT]; /* [frame_count] of the video's frames, ascending */
    double seconds[CLEF_VIDEO_PAIR_LIMIT];    /* [grid.frames] middle of each pair */
    uint32_t width, height;                   /* after resizing */
    clef_patch_grid grid;
} clef_video_plan;

/* Plans a video of frame_count frames of width · height. CLEF_BAD_REQUEST, kind "media_error": no
 * frame, a rate that is not a number over 0, keys that exclude each other, metadata that do not fit
 * the frames, too many frames, or a size that clef_video_size_fit refuses. */
clef_status clef_video_plan_make(uint32_t frame_count, uint32_t width, uint32_t height,
                                 const clef_video_options *options, clef_video_plan *plan,
                                 clef_error *error);

/* The time as it stands in the prompt ("0.2"): one decimal, half to even on the exact value,
 * whatever the locale. */
void clef_video_label_write(double seconds, char label[CLEF_VIDEO_LABEL_BYTES]);

#endif
