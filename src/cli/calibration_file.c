/* The digest is that of the file's bytes, so that sha256sum shows the same. */
#include "cli/calibration_file.h"

#include "base/digest.h"
#include "base/memory.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/request_files.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct reading {
    clef_calibration_file *file;
    clef_model *model;
    clef_line_reader reader;
    clef_digest_state digest;
    uint64_t line_number; /* from 1 */
    clef_error *error;
} reading;

static clef_status add_record(clef_calibration_file *file, clef_record *record, clef_error *error) {
    if (file->count == file->capacity) {
        size_t capacity = file->capacity == 0 ? 64 : 2 * file->capacity;
        clef_record **grown = clef_reallocate(file->records, capacity, sizeof *grown);
        if (grown == NULL) {
            return clef_fail_memory(error, capacity * sizeof *grown, "the list of requests");
        }
        file->records = grown;
        file->capacity = capacity;
    }
    file->records[file->count++] = record;
    return CLEF_OK;
}

/* Says where in the file the fault of a line is. */
static clef_status name_line(const reading *of, clef_status status) {
    char where[384];
    snprintf(where, sizeof where, "%.300s, line %" PRIu64, of->reader.input->name, of->line_number);
    clef_error_prefix(of->error, where);
    return status;
}

/* The line's bytes, with the newline that only the last one may lack. */
static void digest_line(reading *of, clef_text line, uint64_t bytes) {
    clef_digest_add(&of->digest, line.bytes, line.length);
    if (bytes > line.length) {
        clef_digest_add(&of->digest, "\n", 1);
    }
}

/* The beginning of a state that is too long is as good to measure on as any other. */
static clef_status take_line(reading *of, clef_text line) {
    const clef_record_options options = {.truncate = true};
    clef_record *record;
    if (clef_line_is_blank(line)) {
        return CLEF_OK;
    }
    clef_buffer embedded = {0};
    clef_text text;
    clef_status status = clef_request_files_embed(line, &embedded, &text, of->error);
    if (status == CLEF_OK) {
        status =
            clef_record_encode(of->model, text.bytes, text.length, &options, &record, of->error);
    }
    clef_buffer_release(&embedded);
    if (status != CLEF_OK) {
        return name_line(of, status);
    }
    status = add_record(of->file, record, of->error);
    if (status != CLEF_OK) {
        clef_record_close(record);
    }
    return status;
}

static clef_status read_lines(reading *of) {
    for (;;) {
        clef_line_event event;
        clef_text line;
        uint64_t before = clef_line_reader_offset(&of->reader);
        clef_status status = clef_line_reader_next(&of->reader, true, &event, &line, of->error);
        if (status != CLEF_OK || event == CLEF_LINE_END) {
            return status;
        }
        if (clef_interrupt_seen()) {
            return clef_interrupt_fail(of->error);
        }
        of->line_number++;
        if (event == CLEF_LINE_TOO_LONG) {
            return name_line(of, clef_line_fail_length(of->error));
        }
        digest_line(of, line, clef_line_reader_offset(&of->reader) - before);
        status = take_line(of, line);
        if (status != CLEF_OK) {
            return status;
        }
    }
}

/* "requests.jsonl sha256:…": the name without folders, which are nobody's business. */
static clef_status describe(reading *of) {
    clef_buffer *source = &of->file->source;
    const char *name = of->reader.input->name;
    const char *slash = strrchr(name, '/');
    clef_digest digest = clef_digest_finish(&of->digest);
    clef_buffer_append_format(source, "%s sha256:", slash == NULL ? name : slash + 1);
    for (size_t i = 0; i < CLEF_DIGEST_BYTES; i++) {
        clef_buffer_append_format(source, "%02x", digest.bytes[i]);
    }
    clef_buffer_append_byte(source, '\0');
    return clef_buffer_check(source, "the name of the calibration file", of->error);
}

clef_status clef_calibration_file_read(const char *path, clef_model *model,
                                       clef_calibration_file *file, clef_error *error) {
    clef_input input;
    clef_status status =
        clef_input_open(path, "requests to calibrate with, one a line,", &input, error);
    if (status != CLEF_OK) {
        return status;
    }
    reading of = {.file = file, .model = model, .reader = {.input = &input}, .error = error};
    clef_digest_begin(&of.digest, CLEF_DIGEST_SHA256);
    status = read_lines(&of);
    if (status == CLEF_OK && file->count == 0) {
        status = clef_fail(error, CLEF_USAGE, "%s holds no request to calibrate with", input.name);
    }
    if (status == CLEF_OK) {
        status = describe(&of);
    }
    clef_line_reader_release(&of.reader);
    clef_input_close(&input);
    return status;
}

void clef_calibration_file_release(clef_calibration_file *file) {
    for (size_t i = 0; i < file->count; i++) {
        clef_record_close(file->records[i]);
    }
    clef_release(file->records);
    clef_buffer_release(&file->source);
    *file = (clef_calibration_file){0};
}
