/* Safe text, one unit (character or escape) at a time; widths come from character_width.h. */
#include "cli/display_text.h"

#include "cli/character_width.h"

#include <stdio.h>

/* What one character of the text becomes. */
typedef struct display_unit {
    char bytes[16];
    size_t length;
    size_t cells;
} display_unit;

static void escape_unit(display_unit *unit, const char *format, unsigned value) {
    int length = snprintf(unit->bytes, sizeof unit->bytes, format, value);
    unit->length = (size_t)length;
    unit->cells = unit->length;
}

/* Reads the character at *position of a text whose first `valid` bytes are UTF-8. */
static void read_unit(clef_text text, size_t valid, size_t *position, bool is_utf8,
                      display_unit *unit) {
    if (*position >= valid) {
        escape_unit(unit, "\\x%02x", (unsigned char)text.bytes[*position]);
        *position += 1;
        return;
    }
    size_t start = *position;
    uint32_t character = clef_utf8_next(text.bytes, valid, position);
    if (character == '\n') {
        escape_unit(unit, "\\n", 0);
    } else if (character == '\t') {
        escape_unit(unit, "\\t", 0);
    } else if (character == '\r') {
        escape_unit(unit, "\\r", 0);
    } else if (clef_character_is_hidden(character) || (character >= 0x80 && !is_utf8)) {
        escape_unit(unit, "\\u{%x}", character);
    } else {
        unit->length = *position - start;
        memcpy(unit->bytes, text.bytes + start, unit->length);
        unit->cells = clef_character_width(character);
    }
}

/* End of the run of valid UTF-8 that starts at position; position itself when the byte is bad. */
static size_t find_valid_end(clef_text text, size_t position) {
    return position + clef_utf8_valid_prefix(text.bytes + position, text.length - position);
}

/* Appends units while they fit into `room` cells (out may be NULL to count only); *position is left
 * behind the last one taken. */
static size_t append_units(clef_buffer *out, clef_text text, size_t room, bool is_utf8,
                           size_t *position) {
    size_t cells = 0;
    size_t valid = 0;
    while (*position < text.length) {
        if (*position >= valid) {
            valid = find_valid_end(text, *position);
        }
        size_t next = *position;
        display_unit unit;
        read_unit(text, valid, &next, is_utf8, &unit);
        if (unit.cells > room - cells) {
            break;
        }
        if (out != NULL) {
            clef_buffer_append(out, unit.bytes, unit.length);
        }
        cells += unit.cells;
        *position = next;
    }
    return cells;
}

size_t clef_display_width(clef_text text, bool is_utf8) {
    size_t position = 0;
    return append_units(NULL, text, SIZE_MAX, is_utf8, &position);
}

size_t clef_display_append(clef_buffer *out, clef_text text, size_t limit, bool is_utf8) {
    /* Counted first: only a text that does not fit gives a cell to the ellipsis. */
    size_t position = 0;
    (void)append_units(NULL, text, limit, is_utf8, &position);
    bool fits = position == text.length;
    size_t mark = fits ? 0 : is_utf8 ? 1 : 2;
    if (mark > limit) {
        mark = limit;
    }
    position = 0;
    size_t cells = append_units(out, text, limit - mark, is_utf8, &position);
    if (!fits) {
        clef_buffer_append(out, is_utf8 ? "\xe2\x80\xa6" : "..", is_utf8 && mark > 0 ? 3 : mark);
    }
    return cells + mark;
}

void clef_display_append_column(clef_buffer *out, clef_text text, size_t cells, bool is_utf8) {
    size_t used = clef_display_append(out, text, cells, is_utf8);
    clef_display_append_blanks(out, cells - used);
}

void clef_display_append_blanks(clef_buffer *out, size_t count) {
    while (count > 0) {
        clef_buffer_append_byte(out, ' ');
        count -= 1;
    }
}
