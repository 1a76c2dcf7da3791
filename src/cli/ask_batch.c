/* A ring of slots, one a line, in input order. A slot is filled when its line is read, done when
 * its text is known, and written when all slots before it are. Reading waits only when nothing is
 * being computed, so answers do not wait for slow input. */
#include "cli/ask_batch.h"

#include "base/system_memory.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/request_files.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOT_COUNT = 256, TOKENS_IN_FLIGHT = 65536 };

struct ask_batch;

typedef struct batch_slot {
    struct ask_batch *batch;
    uint64_t line_number; /* from 1 */
    uint64_t end_offset;  /* of the line, in the input */
    uint32_t token_count; /* in flight; 0 when done */
    bool is_done;
    clef_buffer text; /* the line to write */
} batch_slot;

typedef struct ask_batch {
    clef_workplace *workplace;
    clef_session *session; /* NULL: only encode */
    const clef_answer_style *style;
    clef_input input;
    clef_line_reader reader;
    bool has_ended; /* of the input */
    uint64_t line_number;
    uint64_t input_bytes; /* of a regular file; 0: unknown */
    clef_progress progress;
    bool output_is_terminal; /* then progress must make way for each answer */
    double written_share;    /* of the input; negative: unknown */
    uint64_t written_count, fault_count;
    size_t first, count;  /* the ring's filled slots */
    size_t pending_count; /* submitted and not answered */
    uint64_t pending_tokens;
    clef_error first_fault; /* status CLEF_OK: none */
    uint64_t first_fault_line;
    batch_slot slots[SLOT_COUNT];
} ask_batch;

static void finish_slot(batch_slot *slot) {
    slot->is_done = true;
    slot->batch->pending_tokens -= slot->token_count;
    slot->token_count = 0;
    clef_buffer_append_byte(&slot->text, '\n');
}

/* {"error":{…},"line":n} */
static void finish_with_error(batch_slot *slot, const clef_error *fault) {
    ask_batch *batch = slot->batch;
    clef_buffer_clear(&slot->text);
    clef_buffer_append_string(&slot->text, "{\"error\":");
    clef_report_append_json(&slot->text, fault);
    clef_buffer_append_format(&slot->text, ",\"line\":%" PRIu64 "}", slot->line_number);
    batch->fault_count += 1;
    if (batch->first_fault.status == CLEF_OK || slot->line_number < batch->first_fault_line) {
        batch->first_fault = *fault;
        batch->first_fault_line = slot->line_number;
    }
    finish_slot(slot);
}

/* Takes a text of the library into the slot. */
static void finish_with_json(batch_slot *slot, clef_status status, char *json, size_t bytes,
                             const clef_error *fault) {
    if (status != CLEF_OK) {
        finish_with_error(slot, fault);
        return;
    }
    clef_buffer_append(&slot->text, json, bytes);
    clef_text_free(json);
    finish_slot(slot);
}

/* clef_answer_callback */
static void receive_answer(void *context, clef_status status, clef_answer *answer,
                           const clef_error *error) {
    batch_slot *slot = context;
    slot->batch->pending_count -= 1;
    if (status != CLEF_OK) {
        finish_with_error(slot, error);
        return;
    }
    clef_error fault = {0};
    char *json = NULL;
    size_t bytes = 0;
    status = clef_answer_json(answer, slot->batch->style, &json, &bytes, &fault);
    clef_answer_close(answer);
    finish_with_json(slot, status, json, bytes, &fault);
}

/* Encodes one line and submits it, or finishes its slot at once. */
static void start_line(ask_batch *batch, batch_slot *slot, clef_text line) {
    clef_error fault = {0};
    clef_record *record = NULL;
    clef_buffer embedded = {0};
    clef_text text;
    clef_status status = clef_request_files_embed(line, &embedded, &text, &fault);
    if (status == CLEF_OK) {
        status = clef_record_encode(batch->workplace->model, text.bytes, text.length,
                                    &batch->workplace->record_options, &record, &fault);
    }
    clef_buffer_release(&embedded);
    if (status != CLEF_OK) {
        finish_with_error(slot, &fault);
        return;
    }
    if (batch->session == NULL) {
        char *json = NULL;
        size_t bytes = 0;
        status = clef_record_json(record, &json, &bytes, &fault);
        finish_with_json(slot, status, json, bytes, &fault);
    } else {
        slot->token_count = clef_record_token_count(record);
        batch->pending_tokens += slot->token_count;
        batch->pending_count += 1;
        status = clef_session_submit(batch->session, record, receive_answer, slot, &fault);
        if (status != CLEF_OK) {
            batch->pending_count -= 1;
            finish_with_error(slot, &fault);
        }
    }
    clef_record_close(record);
}

static batch_slot *take_slot(ask_batch *batch) {
    batch_slot *slot = &batch->slots[(batch->first + batch->count) % SLOT_COUNT];
    batch->count += 1;
    clef_buffer_clear(&slot->text);
    slot->batch = batch;
    slot->line_number = batch->line_number;
    slot->end_offset = clef_line_reader_offset(&batch->reader);
    slot->token_count = 0;
    slot->is_done = false;
    return slot;
}

/* The bound of slots keeps order cheap, the bound of tokens keeps state memory bounded. One record
 * may pass the second, however long it is: it has to be computed some time. */
static bool has_room(const ask_batch *batch) {
    return batch->count < SLOT_COUNT && batch->pending_tokens < TOKENS_IN_FLIGHT;
}

/* Reads lines while the window has room and input is there. */
static clef_status fill_window(ask_batch *batch, clef_error *error) {
    while (!batch->has_ended && has_room(batch)) {
        clef_line_event event;
        clef_text line;
        bool may_wait = batch->count == 0;
        clef_status status = clef_line_reader_next(&batch->reader, may_wait, &event, &line, error);
        if (status != CLEF_OK || event == CLEF_LINE_LATER) {
            return status;
        }
        if (event == CLEF_LINE_END) {
            batch->has_ended = true;
            return CLEF_OK;
        }
        batch->line_number += 1;
        if (event == CLEF_LINE_TOO_LONG) {
            clef_error fault = {0};
            clef_line_fail_length(&fault);
            finish_with_error(take_slot(batch), &fault);
        } else if (!clef_line_is_blank(line)) {
            start_line(batch, take_slot(batch), line);
        }
    }
    return CLEF_OK;
}

/* A buffer keeps its memory for the next line unless a giant has passed through. */
static void recycle_text(clef_buffer *text) {
    if (text->capacity > 65536) {
        clef_buffer_release(text);
    } else {
        clef_buffer_clear(text);
    }
}

static clef_status write_lines(ask_batch *batch, const clef_buffer *lines, clef_error *error) {
    if (batch->output_is_terminal) {
        clef_progress_clear(&batch->progress);
    }
    return clef_output_write_buffer(lines, error);
}

/* Writes the done slots at the head of the ring, in one go while they are small. */
static clef_status write_head(ask_batch *batch, clef_error *error) {
    clef_buffer joined = {0};
    clef_status status = CLEF_OK;
    while (status == CLEF_OK && batch->count > 0 && batch->slots[batch->first].is_done) {
        batch_slot *slot = &batch->slots[batch->first];
        status = clef_buffer_check(&slot->text, "an answer", error);
        if (status != CLEF_OK) {
            break;
        }
        clef_buffer_append_text(&joined, clef_buffer_text(&slot->text));
        if (joined.length > 65536) {
            status = write_lines(batch, &joined, error);
            clef_buffer_clear(&joined);
        }
        recycle_text(&slot->text);
        batch->written_count += 1;
        if (batch->input_bytes > 0) {
            batch->written_share = (double)slot->end_offset / (double)batch->input_bytes;
        }
        batch->first = (batch->first + 1) % SLOT_COUNT;
        batch->count -= 1;
    }
    if (status == CLEF_OK && joined.length > 0) {
        status = write_lines(batch, &joined, error);
    }
    clef_buffer_release(&joined);
    if (status == CLEF_OK) {
        clef_progress_show(&batch->progress, batch->written_count, batch->written_share);
    }
    return status;
}

/* Fill, step, write. What is done is written even when this round fails, so that no answer that was
 * computed is lost. */
static clef_status run_lines(ask_batch *batch, clef_error *error) {
    while (!batch->has_ended || batch->count > 0) {
        clef_status status = fill_window(batch, error);
        if (status == CLEF_OK && clef_interrupt_seen()) {
            status = clef_interrupt_fail(error);
        }
        if (status == CLEF_OK && batch->pending_count > 0) {
            status = clef_session_step(batch->session, NULL, error);
        }
        clef_error output_error = {0};
        clef_status written = write_head(batch, &output_error);
        if (status == CLEF_OK && written != CLEF_OK) {
            *error = output_error;
            status = written;
        }
        if (status != CLEF_OK) {
            return status;
        }
    }
    return CLEF_OK;
}

/* Only a regular file has a size that progress can be measured by. */
static uint64_t find_input_bytes(const clef_input *input) {
    struct stat facts;
    bool is_file = fstat(input->stream, &facts) == 0 && S_ISREG(facts.st_mode);
    return is_file && facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
}

/* Says on which line the first fault was, and how many there were. */
static clef_status report_faults(const ask_batch *batch, clef_error *error) {
    const clef_error *fault = &batch->first_fault;
    if (batch->fault_count == 0) {
        return CLEF_OK;
    }
    *error = *fault;
    int length = snprintf(error->message, sizeof error->message, "line %" PRIu64 ": ",
                          batch->first_fault_line);
    size_t room = sizeof error->message - (size_t)length;
    snprintf(error->message + length, room, "%.*s", (int)room - 64, fault->message);
    if (batch->fault_count > 1) {
        size_t end = strlen(error->message);
        snprintf(error->message + end, sizeof error->message - end,
                 " (the first of %" PRIu64 " lines that failed)", batch->fault_count);
    }
    return fault->status;
}

static void release_batch(ask_batch *batch) {
    /* The session first: it may still hold records that call back into slots. */
    clef_session_close(batch->session);
    for (size_t i = 0; i < SLOT_COUNT; i += 1) {
        clef_buffer_release(&batch->slots[i].text);
    }
    clef_line_reader_release(&batch->reader);
    clef_input_close(&batch->input);
}

#define CACHE_SHARE 8 /* of the free memory, for kept states, when nobody says */

static uint64_t choose_cache(const clef_settings *settings) {
    if (settings->has_no_cache) {
        return 0;
    }
    if (settings->cache_mebibytes > 0) {
        return (uint64_t)settings->cache_mebibytes << 20;
    }
    return clef_system_memory_share(CACHE_SHARE);
}

#define FEATURE_SHARE 4 /* of that memory, beside it, for pictures */

/* States and pictures are kept for lines to come. */
static clef_status create_session(const clef_settings *settings, ask_batch *batch,
                                  clef_error *error) {
    uint64_t bytes = choose_cache(settings);
    const clef_session_options options = {.prefix_cache_bytes = bytes,
                                          .feature_cache_bytes = bytes / FEATURE_SHARE};
    return clef_session_create(batch->workplace->model, &options, &batch->session, error);
}

clef_status clef_ask_batch_run(const clef_invocation *invocation, clef_workplace *workplace,
                               bool encode_only, const clef_answer_style *style,
                               clef_error *error) {
    const clef_settings *settings = invocation->settings;
    const char *file = settings->operand_count > 0 ? settings->operands[0] : NULL;
    ask_batch batch = {.workplace = workplace, .style = style, .written_share = -1.0};
    clef_terminal terminal;
    clef_status status = clef_input_open(file, "requests, one a line,", &batch.input, error);
    if (status != CLEF_OK) {
        return status;
    }
    batch.reader.input = &batch.input;
    batch.input_bytes = find_input_bytes(&batch.input);
    status = clef_workplace_open(invocation, encode_only, workplace, error);
    if (status == CLEF_OK && !encode_only) {
        status = create_session(settings, &batch, error);
    }
    if (status == CLEF_OK) {
        clef_interrupt_watch();
        clef_terminal_inspect(STDERR_FILENO, invocation->environment, &terminal);
        clef_progress_begin(&batch.progress, &terminal);
        batch.output_is_terminal = isatty(STDOUT_FILENO) == 1;
        status = run_lines(&batch, error);
        clef_progress_clear(&batch.progress);
    }
    if (status == CLEF_OK) {
        status = report_faults(&batch, error);
    } else if (status == CLEF_CANCELLED && clef_interrupt_seen()) {
        clef_fail(error, CLEF_CANCELLED, "interrupted; %" PRIu64 " lines were answered",
                  batch.written_count);
    }
    release_batch(&batch);
    return status;
}
