/* Values as text: inside a prompt (canonical), inside a reply (as sent), inside a message (one
 * line). */
#ifndef CLEF_DECIDE_RENDER_H
#define CLEF_DECIDE_RENDER_H

#include "decide/record.h"

/* The text of a value in a prompt: a string is itself (borrowed from the value), anything else is
 * compact JSON with sorted keys, written to `buffer`, which is cleared first (borrowed until its
 * next change). Failure sticks in buffer. */
clef_text clef_render_value(const clef_json *value, clef_buffer *buffer, clef_arena *scratch);

/* A lower bound of the bytes of that text, found without writing it; counting ends when it passes
 * `enough`. */
size_t clef_render_least(const clef_json *value, size_t enough);

/* Appends an option as the prompt shows it: {"description":…,"option_id":"…"}. */
void clef_render_option(clef_buffer *out, const clef_option *option, clef_arena *scratch);

/* Appends a value as a reply echoes it: keys in the order sent, numbers in their canonical form
 * unless that would be Infinity, which is not JSON; NULL as null. */
void clef_render_echo(clef_buffer *out, const clef_json *value);

#define CLEF_NAME_BYTES 128

/* An id for use in a message or a place: controls and line separators as \uxxxx, cut after 100
 * bytes with an ellipsis, NUL at the end. Ordinary ids stay as they are. */
void clef_render_name(clef_text id, char name[CLEF_NAME_BYTES]);

/* An id as an element of clef_error.place: itself where it fits, has no NUL and no separator; else
 * as clef_render_name shows it. */
void clef_render_place(clef_text id, char name[CLEF_NAME_BYTES]);

#define CLEF_COUNT_BYTES 32

/* A count with thousands commas: 16,384. */
void clef_render_count(size_t count, char text[CLEF_COUNT_BYTES]);

#endif
