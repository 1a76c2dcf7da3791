/* `clef ask`: one request and its answer, or a batch of them. */
#include "cli/answer_table.h"
#include "cli/ask_batch.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/option_list.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/request_builder.h"
#include "cli/request_source.h"
#include "cli/terminal.h"
#include "cli/workplace.h"

#include <unistd.h>

/* Where the callback of a single record leaves its answer. */
typedef struct received_answer {
    bool is_there;
    clef_status status;
    clef_answer *answer;
    clef_error *error;
} received_answer;

static void receive_answer(void *context, clef_status status, clef_answer *answer,
                           const clef_error *error) {
    received_answer *received = context;
    received->is_there = true;
    received->status = status;
    received->answer = answer;
    if (status != CLEF_OK) {
        *received->error = *error;
    }
}

/* Steps by hand instead of clef_session_decide, so that an interrupt is seen between two steps. */
static clef_status decide(clef_session *session, clef_record *record, clef_answer **answer,
                          clef_error *error) {
    received_answer received = {false, CLEF_OK, NULL, error};
    clef_status status = clef_session_submit(session, record, receive_answer, &received, error);
    while (status == CLEF_OK && !received.is_there) {
        status = clef_interrupt_seen() ? clef_interrupt_fail(error)
                                       : clef_session_step(session, NULL, error);
    }
    *answer = received.answer;
    return status == CLEF_OK ? received.status : status;
}

/* Encodes before the session takes its memory: a request that is refused costs next to nothing. */
static clef_status compute_answer(const clef_workplace *workplace, const clef_buffer *body,
                                  clef_answer **answer, clef_error *error) {
    clef_record *record = NULL;
    clef_session *session = NULL;
    clef_status status = clef_record_encode(workplace->model, body->bytes, body->length,
                                            &workplace->record_options, &record, error);
    if (status == CLEF_OK) {
        status = clef_session_create(workplace->model, NULL, &session, error);
    }
    if (status == CLEF_OK) {
        clef_interrupt_watch();
        status = decide(session, record, answer, error);
    }
    clef_session_close(session);
    clef_record_close(record);
    return status;
}

/* Time stands beside a table on standard error: the table stays the same from run to run. */
static void note_timings(const clef_answer *answer) {
    clef_answer_usage usage;
    clef_answer_describe(answer, &usage);
    double per_second =
        usage.latency_ms > 0.0 ? 1000.0 * usage.input_tokens / usage.latency_ms : 0.0;
    clef_report_note("%u tokens, %.1f ms, %.0f tokens/s", usage.input_tokens, usage.latency_ms,
                     per_second);
}

static clef_status print_table(const clef_invocation *invocation, const clef_answer *answer,
                               const clef_terminal *terminal, clef_error *error) {
    const clef_settings *settings = invocation->settings;
    clef_buffer table = {0};
    clef_status status = clef_answer_table_append(&table, answer, terminal,
                                                  (clef_confidence)settings->confidence, error);
    if (status == CLEF_OK) {
        status = clef_output_write_buffer(&table, error);
    }
    if (status == CLEF_OK && settings->with_timings) {
        note_timings(answer);
    }
    clef_buffer_release(&table);
    return status;
}

static clef_status print_json(const clef_answer *answer, const clef_answer_style *style,
                              clef_error *error) {
    char *json = NULL;
    size_t bytes = 0;
    clef_status status = clef_answer_json(answer, style, &json, &bytes, error);
    if (status != CLEF_OK) {
        return status;
    }
    /* Returned texts end in NUL; the newline takes its place, so that one write does it all. */
    json[bytes] = '\n';
    status = clef_output_write((clef_text){json, bytes + 1}, error);
    clef_text_free(json);
    return status;
}

/* The request is read before the model is opened, so that faults of the command line show first. */
static clef_status answer_one(const clef_invocation *invocation, clef_workplace *workplace,
                              const clef_answer_style *style, clef_error *error) {
    const clef_settings *settings = invocation->settings;
    clef_terminal terminal;
    clef_buffer body = {0};
    clef_answer *answer = NULL;
    clef_status status = clef_request_source_read(settings, workplace, &body, error);
    if (status == CLEF_OK) {
        status = clef_workplace_open(invocation, false, workplace, error);
    }
    if (status == CLEF_OK) {
        status = compute_answer(workplace, &body, &answer, error);
    }
    if (status == CLEF_OK) {
        clef_terminal_inspect(STDOUT_FILENO, invocation->environment, &terminal);
        bool is_table = settings->output == CLEF_OUTPUT_TABLE ||
                        (settings->output == CLEF_OUTPUT_AUTO && terminal.is_terminal);
        status = is_table ? print_table(invocation, answer, &terminal, error)
                          : print_json(answer, style, error);
    }
    clef_answer_close(answer);
    clef_buffer_release(&body);
    return status;
}

static clef_status run_ask(const clef_invocation *invocation, clef_error *error) {
    const clef_settings *settings = invocation->settings;
    const clef_answer_style style = {
        .format = settings->output == CLEF_OUTPUT_RAW ? CLEF_ANSWER_RAW : CLEF_ANSWER_BODY,
        .unrounded = settings->unrounded != 0,
        .confidence = (clef_confidence)settings->confidence,
        .with_latency = settings->with_timings,
    };
    clef_status status = clef_request_source_check(settings, error);
    if (status == CLEF_OK && settings->is_batch && settings->output == CLEF_OUTPUT_TABLE) {
        status = clef_fail(error, CLEF_USAGE,
                           "--batch writes JSON lines; --output table shows one answer only");
    }
    if (status == CLEF_OK && !settings->is_batch &&
        (settings->has_no_cache || settings->cache_mebibytes > 0)) {
        status = clef_fail(error, CLEF_USAGE,
                           "--cache-mib and --no-cache are for --batch: one request has no other "
                           "to share its state with");
    }
    if (status == CLEF_OK && settings->has_no_cache && settings->cache_mebibytes > 0) {
        status = clef_fail(error, CLEF_USAGE, "--no-cache and --cache-mib exclude each other");
    }
    if (status != CLEF_OK) {
        return status;
    }
    clef_workplace workplace = {0};
    status = clef_workplace_find(invocation, &workplace, error);
    if (status == CLEF_OK) {
        status = settings->is_batch
                     ? clef_ask_batch_run(invocation, &workplace, false, &style, error)
                     : answer_one(invocation, &workplace, &style, error);
    }
    clef_workplace_close(&workplace);
    return status;
}

const clef_command clef_command_ask = {
    .name = "ask",
    .summary = "Answer the questions of a request.",
    .synopsis = "ask [OPTIONS] [FILE]\n"
                "ask [OPTIONS] --batch [FILE]\n"
                "ask [OPTIONS] --state TEXT|@FILE|- --noul|--choice|--score QUESTION ...\n"
                "ask [OPTIONS] --image FILE --noul|--choice|--score QUESTION ...\n",
    .details = "FILE holds a request as JSON: a model name, a state (any text or value) and "
               "questions. Without FILE, or with -, the request is read from standard input. "
               "\"@photo.jpg\" in its \"images\" or \"videos\" stands for that file.\n"
               "\n" CLEF_REQUEST_BUILDER_GRAMMAR,
    .examples = "clef ask request.json\n"
                "clef ask --output json --timings < request.json\n"
                "clef ask --batch requests.jsonl > answers.jsonl\n"
                "clef ask --state \"Checkout fails, orders are blocked.\" \\\n"
                "    --choice \"team=Which team?;billing:Payments,technical:Bugs or outages\" \\\n"
                "    --score \"urgency=Can wait,This week,Today\" \\\n"
                "    --noul \"outage=Is a service down?\"\n"
                "clef ask --image receipt.jpg --noul \"Is the receipt total legible?\"\n",
    .groups = {&clef_options_short_form, &clef_options_batch, &clef_options_cache,
               &clef_options_answer, &clef_options_model, &clef_options_token_limit,
               &clef_options_limits, &clef_options_media, &clef_options_common, NULL},
    .operand_limit = 1,
    .takes_files = true,
    .run = run_ask,
};
