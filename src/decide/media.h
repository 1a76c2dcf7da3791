/* Pictures and videos of a request, made ready for the model: decoded, resized, counted, named by a
 * digest. Knows JSON and pixels, no tokens and no network. */
#ifndef CLEF_DECIDE_MEDIA_H
#define CLEF_DECIDE_MEDIA_H

#include "base/memory_budget.h"
#include "decide/record.h"
#include "media/fetch.h"
#include "media/video.h"

/* Items of a request. */
#define CLEF_IMAGE_COUNT_LIMIT 16
#define CLEF_VIDEO_COUNT_LIMIT 4

/* One picture, or one video. */
typedef struct clef_medium {
    clef_picture *frames; /* owned: [frame_count], resized, for clef_patches_write */
    uint32_t frame_count;
    clef_patch_grid grid;
    clef_digest digest; /* of the frames' pixels, sizes and order: what the tower sees */
    double *seconds;    /* owned: [grid.frames], middle of each pair of frames; NULL: a picture */
} clef_medium;

/* Zero-initialised: no media. */
typedef struct clef_media {
    clef_medium *items; /* owned: [image_count + video_count], pictures first */
    size_t image_count, video_count;
    clef_digest digest;       /* of all pixels with their sizes and order */
    clef_memory_grant memory; /* what all frames hold */
} clef_media;

/* What media_kwargs say. All-zero means default. */
typedef struct clef_media_arguments {
    clef_pixel_budget image_pixels;
    clef_video_options video; /* but for the metadata, which differ from video to video */
    const clef_json *metadata;
} clef_media_arguments;

/* Which media may be read in this call; whoever must not take long leaves the others to another
 * thread. */
typedef enum clef_media_reach {
    CLEF_MEDIA_REACH_ALL,
    CLEF_MEDIA_REACH_ENCLOSED, /* not those that have to be fetched */
    CLEF_MEDIA_REACH_NONE,
} clef_media_reach;

/* How media are read, whatever the request says. All-zero means default. */
typedef struct clef_media_settings {
    bool ignores_exif;
    const clef_media_arguments *usual; /* what media_kwargs begin with; borrowed; NULL: all-zero */
    clef_media_reach reach;
    const clef_fetch_rules *remote; /* borrowed for the call; NULL: addresses are refused */
    clef_memory_budget *budget; /* of decoded pictures, borrowed as long as the media; NULL: none */
    uint64_t byte_limit;        /* of that budget; 0: none */
    clef_stop stop;             /* of reading; asked during the call only */
} clef_media_settings;

/* Reads the media of a request one behind the other, and the first failure answers:
 * CLEF_BAD_REQUEST and CLEF_TOO_LARGE of kind "media_error" with the item's name in front
 * ("images[1]: …"), CLEF_OVER_LIMIT for too many items, CLEF_BUSY for media out of reach,
 * CLEF_NETWORK for what could not be fetched, CLEF_CANCELLED, CLEF_OUT_OF_MEMORY. `arena` is the
 * request's. Leaves nothing on failure. */
clef_status clef_media_read(const clef_request *request, const clef_media_settings *settings,
                            clef_arena *arena, clef_media *media, clef_error *error);
void clef_media_release(clef_media *media);

static inline size_t clef_media_count(const clef_media *media) {
    return media->image_count + media->video_count;
}

/* Placeholders in the prompt: one for each row of features. */
size_t clef_media_token_count(const clef_media *media);

/* Reads media_kwargs (an object, or NULL) over what is in *arguments; an unknown key is refused. */
clef_status clef_media_arguments_read(const clef_json *object, clef_media_arguments *arguments,
                                      clef_error *error);

/* Options of video number `index` of `count`; lists live in the arena. */
clef_status clef_media_arguments_apply(const clef_media_arguments *arguments, size_t index,
                                       size_t count, clef_arena *arena, clef_video_options *options,
                                       clef_error *error);

#endif
