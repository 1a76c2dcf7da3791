/* How the model's pictures and videos are to be prepared: processor_config.json, checked like
 * config.h. Sizes and sampling are taken from it; what is fixed here (colours, filter, patches)
 * must be as it is there. */
#ifndef CLEF_MODEL_PROCESSOR_CONFIG_H
#define CLEF_MODEL_PROCESSOR_CONFIG_H

#include "base/error.h"
#include "base/text.h"

/* Frames of one video at most, whatever the file says. */
#define CLEF_PROCESSOR_FRAME_LIMIT 768

typedef struct clef_processor_config {
    uint32_t image_pixels_least, image_pixels_most; /* size.shortest_edge, longest_edge: pixels */
    uint32_t video_pixels_least, video_pixels_most; /* of all frames of a video */
    double video_rate;                              /* frames a second to sample */
    uint32_t video_frames_least, video_frames_most;
} clef_processor_config;

/* What the published models have; for members and files that are absent. */
clef_processor_config clef_processor_config_default(void);

/* Reads `directory`/processor_config.json, which may be absent. CLEF_BAD_FILE naming the member,
 * the value and what is expected; CLEF_OUT_OF_MEMORY. */
clef_status clef_processor_config_load(const char *directory, clef_processor_config *config,
                                       clef_error *error);

/* The same from text in memory, borrowed during the call; `name` stands for the path. */
clef_status clef_processor_config_parse(const char *name, clef_text text,
                                        clef_processor_config *config, clef_error *error);

#endif
