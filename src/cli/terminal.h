/* What the terminal behind a stream can show, and the one line of progress on it. Asked once;
 * whoever prints takes the answer as a parameter, so tables can be tested at any width. */
#ifndef CLEF_CLI_TERMINAL_H
#define CLEF_CLI_TERMINAL_H

#include "cli/environment.h"

typedef struct clef_terminal {
    int stream; /* file descriptor */
    bool is_terminal;
    bool has_colour; /* also false for NO_COLOR and TERM=dumb */
    bool is_utf8;
    bool can_rewrite; /* a line can be written over: a terminal that is not dumb */
    unsigned columns; /* 20 to 1,000; 80 when nobody knows */
} clef_terminal;

void clef_terminal_inspect(int stream, const clef_environment *environment,
                           clef_terminal *terminal);

/* A line that is written over while work goes on; does nothing unless the terminal can. */
typedef struct clef_progress {
    clef_terminal terminal;
    const char *unit; /* behind the numbers, " MB"; "" for records */
    double started_ms;
    double shown_ms; /* when it was last written; 0: never */
} clef_progress;

void clef_progress_begin(clef_progress *progress, const clef_terminal *terminal);

/* Shows how much is done (in `unit`), its rate, and the time left when `share` (of all input, 0 to
 * 1) is known; negative: unknown. Writes at most ten times a second. */
void clef_progress_show(clef_progress *progress, uint64_t done, double share);

/* Removes the line, so that other text can be written. */
void clef_progress_clear(clef_progress *progress);

#endif
