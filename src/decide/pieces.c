/* The text of a prompt. Every piece here is tokenised apart, so where one ends is part of the
 * format, as are its blanks and line ends. */
#include "decide/pieces.h"

#include "decide/render.h"

static const char system_prefix[] =
    "<|im_start|>system\n"
    "Read the complete state and schema. Decide every field jointly. "
    "Each answer must be exactly one of that field's allowed options."
    "<|im_end|>\n<|im_start|>user\nSTATE:\n";
static const char assistant_suffix[] =
    "\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nJOINT SCHEMA DECISIONS:";

static clef_status visit_text(clef_piece_walk *walk, clef_piece_role role, size_t index,
                              clef_text text) {
    return walk->visit(walk->context, role, index, text, walk->error);
}

static clef_status visit_value(clef_piece_walk *walk, clef_piece_role role, size_t index,
                               const clef_json *value) {
    clef_text text = clef_render_value(value, &walk->buffer, walk->scratch);
    clef_status status = clef_buffer_check(&walk->buffer, "a piece of the prompt", walk->error);
    return status == CLEF_OK ? visit_text(walk, role, index, text) : status;
}

static clef_status visit_buffer(clef_piece_walk *walk, clef_piece_role role, size_t index) {
    clef_status status = clef_buffer_check(&walk->buffer, "a piece of the prompt", walk->error);
    return status == CLEF_OK ? visit_text(walk, role, index, clef_buffer_text(&walk->buffer))
                             : status;
}

static clef_status visit_option(clef_piece_walk *walk, const clef_option *option, size_t number,
                                size_t index) {
    clef_buffer_clear(&walk->buffer);
    clef_buffer_append_format(&walk->buffer, "OPTION %zu: ", number);
    clef_status status = visit_buffer(walk, CLEF_PIECE_SCHEMA, 0);
    if (status != CLEF_OK) {
        return status;
    }
    clef_buffer_clear(&walk->buffer);
    clef_render_option(&walk->buffer, option, walk->scratch);
    status = visit_buffer(walk, CLEF_PIECE_OPTION, index);
    return status == CLEF_OK ? visit_text(walk, CLEF_PIECE_SCHEMA, 0, CLEF_TEXT("\n")) : status;
}

static clef_status visit_question(clef_piece_walk *walk, const clef_question *question,
                                  size_t index, size_t first_option) {
    clef_buffer *buffer = &walk->buffer;
    clef_buffer_clear(buffer);
    clef_buffer_append_format(buffer, "\nFIELD %zu\nID: ", index + 1);
    clef_buffer_append_text(buffer, question->id);
    clef_buffer_append_format(buffer,
                              "\nTYPE: %s\nINSTRUCTION: ", clef_question_type_name(question->type));
    clef_status status = visit_buffer(walk, CLEF_PIECE_SCHEMA, 0);
    if (status == CLEF_OK) {
        status = question->instructions == NULL
                     ? visit_text(walk, CLEF_PIECE_QUESTION, index, question->id)
                     : visit_value(walk, CLEF_PIECE_QUESTION, index, question->instructions);
    }
    if (status == CLEF_OK) {
        status = visit_text(walk, CLEF_PIECE_SCHEMA, 0, CLEF_TEXT("\nALLOWED OPTIONS:\n"));
    }
    for (size_t i = 0; i < question->option_count && status == CLEF_OK; i++) {
        status = visit_option(walk, &question->options[i], i + 1, first_option + i);
    }
    return status == CLEF_OK ? visit_text(walk, CLEF_PIECE_SCHEMA, 0, CLEF_TEXT("END FIELD\n"))
                             : status;
}

clef_status clef_pieces_visit_prefix(clef_piece_walk *walk) {
    return visit_text(walk, CLEF_PIECE_PREFIX, 0, CLEF_TEXT(system_prefix));
}

/* ---- media ---------------------------------------------------------------------------------- */

static void append_frame(clef_buffer *buffer, const char *pad, size_t count) {
    clef_buffer_append_string(buffer, "<|vision_start|>");
    for (size_t i = 0; i < count; i++) {
        clef_buffer_append_string(buffer, pad);
    }
    clef_buffer_append_string(buffer, "<|vision_end|>");
}

/* A video is a frame for each pair of its own, with the time of the pair in front. */
static void append_video(clef_buffer *buffer, const clef_medium *video, size_t frame_tokens) {
    char label[CLEF_VIDEO_LABEL_BYTES];
    clef_buffer_append_string(buffer, "<|vision_start|>");
    for (uint32_t pair = 0; pair < video->grid.frames; pair++) {
        clef_video_label_write(video->seconds[pair], label);
        clef_buffer_append_format(buffer, "<%s seconds>", label);
        append_frame(buffer, "<|video_pad|>", frame_tokens);
    }
    clef_buffer_append_string(buffer, "<|vision_end|>");
}

clef_status clef_pieces_visit_media(clef_piece_walk *walk, const clef_media *media) {
    if (media == NULL || clef_media_count(media) == 0) {
        return CLEF_OK;
    }
    clef_buffer_clear(&walk->buffer);
    for (size_t i = 0; i < clef_media_count(media); i++) {
        const clef_medium *item = &media->items[i];
        size_t frame_tokens = clef_patch_token_count(item->grid) / item->grid.frames;
        if (item->seconds == NULL) {
            append_frame(&walk->buffer, "<|image_pad|>", frame_tokens);
        } else {
            append_video(&walk->buffer, item, frame_tokens);
        }
    }
    clef_buffer_append_byte(&walk->buffer, '\n');
    return visit_buffer(walk, CLEF_PIECE_MEDIA, 0);
}

/* ---- state and schema ----------------------------------------------------------------------- */

clef_status clef_pieces_visit_state(clef_piece_walk *walk, const clef_request *request) {
    return visit_value(walk, CLEF_PIECE_STATE, 0, request->state);
}

clef_status clef_pieces_visit_schema(clef_piece_walk *walk, const clef_request *request) {
    clef_status status = visit_text(walk, CLEF_PIECE_SCHEMA, 0, CLEF_TEXT("\n\nSCHEMA FIELDS:\n"));
    size_t first_option = 0;
    for (size_t i = 0; i < request->question_count && status == CLEF_OK; i++) {
        status = visit_question(walk, &request->questions[i], i, first_option);
        first_option += request->questions[i].option_count;
    }
    return status == CLEF_OK ? visit_text(walk, CLEF_PIECE_SUFFIX, 0, CLEF_TEXT(assistant_suffix))
                             : status;
}
