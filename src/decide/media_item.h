/* One picture or one video of a request: from its spelling to pixels. */
#ifndef CLEF_DECIDE_MEDIA_ITEM_H
#define CLEF_DECIDE_MEDIA_ITEM_H

#include "decide/media.h"
#include "media/fetch.h"
#include "media/image.h"

/* Where encoded bytes may come from beside the request, and what has come already. */
typedef struct clef_media_source {
    const clef_fetch_rules *remote; /* NULL: addresses are refused */
    clef_stop stop;
    size_t fetched_count, fetched_bytes;
} clef_media_source;

/* Whether an item, or a frame of it, has to be fetched. */
bool clef_media_item_is_remote(const clef_json *value);

/* A picture in any of the spellings. Errors as clef_media_read, without the item's name; *item
 * holds nothing then. */
clef_status clef_media_picture_read(const clef_json *value, clef_media_source *source,
                                    const clef_image_options *options, clef_medium *item,
                                    clef_error *error);

/* A list of frames, or a video file in any of the spellings. *fault: the frame of a list that a
 * failure is about, or SIZE_MAX. */
clef_status clef_media_video_read(const clef_json *value, clef_media_source *source,
                                  const clef_decode_options *decode,
                                  const clef_video_options *options, clef_memory_grant *memory,
                                  clef_medium *item, size_t *fault, clef_error *error);

#endif
