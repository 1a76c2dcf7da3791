/* read(2) with poll(2): a batch must go on computing while its input is slow, and must notice an
 * interrupt while it waits. */
#include "cli/input.h"

#include "cli/interrupt.h"
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { READ_BYTES = 65536, WAIT_MS = 100 };

clef_status clef_input_open(const char *path, const char *what, clef_input *input,
                            clef_error *error) {
    *input = (clef_input){STDIN_FILENO, false, "standard input"};
    if (path == NULL || strcmp(path, "-") == 0) {
        if (isatty(STDIN_FILENO) == 1) {
            clef_report_note("reading %s from the terminal; Ctrl-D on an empty line ends it, "
                             "\"clef help\" shows other ways",
                             what);
        }
        return CLEF_OK;
    }
    int stream = open(path, O_RDONLY | O_CLOEXEC);
    if (stream < 0) {
        return clef_fail(error, CLEF_USAGE, "cannot open %s \"%s\": %s", what, path,
                         strerror(errno));
    }
    *input = (clef_input){stream, true, path};
    return CLEF_OK;
}

void clef_input_close(clef_input *input) {
    if (input->is_owned) {
        close(input->stream);
    }
    *input = (clef_input){-1, false, ""};
}

/* Appends what one read gives; *count 0 at the end. */
static clef_status read_some(const clef_input *input, clef_buffer *bytes, size_t *count,
                             clef_error *error) {
    if (!clef_buffer_reserve(bytes, READ_BYTES)) {
        return clef_buffer_check(bytes, "the input", error);
    }
    ssize_t length;
    do {
        length = read(input->stream, bytes->bytes + bytes->length, READ_BYTES);
    } while (length < 0 && errno == EINTR && !clef_interrupt_seen());
    if (length < 0 && errno == EINTR) {
        return clef_interrupt_fail(error);
    }
    if (length < 0) {
        return clef_fail(error, errno == EISDIR ? CLEF_USAGE : CLEF_INTERNAL, "cannot read %s: %s",
                         input->name, strerror(errno));
    }
    bytes->length += (size_t)length;
    *count = (size_t)length;
    return CLEF_OK;
}

clef_status clef_input_read_all(const clef_input *input, clef_buffer *bytes, clef_error *error) {
    size_t count = 1;
    while (count > 0) {
        clef_status status = read_some(input, bytes, &count, error);
        if (status != CLEF_OK) {
            return status;
        }
        if (bytes->length > CLEF_INPUT_BYTES_LIMIT) {
            return clef_fail(
                error, CLEF_TOO_LARGE,
                "%s holds more than 67,108,864 bytes (64 MiB), the limit of one request",
                input->name);
        }
    }
    return CLEF_OK;
}

/* Waits until a read would not block. *is_ready stays false only without may_wait. */
static clef_status wait_for_input(int stream, bool may_wait, bool *is_ready, clef_error *error) {
    for (;;) {
        struct pollfd watched = {.fd = stream, .events = POLLIN, .revents = 0};
        int count = poll(&watched, 1, may_wait ? WAIT_MS : 0);
        if (clef_interrupt_seen()) {
            return clef_interrupt_fail(error);
        }
        bool is_broken = count < 0 && errno != EINTR;
        /* What is wrong with a broken stream is said by the read that follows. */
        *is_ready = count > 0 || is_broken;
        if (*is_ready || !may_wait) {
            return CLEF_OK;
        }
    }
}

/* Drops what has been handed out, so that the buffer grows with the longest line only. */
static void drop_used_bytes(clef_line_reader *reader) {
    clef_buffer *bytes = &reader->bytes;
    if (reader->start > 0) {
        memmove(bytes->bytes, bytes->bytes + reader->start, bytes->length - reader->start);
        bytes->length -= reader->start;
        reader->start = 0;
    }
}

/* Takes a line out of the bytes that are there; false when more must be read first. */
static bool take_line(clef_line_reader *reader, clef_line_event *event, clef_text *line) {
    const char *bytes = reader->bytes.bytes == NULL ? "" : reader->bytes.bytes + reader->start;
    size_t length = reader->bytes.length - reader->start;
    const char *newline = NULL;
    if (length > reader->searched) {
        newline = memchr(bytes + reader->searched, '\n', length - reader->searched);
    }
    reader->searched = length;
    size_t line_length = newline != NULL ? (size_t)(newline - bytes) : length;
    if (line_length > CLEF_INPUT_BYTES_LIMIT) {
        reader->is_skipping = true;
    }
    if (newline == NULL && !reader->has_ended) {
        if (reader->is_skipping) {
            reader->start = reader->bytes.length;
            reader->searched = 0;
        }
        return false;
    }
    if (newline == NULL && length == 0 && !reader->is_skipping) {
        *event = CLEF_LINE_END;
        return true;
    }
    *line = (clef_text){bytes, line_length};
    *event = reader->is_skipping ? CLEF_LINE_TOO_LONG : CLEF_LINE_READY;
    reader->is_skipping = false;
    reader->start += line_length + (newline != NULL ? 1 : 0);
    reader->searched = 0;
    return true;
}

clef_status clef_line_reader_next(clef_line_reader *reader, bool may_wait, clef_line_event *event,
                                  clef_text *line, clef_error *error) {
    *line = (clef_text){NULL, 0};
    while (!take_line(reader, event, line)) {
        bool is_ready = false;
        size_t count = 0;
        clef_status status = wait_for_input(reader->input->stream, may_wait, &is_ready, error);
        if (status != CLEF_OK) {
            return status;
        }
        if (!is_ready) {
            *event = CLEF_LINE_LATER;
            return CLEF_OK;
        }
        drop_used_bytes(reader);
        status = read_some(reader->input, &reader->bytes, &count, error);
        if (status != CLEF_OK) {
            return status;
        }
        reader->read_bytes += count;
        reader->has_ended = count == 0;
    }
    return CLEF_OK;
}

bool clef_line_is_blank(clef_text line) {
    static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};
    size_t start = line.length >= 3 && memcmp(line.bytes, byte_order_mark, 3) == 0 ? 3 : 0;
    for (size_t i = start; i < line.length; i += 1) {
        if (line.bytes[i] != ' ' && line.bytes[i] != '\t' && line.bytes[i] != '\r') {
            return false;
        }
    }
    return true;
}

clef_status clef_line_fail_length(clef_error *error) {
    return clef_fail(error, CLEF_TOO_LARGE,
                     "the line holds more than 67,108,864 bytes (64 MiB), the limit of one "
                     "request");
}

uint64_t clef_line_reader_offset(const clef_line_reader *reader) {
    return reader->read_bytes - (reader->bytes.length - reader->start);
}

void clef_line_reader_release(clef_line_reader *reader) {
    clef_buffer_release(&reader->bytes);
}
