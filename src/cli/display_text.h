/* Any text as something a terminal may be sent: no control character survives, and its width in
 * cells is known. Escapes are visible: \n, \t, \u{1b}; bytes that are no UTF-8 are \xff. */
#ifndef CLEF_CLI_DISPLAY_TEXT_H
#define CLEF_CLI_DISPLAY_TEXT_H

#include "base/buffer.h"

/* Cells that the text takes when shown. Without is_utf8 all but ASCII is escaped. */
size_t clef_display_width(clef_text text, bool is_utf8);

/* Appends the text in at most `limit` cells, an ellipsis at the end when it was cut; returns the
 * cells used. */
size_t clef_display_append(clef_buffer *out, clef_text text, size_t limit, bool is_utf8);

/* As clef_display_append, then blanks up to exactly `cells`. */
void clef_display_append_column(clef_buffer *out, clef_text text, size_t cells, bool is_utf8);

void clef_display_append_blanks(clef_buffer *out, size_t count);

#endif
