/* Terminal facts from the system and the environment. Knows nothing of what is printed. */
#include "cli/terminal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_LEAST = 20, COLUMNS_MOST = 1000, COLUMNS_UNKNOWN = 80 };

static unsigned find_columns(int stream, const clef_environment *environment) {
    unsigned long columns = 0;
    /* COLUMNS first: it is the only way to ask for a width when the output is no terminal. */
    if (environment->columns != NULL) {
        columns = strtoul(environment->columns, NULL, 10);
    }
    if (columns == 0) {
        struct winsize size;
        if (ioctl(stream, TIOCGWINSZ, &size) == 0) {
            columns = size.ws_col;
        }
    }
    if (columns == 0) {
        columns = COLUMNS_UNKNOWN;
    }
    if (columns < COLUMNS_LEAST) {
        return COLUMNS_LEAST;
    }
    return columns > COLUMNS_MOST ? COLUMNS_MOST : (unsigned)columns;
}

/* Locale names end in their character set: "de_CH.UTF-8", "C.utf8". */
static bool names_utf8(const char *locale) {
    if (locale == NULL) {
        return false;
    }
    const char *codeset = strchr(locale, '.');
    return codeset != NULL &&
           (strncasecmp(codeset + 1, "utf-8", 5) == 0 || strncasecmp(codeset + 1, "utf8", 4) == 0);
}

void clef_terminal_inspect(int stream, const clef_environment *environment,
                           clef_terminal *terminal) {
    bool is_dumb = environment->terminal == NULL || strcmp(environment->terminal, "dumb") == 0;
    terminal->stream = stream;
    terminal->is_terminal = isatty(stream) == 1;
    terminal->can_rewrite = terminal->is_terminal && !is_dumb;
    terminal->has_colour = terminal->can_rewrite && environment->no_colour == NULL;
    terminal->is_utf8 = names_utf8(environment->locale);
    terminal->columns = find_columns(stream, environment);
}

static double read_clock_ms(void) {
    return (double)clef_clock_ns() / 1e6;
}

void clef_progress_begin(clef_progress *progress, const clef_terminal *terminal) {
    *progress = (clef_progress){.terminal = *terminal, .unit = "", .started_ms = read_clock_ms()};
}

/* Progress is a courtesy: when the terminal does not take it, nothing is lost. */
static void write_line(const clef_progress *progress, const char *bytes, size_t length) {
    ssize_t written = write(progress->terminal.stream, bytes, length);
    (void)written;
}

static int format_duration(char *out, size_t capacity, double seconds) {
    unsigned long whole = (unsigned long)seconds;
    if (whole >= 3600) {
        return snprintf(out, capacity, "%lu h %02lu min", whole / 3600, whole / 60 % 60);
    }
    if (whole >= 60) {
        return snprintf(out, capacity, "%lu min %02lu s", whole / 60, whole % 60);
    }
    return snprintf(out, capacity, "%lu s", whole);
}

void clef_progress_show(clef_progress *progress, uint64_t done, double share) {
    double now_ms = read_clock_ms();
    if (!progress->terminal.can_rewrite || now_ms - progress->shown_ms < 100.0) {
        return;
    }
    progress->shown_ms = now_ms;
    double seconds = (now_ms - progress->started_ms) / 1000.0;
    char line[160];
    int length =
        snprintf(line, sizeof line, "%llu%s done", (unsigned long long)done, progress->unit);
    if (seconds > 0.0) {
        length += snprintf(line + length, sizeof line - (size_t)length, ", %.1f%s/s",
                           (double)done / seconds, progress->unit);
    }
    if (share > 0.0 && share < 1.0 && done > 0) {
        char duration[48];
        format_duration(duration, sizeof duration, seconds * (1.0 - share) / share);
        length += snprintf(line + length, sizeof line - (size_t)length, ", %.0f %%, %s left",
                           100.0 * share, duration);
    }
    /* A line that wraps could not be written over. */
    if ((unsigned)length >= progress->terminal.columns) {
        length = (int)progress->terminal.columns - 1;
    }
    char whole[192];
    length = snprintf(whole, sizeof whole, "\r%.*s\x1b[K", length, line);
    write_line(progress, whole, (size_t)length);
}

void clef_progress_clear(clef_progress *progress) {
    if (progress->shown_ms > 0.0) {
        write_line(progress, "\r\x1b[K", 4);
        progress->shown_ms = 0.0;
    }
}
