/* The prompt as a walk over its pieces of text, in order. Knows no tokens. */
#ifndef CLEF_DECIDE_PIECES_H
#define CLEF_DECIDE_PIECES_H

#include "decide/media.h"

typedef enum clef_piece_role {
    CLEF_PIECE_PREFIX,
    CLEF_PIECE_MEDIA, /* placeholders of pictures and videos */
    CLEF_PIECE_STATE,
    CLEF_PIECE_SCHEMA,   /* the fixed and half-fixed texts between the spans */
    CLEF_PIECE_QUESTION, /* what the question span covers */
    CLEF_PIECE_OPTION,   /* what an option span covers */
    CLEF_PIECE_SUFFIX,
} clef_piece_role;

/* Told of every piece; `text` is borrowed during the call. `index` counts the questions or the
 * options of the whole request and is 0 for the other roles. A status other than CLEF_OK ends the
 * walk. */
typedef clef_status clef_piece_visitor(void *context, clef_piece_role role, size_t index,
                                       clef_text text, clef_error *error);

typedef struct clef_piece_walk {
    clef_piece_visitor *visit;
    void *context;
    clef_arena *scratch; /* borrowed; for the sorting of keys */
    clef_buffer
        buffer; /* owned, released by whoever made the walk; the text of the piece at hand */
    clef_error *error;
} clef_piece_walk;

/* The parts of a prompt, in order; without media, their part is empty. The status of the visitor,
 * or CLEF_OUT_OF_MEMORY. */
clef_status clef_pieces_visit_prefix(clef_piece_walk *walk);
clef_status clef_pieces_visit_media(clef_piece_walk *walk, const clef_media *media);
clef_status clef_pieces_visit_state(clef_piece_walk *walk, const clef_request *request);
clef_status clef_pieces_visit_schema(clef_piece_walk *walk, const clef_request *request);

#endif
