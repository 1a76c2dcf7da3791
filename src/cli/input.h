/* Files, pipes and standard input that a user names: whole, or line by line as they come. Nothing
 * here looks at what is in them. */
#ifndef CLEF_CLI_INPUT_H
#define CLEF_CLI_INPUT_H

#include "base/buffer.h"

/* Bytes of one request, alone or as a line, and of a state file. */
#define CLEF_INPUT_BYTES_LIMIT ((size_t)64 << 20)

typedef struct clef_input {
    int stream; /* file descriptor */
    bool is_owned;
    const char *name; /* for messages; borrowed */
} clef_input;

/* Opens a file; NULL or "-" is standard input. Says on standard error that it waits for `what` when
 * that is a terminal. CLEF_USAGE when the file cannot be opened. */
clef_status clef_input_open(const char *path, const char *what, clef_input *input,
                            clef_error *error);
void clef_input_close(clef_input *input);

/* Reads to the end. CLEF_TOO_LARGE above CLEF_INPUT_BYTES_LIMIT. */
clef_status clef_input_read_all(const clef_input *input, clef_buffer *bytes, clef_error *error);

typedef enum clef_line_event {
    CLEF_LINE_READY,    /* a line, without its newline */
    CLEF_LINE_TOO_LONG, /* a line above CLEF_INPUT_BYTES_LIMIT; it was skipped */
    CLEF_LINE_LATER,    /* nothing has come yet, and the caller did not want to wait */
    CLEF_LINE_END,
} clef_line_event;

/* Zero-initialise, then set input. */
typedef struct clef_line_reader {
    const clef_input *input; /* borrowed */
    clef_buffer bytes;       /* read and not yet handed out, from `start` */
    size_t start;
    size_t searched;     /* bytes behind start known to hold no newline */
    bool has_ended;      /* of the input */
    bool is_skipping;    /* inside a line that is too long */
    uint64_t read_bytes; /* in all */
} clef_line_reader;

/* Next line, borrowed until the next call. With may_wait it waits until there is one, an interrupt
 * comes (CLEF_CANCELLED), or the input ends; a last line needs no newline. */
clef_status clef_line_reader_next(clef_line_reader *reader, bool may_wait, clef_line_event *event,
                                  clef_text *line, clef_error *error);
/* Only white space of JSON, perhaps behind a byte order mark. */
bool clef_line_is_blank(clef_text line);
/* What CLEF_LINE_TOO_LONG means: CLEF_TOO_LARGE. */
clef_status clef_line_fail_length(clef_error *error);
/* Bytes of all lines handed out so far. */
uint64_t clef_line_reader_offset(const clef_line_reader *reader);
void clef_line_reader_release(clef_line_reader *reader);

#endif
