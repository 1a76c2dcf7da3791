/* write(2) until all is written. No stdio: a failed write must not be lost in a buffer. */
#include "cli/output.h"

#include <errno.h>
#include <unistd.h>

static bool write_all(int stream, clef_text text) {
    while (text.length > 0) {
        ssize_t written = write(stream, text.bytes, text.length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        text.bytes += written;
        text.length -= (size_t)written;
    }
    return true;
}

static clef_status fail_output(clef_error *error) {
    if (errno == EPIPE) {
        return clef_fail(error, CLEF_CANCELLED, "%s", "");
    }
    return clef_fail(error, CLEF_INTERNAL, "cannot write to standard output: %s", strerror(errno));
}

clef_status clef_output_write(clef_text text, clef_error *error) {
    return write_all(STDOUT_FILENO, text) ? CLEF_OK : fail_output(error);
}

clef_status clef_output_write_buffer(const clef_buffer *buffer, clef_error *error) {
    clef_status status = clef_buffer_check(buffer, "the output", error);
    return status == CLEF_OK ? clef_output_write(clef_buffer_text(buffer), error) : status;
}

clef_status clef_output_close(clef_error *error) {
    return close(STDOUT_FILENO) == 0 || errno == EBADF ? CLEF_OK : fail_output(error);
}

void clef_output_note(clef_text text) {
    (void)write_all(STDERR_FILENO, text);
}
