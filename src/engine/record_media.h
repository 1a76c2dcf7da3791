/* The media of a record as the model sees them: where its placeholders stand, and how its tokens
 * are placed. Made once when the record is encoded; read only afterwards. */
#ifndef CLEF_ENGINE_RECORD_MEDIA_H
#define CLEF_ENGINE_RECORD_MEDIA_H

#include "decide/prompt.h"
#include "model/media_positions.h"

typedef struct clef_record_media {
    clef_media media;
    clef_feature_run *runs; /* [run_count], in the record's arena; NULL without a network */
    size_t run_count;
    clef_position_table table; /* in the record's arena; no positions without media */
} clef_record_media;

struct clef_model;

/* Whether the model has a tower for what the media layer makes: CLEF_BAD_REQUEST, place
 * images or videos. Models opened for their tokenizer alone pass. */
clef_status clef_record_media_check(const struct clef_model *model, const clef_media *media,
                                    clef_error *error);

/* Finds the placeholders of an encoded prompt and places its tokens. CLEF_OUT_OF_MEMORY. */
clef_status clef_record_media_place(const struct clef_model *model, const clef_prompt *prompt,
                                    clef_arena *arena, clef_record_media *of, clef_error *error);

void clef_record_media_release(clef_record_media *of);

#endif
