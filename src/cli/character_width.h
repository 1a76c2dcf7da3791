/* Cells of one character on a terminal, independent of the host's locale. */
#ifndef CLEF_CLI_CHARACTER_WIDTH_H
#define CLEF_CLI_CHARACTER_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 for combining marks, 2 for East Asian wide characters and pictographs, else 1. */
size_t clef_character_width(uint32_t character);

/* Must not reach a terminal as it is: controls, and characters that turn the writing direction,
 * break lines or cannot be seen. */
bool clef_character_is_hidden(uint32_t character);

#endif
